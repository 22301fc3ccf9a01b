"""Printed means of ratios beside what each rule makes of the printed numbers: which rule was it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from estimator.core.types import Number, pair_id
from estimator.rollup import fom
from estimator.studies.audit.marks import agreement, agrees
from estimator.studies.audit.printed import Printed
from estimator.studies.audit.table import Row, Table
from estimator.studies.audit.types import CheckedNumber

KINDS = ("arithmetic", "harmonic", "geometric")


class Mean(NamedTuple):
    """What a rule makes of a column's printed numbers, and the rule in words."""

    value: float
    rule: str


Means = Mapping[str, Mean]  # of one column, by rule


def check_means(name: str, table: Table) -> Iterator[CheckedNumber]:
    """Every printed mean beside the rule that gives most of those printed with it."""
    for i, printed in enumerate(table.means, 1):
        means = {column: column_means(table, column) for column in printed}
        rule = likeliest_rule(printed, means)
        fits_any = any(agrees(mean, means[column][rule].value) for column, mean in printed.items())
        for column, mean in printed.items():
            at, likeliest = pair_id((name, f"mean {i}", column)), means[column][rule]
            ours, mark = _ours(at, name, table, column, likeliest), agreement(mean, likeliest.value)
            reason = f"the {likeliest.rule} is {likeliest.value:.4g}"
            if mark == "cannot be told":
                reason += f", which fits {_what_it_fits(fits_any)}; {_other_rules(mean, means[column])}"
            yield CheckedNumber(f"mean {i} of the ratios", None, column, mean, ours, mark, reason, (ours,))


def likeliest_rule(printed: Mapping[str, Printed], means: Mapping[str, Means]) -> str:
    """The rule that gives most of the means printed together, and most nearly."""

    def fit(rule: str) -> tuple[int, float]:
        pairs = [(mean, means[column][rule].value) for column, mean in printed.items()]
        agreeing = [(mean, value) for mean, value in pairs if agrees(mean, value)]
        return len(agreeing), -sum(abs(value / mean.value - 1) for mean, value in agreeing or pairs)

    shared = set.intersection(*(set(by_rule) for by_rule in means.values()))
    return max(sorted(shared), key=fit)


def column_means(table: Table, column: str) -> Means:
    """The means that a printed one may be, by rule: of the column's printed ratios, or of its total times."""
    rows = [row for row in table.rows.values() if column in row.ratios]
    measured = [row for row in rows if not row.times[table.baseline].estimated]
    return {
        **_means_of(rows, table.baseline, column, "all", f"of all {len(rows)}"),
        **_means_of(measured, table.baseline, column, "the measured", f"of the {len(measured)} measured"),
    }


def _means_of(rows: Sequence[Row], baseline: str, column: str, which: str, counted: str) -> dict[str, Mean]:
    if not rows:
        return {}
    ratios = np.array([row.ratios[column].value for row in rows])
    means = {
        f"{kind} mean of {which}": Mean(
            float(fom.MEANS[kind](ratios, np.ones(len(ratios)))), f"{kind} mean {counted} ratios"
        )
        for kind in KINDS
    }
    over, under = (sum(row.times[c].value for row in rows) for c in (baseline, column))
    means[f"ratio of the total times of {which}"] = Mean(over / under, f"ratio of the total times {counted} rows")
    return means


def _ours(id: str, name: str, table: Table, column: str, mean: Mean) -> Number:
    inputs = tuple(
        pair_id((name, row_name, column, "ratio", "printed"))
        for row_name, row in table.rows.items()
        if column in row.ratios
    )
    return Number(id, f"mean of {column}'s ratios", np.array([mean.value]), "1", "device", mean.rule, inputs)


def _what_it_fits(any_of_them: bool) -> str:
    return "the other means printed with it and not this one" if any_of_them else "none of those printed"


def _other_rules(printed: Printed, means: Means) -> str:
    """The rules that would give this printed mean alone."""
    others = (mean for mean in means.values() if agrees(printed, mean.value))
    return "; ".join(f"the {mean.rule}, {mean.value:.4g}, would be" for mean in others) or "nor is any other"
