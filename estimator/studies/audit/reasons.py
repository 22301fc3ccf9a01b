"""Explain a printed epoch time: what it implies, and what its source or the study states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from estimator.core import units
from estimator.core.types import Number
from estimator.studies.audit.marks import is_slow, statements
from estimator.studies.audit.numbers import format_seconds
from estimator.studies.audit.runs import Run
from estimator.studies.audit.table import Row, Rules, Table
from estimator.studies.audit.types import Cell, ImpliedStep


def time_reasons(
    table: Table, cell: Cell, runs: Mapping[Cell, Sequence[Run]], ours: Number | None, implied: ImpliedStep | None
) -> Iterator[str]:
    """The sentences on a printed time beside ours [s]."""
    row, column = table.rows[cell[0]], cell[1]
    if row.times[column].estimated:
        yield "estimated by its source, not measured"
    if runs[cell] and row.optimizer:
        yield f"predicted with the update of {row.optimizer.name} that the study declares, not the profile's own"
    yield from _reasons_of_known_steps(implied, runs[cell]) if implied else _reasons_of_unknown_steps(row, cell, runs)
    yield from _stated_reasons(row, column, ours, table.rules)


def _reasons_of_known_steps(implied: ImpliedStep, runs: Sequence[Run]) -> Iterator[str]:
    """What a printed time implies where the number of steps is known."""
    step = f"{format_seconds(implied.time_s)} a step"
    if not runs:
        yield f"{step}; nothing is known of the device"
        return
    kernels = float(runs[0].step.samples[0])
    yield f"{step}, {implied.time_s / kernels:.3g} times the {format_seconds(kernels)} of its kernels"
    yield from _reasons_of_run(implied, runs[0])
    for other_run in runs[1:]:
        epoch, device = float(other_run.numbers["epoch_s"].samples[0]), other_run.estimate.target.name
        yield f"on {device} the epoch's kernels would take {format_seconds(epoch)}"


def _reasons_of_run(implied: ImpliedStep, run: Run) -> Iterator[str]:
    """How the step that a printed time implies compares with the one that is predicted on its device."""
    if run.forward:
        validation_samples = run.numbers["validation_samples"].samples[0]
        passes = f"forward passes over {validation_samples:,.0f} samples held out"
        yield f"both with their share of the {passes}, which end the epoch"
    if implied.holds is not None and implied.predicted:
        low, mid, high = (format_seconds(getattr(implied.predicted, name) or 0.0) for name in ("low", "mid", "high"))
        yield f"with its launches {mid} are predicted, {low} to {high}, which {'hold' if implied.holds else 'miss'} it"
    if implied.flop_per_s and implied.utilisation:
        rate = units.show(implied.flop_per_s, "FLOP/s", 3)
        share = f"{units.percent(implied.utilisation)} of the {run.estimate.precision} peak"
        yield f"{rate} in products and convolutions, {share}"
    if implied.time_s < run.estimate.floor_s:
        yield f"less than the {format_seconds(run.estimate.floor_s)} that peak and bandwidth allow"


def _reasons_of_unknown_steps(row: Row, cell: Cell, runs: Mapping[Cell, Sequence[Run]]) -> Iterator[str]:
    """What a printed time implies where the number of steps is unknown: kernels bound it from above."""
    yield "its samples are not known"
    row_name, column = cell
    kernel_s = {name: float(runs[row_name, name][0].step.samples[0]) for name in row.times if runs[row_name, name]}
    step_limits = {name: row.times[name].value / kernel_s[name] for name in kernel_s if not row.times[name].estimated}
    if column not in step_limits:
        return
    yield f"it would be {_format_steps(step_limits[column])} steps of {format_seconds(kernel_s[column])} of kernels"
    fastest = min(step_limits, key=lambda name: step_limits[name])
    if column != fastest:
        multiple = step_limits[column] / step_limits[fastest]
        room_text = _format_steps(step_limits[fastest])
        yield f"but {fastest}'s time leaves room for {room_text}: at least {multiple:.2g} times its kernels"


def _format_steps(steps: float) -> str:
    """Format a number of steps to three digits."""
    return f"{float(f'{steps:.3g}'):,.0f}"


def _stated_reasons(row: Row, column: str, ours: Number | None, rules: Rules) -> Iterator[str]:
    """What the source or the study states; for a long time also that neither explains it."""
    busy, stated = row.busy.get(column), statements(row, column)
    if busy is not None:
        yield f"busy {100 * busy:g} % of the time, as its source says"
    yield from (entry.reason for entry in stated)
    has_reason = stated or busy is not None
    if not has_reason and ours and is_slow(row.times[column], float(ours.samples[0]), rules):
        yield "no utilisation is printed that would tell why"
