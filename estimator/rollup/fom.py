"""The figure of merit as data: a mean of rates or of ratios, with weights and a threshold.

Rates average harmonically: the harmonic mean of rates agrees with the total time of equal amounts of work (Smith,
"Characterizing computer performance with a single number", CACM 31(10), 1988). CANDLE divides the harmonic mean of a
machine's rates by that of the baseline's rates (Foster & Stevens, Learning Systems 2018, Lecture 10).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from estimator.core.types import File, Floats, Positive
from estimator.rollup import presets
from estimator.rollup.presets import Level, Mean, Of, Preset, ShownAs
from estimator.rollup.throughput import DAY_S


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
    """A definition of the figure of merit: ``of: rates`` is a ratio of means, ``of: ratios`` a mean of ratios.

    A preset stands for a published definition; mean and of then follow from it.
    """

    preset: str | None = None  #: a published definition: a name that `estimator presets` lists
    mean: Mean = "harmonic"  #: over the units of work
    of: Of = "rates"  #: rates: a ratio of means; ratios: a mean of ratios to the baseline
    level: Level = "system"  #: whose rates are compared: whole machines', those of one node, or those of one worker
    weights: dict[str, Positive] = Field(default={})  #: by unit, in place of the units' own
    threshold: Positive | None = None  #: the figure to reach; the report gives the probability of it

    @model_validator(mode="before")
    @classmethod
    def _as_published(cls, written: Any) -> Any:
        if isinstance(written, dict) and written.get("mean") == "minimum" and "weights" in written:
            raise ValueError("names 'weights', of which the minimum has none; delete them")
        if not isinstance(written, dict) or not isinstance(written.get("preset"), str):
            return written
        name, preset = written["preset"], presets.find(written["preset"])
        for key in ("mean", "of", *(() if preset.weighted else ("weights",))):
            if key in written:
                raise ValueError(f"names both the preset '{name}' and '{key}', which {name} defines; delete one")
        level = written.get("level", preset.levels[0])
        if level not in preset.levels:
            raise ValueError(f"has the level {level!r}; {name} is defined for {' and '.join(preset.levels)}")
        return {**written, "mean": preset.mean, "of": preset.of, "level": level}

    def __str__(self) -> str:
        if self.of == "rates":
            return f"ratio of {self.mean} means of the rates"
        return f"{self.mean} mean of the ratios"

    @property
    def published(self) -> Preset | None:
        """The preset, if it is one."""
        return presets.presets()[self.preset] if self.preset else None

    @property
    def shown_as(self) -> ShownAs:
        """What a machine's own mean is printed as."""
        return self.published.shown_as if self.published else "per_day"


def figure_of_merit(rates: Floats, baseline: Floats, weights: Floats, definition: Definition) -> Floats:
    """Figure of merit of rates (units × samples) over the baseline's; one weight per unit."""
    mean, column = MEANS[definition.mean], weights[:, None]
    if definition.of == "rates":
        return mean(rates, column) / mean(baseline, column)
    return mean(rates / baseline, column)


def own_mean(rates: Floats, flop: Floats | None, weights: Floats, definition: Definition) -> tuple[Floats, str]:
    """A machine's own mean of its rates [1/day], as its definition prints it, with its unit; not divided by a baseline.

    Args:
        rates: units per day (units × samples).
        flop: operations of each unit, fixed for all machines [FLOP]; None where one is unknown.
        weights: of each unit.
        definition: a ratio of means.
    """
    if definition.shown_as == "flop_per_s" and flop is not None:
        rates = rates * flop[:, None] / DAY_S
    mean = MEANS[definition.mean](rates, weights[:, None])
    if definition.shown_as == "per_minute":
        return mean / (DAY_S / 60), "1/min"
    if definition.shown_as == "seconds":
        return DAY_S / mean, "s"
    return mean, "FLOP/s" if definition.shown_as == "flop_per_s" and flop is not None else "1/day"


def all_definitions(rates: Floats, baseline: Floats, weights: Floats) -> dict[str, float]:
    """The figure at nominal inputs under every definition."""
    forms = [Definition(mean=mean, of=of) for of in ("rates", "ratios") for mean in MEANS]
    nominal = rates[:, :1], baseline[:, :1]
    return {str(form): float(figure_of_merit(*nominal, weights, form)[0]) for form in forms}


def effective_weights(units: Mapping[str, float], definition: Definition) -> Floats:
    """The weights of the units under a definition: its own, the units', or equal ones where it has none."""
    if definition.published and not definition.published.weighted:
        return np.ones(len(units))
    return np.array([definition.weights.get(name, weight) for name, weight in units.items()])


def dominant_unit(rates: Floats, baseline: Floats, weights: Floats, definition: Definition) -> int:
    """Index of the unit whose removal changes the figure at nominal inputs most; of equals, the one with most share."""
    whole = figure_of_merit(rates[:, :1], baseline[:, :1], weights, definition)[0]
    change = np.zeros(len(rates))
    for i in range(len(rates) if len(rates) > 1 else 0):
        rest = np.arange(len(rates)) != i
        without = figure_of_merit(rates[rest, :1], baseline[rest, :1], weights[rest], definition)[0]
        change[i] = abs(np.log(without / whole))
    is_most = change > change.max() - 1e-9
    return int(np.where(is_most, unit_shares(rates, baseline, weights, definition), -np.inf).argmax())


def unit_shares(rates: Floats, baseline: Floats, weights: Floats, definition: Definition) -> Floats:
    """How much of the figure at nominal inputs each unit makes, d ln(figure) / d ln(rate); the shares sum to 1.

    A share of 0.9 says that the figure falls by 9 % where the unit's rate falls by 10 %.
    """
    nominal, of_baseline, small = rates[:, :1], baseline[:, :1], 1e-6
    whole = figure_of_merit(nominal, of_baseline, weights, definition)[0]
    faster = (nominal * np.exp(small * unit[:, None]) for unit in np.eye(len(rates)))
    figures = np.array([figure_of_merit(each, of_baseline, weights, definition)[0] for each in faster])
    return np.asarray(np.log(figures / whole) / small)
