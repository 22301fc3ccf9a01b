"""The parts of a step, and the part to which each op belongs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.schema import MATRIX
from estimator.core.types import Floats, Names

PARTS = ("compute", "memory", "latency", "communication_exposed", "input", "host", "unmodelled")
PART_OF_CLASS = {  # op classes that are a part of the step by themselves, whatever their method
    "input": "input",
    "host": "host",
    "collective": "communication_exposed",
    "unmodelled": "unmodelled",
}


def part_of_ops(ops: pd.DataFrame) -> Names:
    """The part of the step to which each op's time without launches belongs."""
    op_class, bound, method = (ops[c].to_numpy(dtype=object, na_value="") for c in ("op_class", "bound", "method"))
    by_class = np.where(np.isin(op_class, MATRIX), "compute", "memory")
    by_bound = np.where(np.isin(bound, ("", "latency")), by_class, bound)
    is_proportional = method == "proportional"
    own = np.array([PART_OF_CLASS.get(each, "") for each in op_class])
    own = np.where(is_proportional & (op_class == "host"), "unmodelled", own)
    return np.select([own != "", is_proportional | (method == "unchanged")], [own, "unmodelled"], by_bound)


def sum_of_parts(*parts: Floats) -> Floats:
    """The time of one step [s] from its parts."""
    return np.asarray(sum(parts))
