"""Steps to a quality at a global batch, from the table of a unit of work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from estimator.core.errors import EstimatorError
from estimator.core.interval import draw
from estimator.core.types import RunPlan
from estimator.rollup import quality
from estimator.studies.given import STUDY_FILE, Given


def given_steps(table: Mapping[int, float], batch: int, level: str, plan: RunPlan) -> Iterator[Given]:
    """Steps to quality at a batch: the table's, between two of its batches, or the model's numbers beyond its ends.

    Raises EstimatorError where a table of one batch does not tell.
    """
    label = "steps to quality"
    if batch in table:
        yield Given("steps_to_quality", label, table[batch], "1", level, STUDY_FILE)
    elif len(table) == 1:
        (known,) = table
        raise EstimatorError(
            f"steps_to_quality: the global batch is {batch}, and the table tells of {known} alone; expected two "
            f"batches or more, or {batch}"
        )
    elif quality.is_within(table, batch):
        steps, origin = quality.interpolate(table, batch), f"{STUDY_FILE}: batches {', '.join(map(str, sorted(table)))}"
        yield Given("steps_to_quality", label, steps, "1", level, origin, "between two batches, on logarithmic scales")
    else:
        yield from _beyond(table, batch, level, plan)


def _beyond(table: Mapping[int, float], batch: int, level: str, plan: RunPlan) -> Iterator[Given]:
    """The model through the table's end, and a factor for what is not known beyond it."""
    model, end = quality.through_end(table, batch), quality.nearer_end(table, batch)
    mid = model.least_steps * (1.0 + model.batch / batch)
    low, high = quality.ends_beyond(table, batch)
    beyond = draw("quality.beyond", min(low / mid, 1.0), 1.0, max(high / mid, 1.0), plan.draws, plan.seed)
    origin = "between steps that fall as the batch grows, and steps that stay"
    through, fitted = f"steps at batch {end} / (1 + critical batch / {end})", "least squares of relative errors"
    yield Given("least_steps", "steps with batches without end", model.least_steps, "1", level, STUDY_FILE, through)
    yield Given("critical_batch", "critical batch", model.batch, "1", level, STUDY_FILE, fitted)
    yield Given("beyond_table", "what is unknown beyond the table", beyond, "1", level, origin)
