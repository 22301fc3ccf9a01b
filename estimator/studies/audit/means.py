"""Find the rule behind each printed mean of ratios."""

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
    """The mean that a rule gives of a column's printed numbers, and the rule in words."""

    value: float
    rule: str


Means = Mapping[str, Mean]  # of one column, by rule


def check_means(name: str, table: Table) -> Iterator[CheckedNumber]:
    """Check every printed mean against the rule that gives most of the means printed together."""
    for i, printed in enumerate(table.means, 1):
        means = {column: column_means(table, column) for column in printed}
        rule = likeliest_rule(printed, means)
        fits_any = any(agrees(mean, means[column][rule].value) for column, mean in printed.items())
        for column, mean in printed.items():
            id, best = pair_id((name, f"mean {i}", column)), means[column][rule]
            recomputed, mark = _mean_number(id, name, table, column, best), agreement(mean, best.value)
            reason = f"the {best.rule} is {best.value:.4g}"
            if mark == "cannot be told":
                reason += f", which fits {_what_it_fits(fits_any)}; {_other_rules(mean, means[column])}"
            yield CheckedNumber(f"mean {i} of the ratios", None, column, mean, recomputed, mark, reason, (recomputed,))


def likeliest_rule(printed: Mapping[str, Printed], means: Mapping[str, Means]) -> str:
    """The rule that gives most of the means printed together; of equals, the nearest."""

    def fit(rule: str) -> tuple[int, float]:
        pairs = [(mean, means[column][rule].value) for column, mean in printed.items()]
        agreeing = [(mean, value) for mean, value in pairs if agrees(mean, value)]
        return len(agreeing), -sum(abs(value / mean.value - 1) for mean, value in agreeing or pairs)

    common_rules = set.intersection(*(set(by_rule) for by_rule in means.values()))
    return max(sorted(common_rules), key=fit)


def column_means(table: Table, column: str) -> Means:
    """Candidate means by rule: of the column's printed ratios, or the ratio of its total times."""
    rows = [row for row in table.rows.values() if column in row.ratios]
    measured = [row for row in rows if not row.times[table.baseline].estimated]
    return {
        **_means_of(rows, table.baseline, column, "all", f"of all {len(rows)}"),
        **_means_of(measured, table.baseline, column, "the measured", f"of the {len(measured)} measured"),
    }


def _means_of(rows: Sequence[Row], baseline: str, column: str, rows_name: str, rows_text: str) -> dict[str, Mean]:
    if not rows:
        return {}
    ratios = np.array([row.ratios[column].value for row in rows])
    means = {
        f"{kind} mean of {rows_name}": Mean(
            float(fom.MEANS[kind](ratios, np.ones(len(ratios)))), f"{kind} mean {rows_text} ratios"
        )
        for kind in KINDS
    }
    baseline_total, column_total = (sum(row.times[name].value for row in rows) for name in (baseline, column))
    means[f"ratio of the total times of {rows_name}"] = Mean(
        baseline_total / column_total, f"ratio of the total times {rows_text} rows"
    )
    return means


def _mean_number(id: str, name: str, table: Table, column: str, mean: Mean) -> Number:
    inputs = tuple(
        pair_id((name, row_name, column, "ratio", "printed"))
        for row_name, row in table.rows.items()
        if column in row.ratios
    )
    return Number(id, f"mean of {column}'s ratios", np.array([mean.value]), "1", "device", mean.rule, inputs)


def _what_it_fits(fits_any: bool) -> str:
    return "the other means printed with it and not this one" if fits_any else "none of those printed"


def _other_rules(printed: Printed, means: Means) -> str:
    """The other rules that give this printed mean, in words."""
    others = (mean for mean in means.values() if agrees(printed, mean.value))
    return "; ".join(f"the {mean.rule}, {mean.value:.4g}, would be" for mean in others) or "nor is any other"
