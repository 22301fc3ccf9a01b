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
FASTEST = 1e17  # FLOP/s that no device reaches
MUCH_WORK = 1e6  # FLOP of products that are more than their launches
TOO_LONG = "time_s is in seconds; is it in milliseconds, or of several steps?"
TOO_SHORT = "time_s is in seconds; check it, and the shapes"


def unknown_products(work: pd.DataFrame) -> tuple[Note, ...]:
    """A note on each op type with the dimensions of a product that is the name of no op."""
    rows = (work["op_class"] == "unmodelled") & complete(work, SHAPED_BY["gemm"]) & work["op_type"].notna()
    if not rows.any():
        return ()
    total_s = float(work["time_s"].sum()) or 1.0
    times = work.loc[rows, "time_s"].groupby(work["op_type"], sort=False).sum()
    return tuple(
        Note("op-type-unknown", f"op_type '{name}' is not known.{_meant(name)}", name, float(time_s) / total_s)
        for name, time_s in times.items()
        if rule_of(name) is None
    )


def times_in_another_unit(work: pd.DataFrame) -> tuple[Note, ...]:
    """A note where the times of a step, or of all its products, are such that they are likely in another unit."""
    total_s, products = float(work["time_s"].sum()), work["op_class"].isin(MATRIX) & work["flop"].notna()
    flop, product_s = float(work.loc[products, "flop"].sum()), float(work.loc[products, "time_s"].sum())
    rate = show(flop / product_s, "FLOP/s", 3) if product_s else ""
    if total_s > LONGEST_STEP_S:
        text = f"the ops take {total_s:.0f} s a step: {TOO_LONG}"
    elif MUCH_WORK < flop < SLOWEST * product_s:
        text = f"products run at {rate}, slower than on any processor: {TOO_LONG}"
    elif product_s and flop > FASTEST * product_s:
        text = f"products run at {rate}, faster than on any device: {TOO_SHORT}"
    else:
        return ()
    return (Note("time-unit", text),)


def _meant(name: str) -> str:
    return suggestion(name, _names()) or " Write op_class, such as gemm, beside it."


@cache
def _names() -> tuple[str, ...]:
    """Names of matrix ops that the rules know."""
    rules = [rule for family in FAMILIES for rule in family.rules if rule.properties.op_class in MATRIX]
    names = ("".join(texts) for rule in rules for texts in plain_texts(rule.names))
    return tuple(dict.fromkeys(name for name in names if rule_of(name)))
