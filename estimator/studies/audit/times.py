"""Check printed epoch times against the predicted kernels on the likeliest device of the column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from estimator.core.errors import within
from estimator.core.interval import summarise
from estimator.core.types import Number, Profile, pair_id
from estimator.studies.audit.epochs import count_steps
from estimator.studies.audit.marks import mark_time
from estimator.studies.audit.numbers import given_time
from estimator.studies.audit.printed import Printed
from estimator.studies.audit.reasons import time_reasons
from estimator.studies.audit.runs import Run
from estimator.studies.audit.table import Table
from estimator.studies.audit.types import Cell, CheckedNumber, ImpliedStep

Runs = Mapping[Cell, Sequence[Run]]  # on every device that the column may be, the likeliest first


def check_times(name: str, table: Table, runs: Runs, profiles: Mapping[str, Profile]) -> dict[Cell, CheckedNumber]:
    """Check every printed time; by row and column."""
    return {cell: _check_time(name, table, cell, runs, profiles[cell[0]]) for cell in runs}


def _check_time(name: str, table: Table, cell: Cell, runs: Runs, profile: Profile) -> CheckedNumber:
    row_name, column = cell
    row, run = table.rows[row_name], next(iter(runs[cell]), None)
    numbers = run.numbers if run else count_steps(pair_id((name, row_name)), row, profile)
    ours, steps = numbers.get("epoch_s"), numbers.get("steps_per_epoch")
    with within(f"{name}: {row_name}"):
        mark = mark_time(row, column, float(ours.samples[0]) if ours else None, table.rules)
    implied = implied_step(row.times[column], steps, run) if steps else None
    return CheckedNumber(
        quantity="time per epoch",
        row=row_name,
        column=column,
        printed=row.times[column],
        ours=ours,
        mark=mark,
        reason="; ".join(time_reasons(table, cell, runs, ours, implied)),
        numbers=(given_time(name, table, cell), *numbers.values(), *_numbers_of_other_devices(runs[cell])),
        implied_step=implied,
        busy=row.busy.get(column),
    )


def implied_step(printed: Printed, steps: Number, run: Run | None) -> ImpliedStep:
    """The step that a printed time and a number of steps imply; its rate and ours where the device is known."""
    time_s = printed.value / float(steps.samples[0])
    if run is None:
        return ImpliedStep(time_s)
    flop_per_s = run.matrix_flop / time_s
    utilisation = flop_per_s / run.peak if flop_per_s and run.peak else None
    return ImpliedStep(time_s, flop_per_s, utilisation, summarise(run.whole_step_s))


def _numbers_of_other_devices(runs: Sequence[Run]) -> list[Number]:
    return [number for run in runs[1:] for number in run.numbers.values()]
