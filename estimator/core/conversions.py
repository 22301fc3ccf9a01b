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


def formats(work: pd.DataFrame) -> pd.DataFrame:
    """The formats that each row casts ``from`` and ``to``; NA for what casts none, or does not tell."""
    return work["attributes"].str.extract(FORMATS).set_axis(["from", "to"], axis=1)


def narrower(work: pd.DataFrame) -> pd.Series:
    """The format of fewer bytes of the two that each row casts between; NA where it is not known, or none is."""
    found = formats(work)
    known = found.isin(ITEMSIZE.keys()).all(axis=1)
    first, second = (itemsizes(found[name].where(known, "fp32")) for name in ("from", "to"))
    return found["from"].mask(first > second, found["to"]).where(known & (first != second))


def converts(rows: pd.DataFrame) -> Flags:
    """Rows of WORK or MEASUREMENTS that cast between two formats of unlike size."""
    if "attributes" in rows:
        return np.asarray(narrower(rows).notna(), dtype=bool)
    return np.asarray(rows["kernel"].eq(CAST).fillna(False), dtype=bool)
