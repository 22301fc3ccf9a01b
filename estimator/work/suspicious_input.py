"""What a table states and cannot be right: op types that are no op's, and times in another unit."""

from __future__ import annotations

from functools import cache

import pandas as pd

from estimator.core.errors import suggestion
from estimator.core.notes import Note
from estimator.core.schema import MATRIX, SHAPED_BY, complete
from estimator.core.units import show
from estimator.work.operators import FAMILIES, rule_of
from estimator.work.operators.rule import plain_texts

LONGEST_STEP_S = 1000.0  # of all ops; no training step takes so long
SLOWEST = 1e6  # FLOP/s of products that any processor exceeds
MUCH_WORK = 1e6  # FLOP of products that are more than their launches


def unknown_products(work: pd.DataFrame) -> tuple[Note, ...]:
    """A note on each op type with the dimensions of a product that is the name of no op."""
    rows = (work["op_class"] == "unmodelled") & complete(work, SHAPED_BY["gemm"]) & work["op_type"].notna()
    total_s = float(work["time_s"].sum()) or 1.0
    times = work.loc[rows, "time_s"].groupby(work["op_type"], sort=False).sum()
    return tuple(
        Note("op-type-unknown", f"op_type '{name}' is not known.{_meant(name)}", name, float(time_s) / total_s)
        for name, time_s in times.items()
        if rule_of(name) is None
    )


def slow_times(work: pd.DataFrame) -> tuple[Note, ...]:
    """A note where a step, or all its products, take so long that their times are likely in another unit."""
    total_s, products = float(work["time_s"].sum()), work["op_class"].isin(MATRIX) & work["flop"].notna()
    flop, product_s = float(work.loc[products, "flop"].sum()), float(work.loc[products, "time_s"].sum())
    if total_s > LONGEST_STEP_S:
        found = f"the ops take {total_s:.0f} s a step"
    elif flop > MUCH_WORK and flop < SLOWEST * product_s:
        found = f"products run at {show(flop / product_s, 'FLOP/s', 3)}, slower than on any processor"
    else:
        return ()
    return (Note("time-unit", f"{found}: time_s is in seconds; is it in milliseconds, or of several steps?"),)


def _meant(name: str) -> str:
    return suggestion(name, _names()) or " Write op_class, such as gemm, beside it."


@cache
def _names() -> tuple[str, ...]:
    """Names of matrix ops that the rules know."""
    rules = [rule for family in FAMILIES for rule in family.rules if rule.properties.op_class in MATRIX]
    names = ("".join(texts) for rule in rules for texts in plain_texts(rule.names))
    return tuple(dict.fromkeys(name for name in names if rule_of(name)))
