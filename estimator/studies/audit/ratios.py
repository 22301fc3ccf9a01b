"""Check printed ratios to the baseline against the printed times and against predicted kernels."""

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
    kernels: Number | None  # of one step on the column's device, where known

    @property
    def slowdown(self) -> float | None:
        """Printed time over predicted kernel time."""
        return self.time.printed.value / float(self.time.ours.samples[0]) if self.time.ours else None


def check_ratios(
    name: str, table: Table, times: Mapping[Cell, CheckedNumber], steps: Mapping[Cell, Number]
) -> Iterator[CheckedNumber]:
    """Check every printed ratio against the times and predicted steps of its row."""
    for row_name, row in table.rows.items():
        for column, printed in row.ratios.items():
            baseline, device = (
                Side(times[cell], given_time(name, table, cell), steps.get(cell))
                for cell in ((row_name, table.baseline), (row_name, column))
            )
            yield _check_ratio(pair_id((name, row_name, column, "ratio")), table, printed, baseline, device)


def _check_ratio(id_prefix: str, table: Table, printed: Printed, baseline: Side, device: Side) -> CheckedNumber:
    quantity = f"ratio to {table.baseline}"
    given = given_number(id_prefix, quantity, printed, table.source, "1")
    time_ratio = quotient(id_prefix, f"{quantity} of the printed times", baseline.given, device.given)
    kernel_ratio = _kernel_ratio(f"{id_prefix}/like_with_like", baseline, device)
    mark = agreement(printed, float(time_ratio.samples[0]))
    if mark != "cannot be told" and "data-bound" in (baseline.time.mark, device.time.mark):
        mark = "data-bound"
    return CheckedNumber(
        quantity, device.time.row, device.time.column, printed, time_ratio, mark,
        reason="; ".join(_reasons(baseline, device, kernel_ratio, table.rules.data_bound)),
        numbers=(given, *filter(None, (kernel_ratio,)), time_ratio), like_with_like=kernel_ratio,
    )  # fmt: skip


def _kernel_ratio(id: str, baseline: Side, device: Side) -> Number | None:
    """Ratio of predicted kernel times; over the printed time where the device is unknown."""
    label = "the same ratio of predicted kernels"
    if baseline.kernels and device.kernels:
        return quotient(id, label, baseline.kernels, device.kernels)
    if baseline.time.ours:
        return quotient(id, f"{label} over the printed time", baseline.time.ours, device.given)
    return None


def _reasons(baseline: Side, device: Side, kernel_ratio: Number | None, limit: float) -> Iterator[str]:
    """The quotient of the printed times, how they differ in kind, and the ratio of predicted kernels, in words."""
    baseline_time, device_time = baseline.time.printed, device.time.printed
    yield f"{baseline_time.text} / {device_time.text} = {baseline_time.value / device_time.value:.4g}"
    yield from _describe_unlike(baseline, device, limit)
    if kernel_ratio and device.kernels:
        yield f"like with like, of predicted kernels alone, it would be {kernel_ratio.samples[0]:.3g}"
    is_slow = baseline.slowdown and baseline.slowdown >= limit * (device.slowdown or 1.0)
    if baseline.time.ours and is_slow and device.time.mark != "data-bound":
        predicted_s = float(baseline.time.ours.samples[0])
        yield (
            f"{baseline.time.column}'s predicted {format_seconds(predicted_s)} over the printed {device_time.text} is "
            f"{predicted_s / device_time.value:.3g}"
        )


def _describe_unlike(baseline: Side, device: Side, limit: float) -> Iterator[str]:
    """A sentence where one time exceeds its kernels much more than the other does."""
    slowdown, device_slowdown = baseline.slowdown, device.slowdown
    slowdown_texts = [
        f"{side.time.printed.text} is {side.slowdown:.3g} times its predicted kernels"
        for side in (baseline, device)
        if side.slowdown
    ]
    if slowdown and device_slowdown and max(slowdown / device_slowdown, device_slowdown / slowdown) >= limit:
        yield f"unlike is divided by unlike: {' and '.join(slowdown_texts)}"
    elif slowdown and not device.kernels and slowdown >= limit:
        yield f"{slowdown_texts[0]}, and nothing is known of {device.time.column}'s"
