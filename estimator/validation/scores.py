"""Errors of predicted times, in percent: by slice, and the rows that were missed most.

A group is a data set on a device. The figure of a slice is the unweighted mean over its groups, so that every device
counts alike; its max is the largest error of any row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from estimator.core.format_shape import format_shape
from estimator.validation.tables import GROUP, KEYS

if TYPE_CHECKING:
    import pandas as pd

SLICES: tuple[list[str], ...] = ([], ["path"], ["op_class"], ["precision"], ["data_set"], ["family"], GROUP)
FIGURES = ["median", "mean", "p90", "p95", "max", "bias"]
COLUMNS = ["problem", "method", *KEYS, "groups", "n", *FIGURES]
PAIR_COLUMNS = ["problem", "source", "target", "model", "error"]  # of a whole model on one device from another's run
PAIR = {"source", "target", "model"}
OVER_GROUPS = {**dict.fromkeys(FIGURES, "mean"), "max": "max", "n": "sum", "groups": "sum"}
DIGITS = 2  # of a percentage


def held_out(judged: Mapping[str, pd.DataFrame], methods: Sequence[str]) -> pd.DataFrame:
    """HELD_OUT, the table that the fit ships: COLUMNS of each problem, method and slice; an empty key means all. A key
    of one value in all rows makes no slice.

    ``n`` counts rows, ``groups`` data sets on devices. Figures are of the absolute percentage error, but for bias: the
    median of the signed one, negative where predictions are too fast.
    """
    import pandas as pd

    parts = [
        _slice(rows, method, by).assign(problem=problem, method=method)
        for problem, rows in ((name, _labelled(rows)) for name, rows in judged.items())
        for method in methods
        if method in rows
        for by in SLICES
        if len(by) != 1 or rows[by[0]].nunique() > 1
    ]
    found = pd.concat(parts, ignore_index=True).reindex(columns=COLUMNS)
    return found.round(DIGITS).fillna(dict.fromkeys(KEYS, ""))


def of_pairs(judged: Mapping[str, pd.DataFrame], method: str) -> pd.DataFrame:
    """HELD_OUT_PAIRS, which the fit ships too: PAIR_COLUMNS of each judged whole model, with the signed error of one
    method, so that figures can be had of some of the devices.
    """
    import pandas as pd

    pairs = [rows.assign(problem=problem) for problem, rows in judged.items() if set(rows) >= PAIR]
    if not pairs:
        return pd.DataFrame(columns=PAIR_COLUMNS)
    found = pd.concat(pairs, ignore_index=True)
    return found.assign(error=_signed(found, method).round(DIGITS))[PAIR_COLUMNS]


def _labelled(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, batched products as a class of their own."""
    if "batch" not in rows:
        return rows
    batched = rows["batch"].groupby(rows["data_set"]).transform("median") > 1
    return rows.assign(op_class=rows["op_class"].mask(batched.fillna(False), "batched " + rows["op_class"]))


def _slice(rows: pd.DataFrame, method: str, by: list[str]) -> pd.DataFrame:
    """The figures of one method for each value of some keys; of all rows together where there are none."""
    signed = _signed(rows, method)
    groups = rows[KEYS].assign(error=signed.abs(), signed=signed).groupby([*dict.fromkeys([*by, *GROUP])])
    error, others = groups["error"], [key for key in KEYS if key not in GROUP]
    figures = error.agg(["median", "mean", "max"]).assign(
        n=error.size(), p90=error.quantile(0.9), p95=error.quantile(0.95), bias=groups["signed"].median(), groups=1
    )
    if by == GROUP:
        return figures.join(groups[others].agg(_common)).reset_index()
    figures = figures.reset_index()
    return figures.groupby(by or np.zeros(len(figures))).agg(OVER_GROUPS).reset_index(drop=not by)


def _signed(rows: pd.DataFrame, method: str) -> pd.Series:
    """Percentage error, negative where the prediction is too fast."""
    return 100.0 * (rows[method] / rows["time_s"] - 1.0)


def _common(values: pd.Series) -> str:
    """The value that all rows share; nothing where they differ."""
    return str(values.iloc[0]) if values.nunique() == 1 else ""


def worst(rows: pd.DataFrame, method: str, most: int = 10) -> list[dict[str, Any]]:
    """The rows that a method missed by the largest factors, with measured and predicted time [s]."""
    factor = np.abs(np.log((rows[method] / rows["time_s"]).to_numpy()))
    missed = rows.iloc[np.argsort(-factor, kind="stable")[:most]]
    said = [*GROUP, "op_class", "precision"]
    return [
        {
            **row[said],
            "shape": format_shape(row.dropna().to_dict()),
            "measured_s": row["time_s"],
            "predicted_s": row[method],
        }
        for _, row in missed.iterrows()
    ]
