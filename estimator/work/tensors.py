"""Sizes of the tensors that ops read and write [elements and bytes], as memory holds them."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pandas as pd

from estimator.core.schema import MATRIX
from estimator.core.types import ITEMSIZE, Floats, Workload, stored_format, stored_itemsizes
from estimator.work import shapes
from estimator.work.casts import moved_sizes


def result_elements(parsed: shapes.ParsedOps) -> Floats:
    """Elements that each row writes: of its results, else of the broadcast operands; 0 where nothing tells."""
    sizes = [float(_results(op.outputs, op.operands)) for op in parsed.ops]
    return np.asarray(np.array([*sizes, 0.0])[parsed.codes])


@lru_cache(maxsize=2**16)
def _results(outputs: tuple[shapes.Shape | None, ...], operands: tuple[shapes.Shape | None, ...]) -> int:
    if outputs:
        return sum(math.prod(shape) for shape in outputs if shape is not None)
    return max((math.prod(shape) for shape in operands if shape is not None), default=0)


def written_itemsizes(work: pd.DataFrame, workload: Workload) -> Floats:
    """Bytes of one element that each row writes; the workload's format where its own is unknown.

    What products write is stored in a wider format than fp8 and narrower ones.
    """
    written = np.where(work["op_class"].isin(MATRIX), stored_itemsizes(work["precision"]), moved_sizes(work)[1])
    return np.where(np.isnan(written), ITEMSIZE[stored_format(workload.precision)], written)


def in_phase(work: pd.DataFrame, *phases: str) -> pd.Series:
    """Rows of these phases."""
    return work["phase"].isin(phases).fillna(False).astype(bool)
