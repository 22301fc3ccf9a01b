"""The variable whose weights each product takes, where the flow between a step's ops tells it."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from estimator.core.operators import CAST
from estimator.work.edges import RENAMES, listed
from estimator.work.operators import is_variable

FACTORS = 2  # the operands of a product, before its bias
MAX_PATH = 8  # ops between a variable and its use, such as a cast
Read = tuple[bool, str]  # whether an op reads a variable, and the first op or variable that it takes


def used_before(work: pd.DataFrame, rows: pd.Series) -> pd.Series:
    """Which of these rows take the weights of a variable that an earlier one of them took."""
    handed = _handed_on(work)
    names = work["inputs"].where(rows).map(lambda text: _variable(text, handed)).astype("string[python]")
    return names.notna() & names.duplicated()


def _handed_on(work: pd.DataFrame) -> dict[str, Read]:
    """The ops that read a variable, cast it or hand it on, by their names."""
    reads = is_variable(work)
    table = work[reads | work["operator"].eq(CAST).fillna(False) | work["op_class"].eq(RENAMES).fillna(False)]
    firsts = [next(iter(listed(text)), "") for text in table["inputs"]]
    return {op: (read, first) for op, read, first in zip(table["op"], reads[table.index], firsts, strict=True)}


def _variable(text: object, handed: Mapping[str, Read]) -> str | None:
    """The one variable behind the factors of a product that takes these inputs; None where none or several are."""
    names = {name for factor in listed(text)[:FACTORS] if (name := _behind(factor, handed))}
    return names.pop() if len(names) == 1 else None


def _behind(name: str, handed: Mapping[str, Read]) -> str | None:
    """The variable whose value an op hands on; None where it hands on none."""
    for _ in range(MAX_PATH):
        reads, name = handed.get(name, (False, ""))
        if reads or not name:
            break
    return name or None
