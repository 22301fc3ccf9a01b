"""Printed ratios to the baseline beside the quotient of the printed times, and beside that of the predicted kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from estimator.core.types import Number, pair_id
from estimator.studies.audit.marks import agreement
from estimator.studies.audit.numbers import format_seconds, given_number, given_time, quotient
from estimator.studies.audit.printed import Printed
from estimator.studies.audit.table import Table
from estimator.studies.audit.types import Cell, CheckedNumber


class Side(NamedTuple):
    """One of the two printed times that a ratio divides."""

    time: CheckedNumber
    given: Number  # the printed time
    kernels: Number | None  # of a step on the column's device, where that is known

    @property
    def slowdown(self) -> float | None:
        """The printed time over that of the predicted kernels."""
        return self.time.printed.value / float(self.time.ours.samples[0]) if self.time.ours else None


def check_ratios(
    name: str, table: Table, times: Mapping[Cell, CheckedNumber], steps: Mapping[Cell, Number]
) -> Iterator[CheckedNumber]:
    """Every printed ratio, by the checked times and the predicted steps of its row."""
    for row_name, row in table.rows.items():
        for column, printed in row.ratios.items():
            baseline, own = (
                Side(times[cell], given_time(name, table, cell), steps.get(cell))
                for cell in ((row_name, table.baseline), (row_name, column))
            )
            yield _check_ratio(pair_id((name, row_name, column, "ratio")), table, printed, baseline, own)


def _check_ratio(at: str, table: Table, printed: Printed, baseline: Side, own: Side) -> CheckedNumber:
    quantity = f"ratio to {table.baseline}"
    given = given_number(at, quantity, printed, table.source, "1")
    ours = quotient(at, f"{quantity} of the printed times", baseline.given, own.given)
    of_kernels = _ratio_of_kernels(f"{at}/like_with_like", baseline, own)
    mark = agreement(printed, float(ours.samples[0]))
    if mark != "cannot be told" and "data-bound" in (baseline.time.mark, own.time.mark):
        mark = "data-bound"
    return CheckedNumber(
        quantity, own.time.row, own.time.column, printed, ours, mark,
        reason="; ".join(_reasons(baseline, own, of_kernels, table.rules.data_bound)),
        numbers=(given, *filter(None, (of_kernels,)), ours), like_with_like=of_kernels,
    )  # fmt: skip


def _ratio_of_kernels(id: str, baseline: Side, own: Side) -> Number | None:
    """The ratio of predicted kernels; over the printed time where its device is not known."""
    label = "the same ratio of predicted kernels"
    if baseline.kernels and own.kernels:
        return quotient(id, label, baseline.kernels, own.kernels)
    if baseline.time.ours:
        return quotient(id, f"{label} over the printed time", baseline.time.ours, own.given)
    return None


def _reasons(baseline: Side, own: Side, of_kernels: Number | None, factor: float) -> Iterator[str]:
    """The quotient of two printed times in words, what is unlike in it, and what it would be of like with like."""
    over, under = baseline.time.printed, own.time.printed
    yield f"{over.text} / {under.text} = {over.value / under.value:.4g}"
    yield from _unlike(baseline, own, factor)
    if of_kernels and own.kernels:
        yield f"like with like, of predicted kernels alone, it would be {of_kernels.samples[0]:.3g}"
    slow = baseline.slowdown and baseline.slowdown >= factor * (own.slowdown or 1.0)
    if baseline.time.ours and slow and own.time.mark != "data-bound":
        kernels = float(baseline.time.ours.samples[0])
        yield (
            f"{baseline.time.column}'s predicted {format_seconds(kernels)} over the printed {under.text} is "
            f"{kernels / under.value:.3g}"
        )


def _unlike(baseline: Side, own: Side, factor: float) -> Iterator[str]:
    """Whether one of the two times is much longer beside its kernels than the other, in words."""
    over, under = baseline.slowdown, own.slowdown
    shown = [
        f"{side.time.printed.text} is {side.slowdown:.3g} times its predicted kernels"
        for side in (baseline, own)
        if side.slowdown
    ]
    if over and under and max(over / under, under / over) >= factor:
        yield f"unlike is divided by unlike: {' and '.join(shown)}"
    elif over and not own.kernels and over >= factor:
        yield f"{shown[0]}, and nothing is known of {own.time.column}'s"
