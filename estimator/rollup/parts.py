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
    by_class = ops["op_class"].isin(MATRIX).map({True: "compute", False: "memory"})
    by_bound = ops["bound"].replace("latency", pd.NA).fillna(by_class).to_numpy(dtype=str)
    is_proportional = ops["method"] == "proportional"
    own = ops["op_class"].map(PART_OF_CLASS).mask(is_proportional & (ops["op_class"] == "host"), "unmodelled")
    part = np.where(is_proportional | (ops["method"] == "unchanged"), "unmodelled", by_bound)
    return np.asarray(np.where(own.isna(), part, own.fillna("").to_numpy(dtype=str)))


def sum_of_parts(*parts: Floats) -> Floats:
    """The time of one step [s] from its parts."""
    return np.asarray(sum(parts))
