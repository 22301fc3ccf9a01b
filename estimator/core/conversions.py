"""Which ops cast between number formats, and between which: processors take longer for that than to move what it moves,
where they have no instruction for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.types import ITEMSIZE, Flags, itemsizes

if TYPE_CHECKING:
    import pandas as pd

CAST = "cast"  # kernel of a measured row: from fp32 to the row's precision
FORMATS = r"(?:^|;)from=(\w+);to=(\w+)"  # among the attributes of what casts
NARROW = tuple(name for name, size in ITEMSIZE.items() if size < ITEMSIZE["fp32"])


def formats(work: pd.DataFrame) -> pd.DataFrame:
    """The formats that each row of WORK casts ``from`` and ``to``; NA for what casts none, or does not tell."""
    return work["attributes"].str.extract(FORMATS).set_axis(["from", "to"], axis=1)


def narrower(rows: pd.DataFrame) -> pd.Series:
    """The narrower of the two formats that each row casts between, below fp32; NA where it casts between no such ones.

    Rows of a profile tell both among their attributes; measured ones, and shapes, by their kernel and precision.
    """
    stated = rows["precision"].where(rows["kernel"].eq(CAST).fillna(False))
    if "op_type" not in rows:
        return stated.where(stated.isin(NARROW))
    found = formats(rows)
    known = found.isin(ITEMSIZE.keys()).all(axis=1)
    first, second = (itemsizes(found[name].where(known, "fp32")) for name in ("from", "to"))
    told = found["from"].mask(first > second, found["to"]).where(known & (first != second)).fillna(stated)
    return told.where(told.isin(NARROW))


def converts(rows: pd.DataFrame) -> Flags:
    """Rows of WORK or MEASUREMENTS that cast between a format narrower than fp32 and a wider one."""
    return np.asarray(narrower(rows).notna(), dtype=bool)
