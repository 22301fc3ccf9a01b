"""Steps that a training needs to reach a quality, by its global batch, from the user's own table.

Between two batches of the table, steps follow a power of the batch. Beyond an end they follow the critical-batch model
from that end on, by the critical batch that fits the whole table:

    (S / S_min − 1) · (E / E_min − 1) = 1,  E = B · S,  B_crit = E_min / S_min,  so that  S = S_min · (1 + B_crit / B)

Source: McCandlish, Kaplan, Amodei et al., "An Empirical Model of Large-Batch Training", 2018, equation 2.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.types import Floats


@dataclass(frozen=True)
class CriticalBatch:
    """The model's steps with batches without end, and the batch that needs twice as many."""

    least_steps: float
    batch: float


def steps_by_model(least_steps: Floats, critical_batch: Floats, batch_size: Floats, beyond: Floats) -> Floats:
    """Steps to quality: S_min · (1 + B_crit / B) · what is not known beyond the table's ends."""
    return least_steps * (1.0 + critical_batch / batch_size) * beyond


def epochs_to_quality(steps_to_quality: Floats, steps_per_epoch: Floats) -> Floats:
    """Epochs in which so many steps are made."""
    return steps_to_quality / steps_per_epoch


def fit(table: Mapping[int, float]) -> CriticalBatch:
    """The model nearest to a table of two batches or more: S = S_min + E_min / B, least squares of relative errors.

    Where steps grow with the batch, they are taken to be the same for all. Raises EstimatorError where they fall at
    least as fast as it grows: no batch is critical then.
    """
    batch, steps = (np.array(values, dtype=float) for values in (list(table), list(table.values())))
    columns = np.stack((1.0 / steps, 1.0 / (batch * steps)), axis=1)
    least, examples = np.linalg.lstsq(columns, np.ones(len(steps)), rcond=None)[0]
    if examples <= 0.0:
        return CriticalBatch(float(1.0 / np.mean(1.0 / steps)), 0.0)
    if least <= 0.0:
        raise EstimatorError(
            "steps_to_quality: steps fall at least as fast as the batch grows, which tells no critical batch; expected "
            "larger batches to need more samples in all; add one, or keep to the batches of the table"
        )
    return CriticalBatch(float(least), float(examples / least))


def rise(table: Mapping[int, float]) -> tuple[int, int] | None:
    """The first two neighbouring batches of a table of which the larger needs more steps; None where none does.

    By the model steps never grow with the batch.
    """
    return next(((one, other) for one, other in pairwise(sorted(table)) if table[other] > table[one]), None)


def through_end(table: Mapping[int, float], batch: int) -> CriticalBatch:
    """The model for a batch beyond the table: by the critical batch of :func:`fit`, through the table's nearer end."""
    critical, end = fit(table).batch, nearer_end(table, batch)
    return CriticalBatch(table[end] / (1.0 + critical / end), critical)


def interpolate(table: Mapping[int, float], batch: int) -> float:
    """Steps at a batch between two of the table, in proportion on logarithmic scales."""
    batches = sorted(table)
    steps = [table[each] for each in batches]
    return float(np.exp(np.interp(np.log(batch), np.log(batches), np.log(steps))))


def is_within(table: Mapping[int, float], batch: int) -> bool:
    """Whether a batch lies between those of the table."""
    return min(table) <= batch <= max(table)


def nearer_end(table: Mapping[int, float], batch: int) -> int:
    """The end of the table that is nearer to a batch beyond it."""
    return min(table) if batch < min(table) else max(table)


def ends_beyond(table: Mapping[int, float], batch: int) -> tuple[float, float]:
    """The fewest and the most steps beyond a table's end: were it far below, and far above, the critical."""
    end = nearer_end(table, batch)
    low, high = sorted((table[end], table[end] * end / batch))
    return low, high
