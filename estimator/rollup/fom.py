"""The figure of merit as data: a mean of rates or of ratios, with weights and a threshold.

Rates average harmonically: the harmonic mean of rates agrees with the total time of equal amounts of work (Smith,
"Characterizing computer performance with a single number", CACM 31(10), 1988). CANDLE divides the harmonic mean of a
machine's rates by that of the baseline's rates (Foster & Stevens, Learning Systems 2018, Lecture 10).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from pydantic import Field

from estimator.core.types import File, Floats


def harmonic(values: Floats, weights: Floats) -> Floats:
    """Weighted harmonic mean over the first axis: Σw / Σ(w/x)."""
    return np.asarray(weights.sum(axis=0) / (weights / values).sum(axis=0))


def geometric(values: Floats, weights: Floats) -> Floats:
    """Weighted geometric mean over the first axis: exp(Σ w·ln x / Σw)."""
    return np.asarray(np.exp((weights * np.log(values)).sum(axis=0) / weights.sum(axis=0)))


def arithmetic(values: Floats, weights: Floats) -> Floats:
    """Weighted arithmetic mean over the first axis: Σ w·x / Σw."""
    return np.asarray((weights * values).sum(axis=0) / weights.sum(axis=0))


def minimum(values: Floats, weights: Floats) -> Floats:
    """The least of the values; weights are ignored."""
    return np.asarray(values.min(axis=0))


MEANS: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "harmonic": harmonic,
    "geometric": geometric,
    "arithmetic": arithmetic,
    "minimum": minimum,
}


class Definition(File):
    """A definition of the figure of merit: ``of: rates`` is a ratio of means, ``of: ratios`` a mean of ratios."""

    mean: Literal["harmonic", "geometric", "arithmetic", "minimum"] = "harmonic"
    of: Literal["rates", "ratios"] = "rates"
    threshold: float | None = Field(default=None, gt=0)

    def __str__(self) -> str:
        if self.of == "rates":
            return f"ratio of {self.mean} means of the rates"
        return f"{self.mean} mean of the ratios"


def figure_of_merit(rates: Floats, baseline: Floats, weights: Floats, definition: Definition) -> Floats:
    """Figure of merit of rates (units × samples) over the baseline's; one weight per unit."""
    mean, column = MEANS[definition.mean], weights[:, None]
    if definition.of == "rates":
        return mean(rates, column) / mean(baseline, column)
    return mean(rates / baseline, column)


def all_definitions(rates: Floats, baseline: Floats, weights: Floats) -> dict[str, float]:
    """The figure at nominal inputs under every definition."""
    forms = [Definition(mean=mean, of=of) for of in ("rates", "ratios") for mean in MEANS]
    nominal = rates[:, :1], baseline[:, :1]
    return {str(form): float(figure_of_merit(*nominal, weights, form)[0]) for form in forms}


def dominant_unit(rates: Floats, baseline: Floats, weights: Floats, definition: Definition) -> int:
    """Index of the unit whose removal changes the figure at nominal inputs most."""
    whole = figure_of_merit(rates[:, :1], baseline[:, :1], weights, definition)[0]
    change = np.zeros(len(rates))
    for i in range(len(rates) if len(rates) > 1 else 0):
        rest = np.arange(len(rates)) != i
        without = figure_of_merit(rates[rest, :1], baseline[rest, :1], weights[rest], definition)[0]
        change[i] = abs(np.log(without / whole))
    return int(change.argmax())


def share_above(samples: Floats, threshold: float | None) -> float | None:
    """Share of the draws at or above the threshold; None without a threshold or without uncertainty."""
    if threshold is None or np.ptp(samples) == 0:
        return None
    return float(np.mean(samples[1:] >= threshold))
