"""Compare rows of the same work: the steps that their printed times imply, with each other and with ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from estimator.core.types import Floats, Number, pair_id
from estimator.core.units import percent
from estimator.studies.audit.marks import agreement
from estimator.studies.audit.numbers import format_seconds
from estimator.studies.audit.printed import Printed
from estimator.studies.audit.table import LikeRows, Table
from estimator.studies.audit.types import Cell, CheckedNumber


def check_like_rows(
    name: str, table: Table, times: Mapping[Cell, CheckedNumber], steps: Mapping[Cell, Number]
) -> Iterator[CheckedNumber]:
    """Compare the steps of like rows in each column that has them all."""
    for group in table.alike:
        for column in table.columns:
            cells = [(row, column) for row in group.rows]
            implied_steps = [times[cell].implied_step for cell in cells if cell in steps]
            step_times = [step.time_s for step in implied_steps if step]
            if len(step_times) == len(cells):
                predicted = _predicted_mean(
                    pair_id((name, *group.rows, column)), group, [steps[cell] for cell in cells]
                )
                epoch_texts = [times[cell].printed.text for cell in cells]
                yield _check(table, group, column, predicted, step_times, epoch_texts)


def _predicted_mean(id: str, group: LikeRows, steps: Sequence[Number]) -> Number:
    return Number(
        id=id,
        label=f"step of {' and '.join(group.rows)}, geometric mean",
        samples=geometric_mean([step.samples for step in steps]),
        unit="s",
        level="device",
        formula="geometric mean",
        inputs=tuple(step.id for step in steps),
    )


def _check(
    table: Table,
    group: LikeRows,
    column: str,
    predicted: Number,
    step_times: Sequence[float],
    epoch_texts: Sequence[str],
) -> CheckedNumber:
    """Compare the geometric means of the implied and the predicted steps [s]."""
    predicted_s, mean_s = float(predicted.samples[0]), float(geometric_mean(step_times))
    printed = Printed(" and ".join(map(format_seconds, step_times)), mean_s)
    reason = (
        f"{' and '.join(epoch_texts)} imply {printed.text} a step, which "
        f"{_describe_agreement(step_times, table.rules.reproduced)}: {group.reason}; their "
        f"geometric mean is {format_seconds(mean_s)}, {mean_s / predicted_s:.3g} times the "
        f"{format_seconds(predicted_s)} of kernels"
    )
    mark = agreement(printed, predicted_s, table.rules.reproduced)
    return CheckedNumber(predicted.label, None, column, printed, predicted, mark, reason, (predicted,))


def _describe_agreement(step_times: Sequence[float], tolerance: float) -> str:
    ratio = max(step_times) / min(step_times)
    if ratio > 1 + tolerance:
        return f"contradict each other, {ratio:.3g} to 1"
    return f"agree within {percent(ratio - 1)}"


def geometric_mean(values: Sequence[float] | Sequence[Floats]) -> Floats:
    """The geometric mean along the first axis."""
    return np.asarray(np.exp(np.mean(np.log(np.asarray(values)), axis=0)))
