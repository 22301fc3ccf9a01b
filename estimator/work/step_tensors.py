"""WORK → the tensors of one step: from the flow between ops where it is known, else from rules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from estimator.core.types import StepTensors, Workload
from estimator.work.edges import has_flow
from estimator.work.kept_tensors import has_forward_shapes, kept_tensors, layer_tensors
from estimator.work.precision import convert_precision
from estimator.work.rebatch import known_batch, names_batch, rebatch
from estimator.work.stated_batch import contradiction
from estimator.work.tensor_flow import flowing_tensors

FAR = 64  # times a batch: at a small one unlike tensors may be of one size, and then count as one
LARGE = 100_000  # batch; of a larger one, FAR times it may be too much to count, and a smaller one tells as much


def step_tensors(work: pd.DataFrame, workload: Workload, precision: str | None = None) -> StepTensors:
    """What a step holds in memory apart from its variables, by the strongest evidence that its WORK has.

    Products run in ``precision``, where it is not None; the casts that it adds are left out.
    """
    converted = convert_precision(work, workload, precision).work.iloc[: len(work)]
    if has_flow(converted):
        return flowing_tensors(converted, workload)
    if has_forward_shapes(converted):
        return kept_tensors(converted, workload)
    if workload.layer_outputs:
        return layer_tensors(workload)
    return StepTensors(np.zeros(1), np.zeros(1), np.zeros(1), "none")


def tensors_at_two_batches(
    work: pd.DataFrame, workload: Workload, size: int | None, precision: str | None
) -> Iterator[tuple[int, StepTensors]]:
    """Yield a batch and the step's tensors at it: the wanted batch, by default the profiled one, and FAR times that,
    of a LARGE one a FAR-th.

    Products run in ``precision``, where it is not None. Only the profiled batch, as 0, where nothing tells its size.
    Only the stated one, where the ops are of another.

    Raises EstimatorError where another batch is wanted than one that is not known.
    """
    profiled = known_batch(workload) if size else workload.batch_size
    is_fixed = (profiled == 1 and not names_batch(work)) or contradiction(work, workload)
    if profiled is None or (is_fixed and size in (None, profiled)):
        yield profiled or 0, step_tensors(work, workload, precision)
        return
    wanted = size or profiled
    for batch in (wanted, FAR * wanted if wanted < LARGE else wanted // FAR):
        resized = rebatch(work, workload, batch).work
        yield batch, step_tensors(resized, workload.model_copy(update={"batch_size": batch}), precision)
