"""Which ops cast between number formats, and between which: processors take longer for that than to move what it moves,
where they have no instruction for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pandas as pd

from estimator.core.types import ITEMSIZE, Flags

CAST = "cast"  # kernel of a measured row: from fp32 to the row's precision
FORMATS = re.compile(r"(?:^|;)from=(\w+);to=(\w+)")  # among the attributes of what casts
NARROW = tuple(name for name, size in ITEMSIZE.items() if size < ITEMSIZE["fp32"])
Pair = tuple[str | None, str | None]


def formats(work: pd.DataFrame) -> pd.DataFrame:
    """The formats that each row of WORK casts ``from`` and ``to``; NA for what casts none, or does not tell."""
    return _told(work, _formats, "from", "to")


def by_size(work: pd.DataFrame) -> pd.DataFrame:
    """The ``wider`` and the ``narrower`` of the two formats that each row of WORK casts between, the first as wide
    where the second is NA; NA where one is not known.
    """
    return _told(work, _by_size, "wider", "narrower")


def narrower(rows: pd.DataFrame) -> pd.Series:
    """The narrower of the two formats that each row casts between, below fp32; NA where it casts between no such ones.

    Rows of a profile tell both among their attributes; measured ones, and shapes, by their kernel and precision.
    """
    stated = rows["precision"].where(rows["kernel"].eq(CAST).fillna(False))
    told = by_size(rows)["narrower"].fillna(stated) if "op_type" in rows else stated
    return told.where(told.isin(NARROW))


def converts(rows: pd.DataFrame) -> Flags:
    """Rows of WORK or MEASUREMENTS that cast between a format narrower than fp32 and a wider one."""
    return np.asarray(narrower(rows).notna(), dtype=bool)


def _told(work: pd.DataFrame, tell: Callable[[str], Pair], *names: str) -> pd.DataFrame:
    """What the attributes of each row tell; each text is read once."""
    texts = work["attributes"]
    pairs = {text: tell(text) for text in texts.dropna().unique()}
    columns = {name: texts.map({text: pair[place] for text, pair in pairs.items()}) for place, name in enumerate(names)}
    return pd.DataFrame(columns, index=work.index).astype("string[python]")


@lru_cache(maxsize=2**12)
def _formats(text: str) -> Pair:
    found = FORMATS.search(text)
    return (found[1], found[2]) if found else (None, None)


def _by_size(text: str) -> Pair:
    first, second = _formats(text)
    sizes = ITEMSIZE.get(first or ""), ITEMSIZE.get(second or "")
    if sizes[0] is None or sizes[1] is None:
        return None, None
    if sizes[0] == sizes[1]:
        return first, None
    return (first, second) if sizes[0] > sizes[1] else (second, first)
