"""Rows of the same work: the steps that their printed times imply, against each other and beside the predicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from estimator.core.types import Floats, Number, pair_id
from estimator.studies.audit.marks import agreement
from estimator.studies.audit.numbers import format_seconds
from estimator.studies.audit.printed import Printed
from estimator.studies.audit.table import LikeRows, Table
from estimator.studies.audit.types import Cell, CheckedNumber


def check_like_rows(
    name: str, table: Table, times: Mapping[Cell, CheckedNumber], steps: Mapping[Cell, Number]
) -> Iterator[CheckedNumber]:
    """The steps of like rows in each column that has them all, by the checked times and the predicted steps."""
    for like in table.alike:
        for column in table.columns:
            cells = [(row, column) for row in like.rows]
            implied = [times[cell].implied_step for cell in cells if cell in steps]
            step_times = [step.time_s for step in implied if step]
            if len(step_times) == len(cells):
                ours = _ours(pair_id((name, *like.rows, column)), like, [steps[cell] for cell in cells])
                epochs = [times[cell].printed.text for cell in cells]
                yield _check(table, like, column, ours, step_times, epochs)


def _ours(id: str, like: LikeRows, steps: Sequence[Number]) -> Number:
    return Number(
        id=id,
        label=f"step of {' and '.join(like.rows)}, geometric mean",
        samples=geometric_mean([step.samples for step in steps]),
        unit="s",
        level="device",
        formula="geometric mean",
        inputs=tuple(step.id for step in steps),
    )


def _check(
    table: Table, like: LikeRows, column: str, ours: Number, steps: Sequence[float], epochs: Sequence[str]
) -> CheckedNumber:
    """The geometric mean of the implied steps [s] beside that of the predicted ones."""
    kernels, mean = float(ours.samples[0]), float(geometric_mean(steps))
    printed = Printed(" and ".join(map(format_seconds, steps)), mean)
    reason = (
        f"{' and '.join(epochs)} imply {printed.text} a step, which {_verdict(steps, table.rules.reproduced)}: "
        f"{like.reason}; their geometric mean is {format_seconds(mean)}, {mean / kernels:.3g} times the "
        f"{format_seconds(kernels)} of kernels"
    )
    mark = agreement(printed, kernels, table.rules.reproduced)
    return CheckedNumber(ours.label, None, column, printed, ours, mark, reason, (ours,))


def _verdict(steps: Sequence[float], tolerance: float) -> str:
    ratio = max(steps) / min(steps)
    if ratio > 1 + tolerance:
        return f"contradict each other, {ratio:.3g} to 1"
    return f"agree within {100 * (ratio - 1):.2g} %"


def geometric_mean(values: Sequence[float] | Sequence[Floats]) -> Floats:
    """The geometric mean along the first axis."""
    return np.asarray(np.exp(np.mean(np.log(np.asarray(values)), axis=0)))
