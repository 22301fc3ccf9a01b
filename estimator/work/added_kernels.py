"""Kernels that the target's library adds, as rows of WORK behind all others, and rows that it does not run."""

from __future__ import annotations

import pandas as pd

from estimator.core.operators import class_of
from estimator.core.schema import WORK

KEPT = ["placement", "stream", "rank", "phase", "precision", "calls"]  # columns of the op
IN_MEMORY = {"tf32": "fp32"}  # tensors of such an op are fp32


def kernels_of(ops: pd.DataFrame, suffix: str, operator: str | pd.Series, **columns: object) -> pd.DataFrame:
    """One row for each row of WORK: an ``operator`` with the op's name and a ``suffix``, which took no time on the
    source. ``columns``: its work, and other columns of WORK.
    """
    operators = pd.Series(operator, index=ops.index, dtype="string[python]")
    kernels = ops[KEPT].assign(
        precision=ops["precision"].replace(IN_MEMORY),
        op=ops["op"] + suffix,
        op_type=operators,
        operator=operators,
        op_class=operators.map(class_of),
        time_s=0.0,
        work_source="shapes",
    )
    return kernels.assign(**columns)


def append(work: pd.DataFrame, kernels: pd.DataFrame) -> pd.DataFrame:
    """WORK with these rows behind all others."""
    return WORK.conform(pd.concat([work, kernels], ignore_index=True), "added kernels")


def without_work(work: pd.DataFrame, rows: pd.Series) -> pd.DataFrame:
    """WORK in which these rows have no calls and traffic; their times stay the source's."""
    amounts = {name: work[name].mask(rows, 0.0) for name in ("calls", "flop", "bytes")}
    return work.assign(**amounts, intensity=work["intensity"].mask(rows))
