"""Why a printed time of an epoch is as it is: what it implies, and what its source or the study states."""

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
    yield from _known_epoch(implied, runs[cell]) if implied else _unknown_epoch(row, cell, runs)
    yield from _stated(row, column, ours, table.rules)


def _known_epoch(implied: ImpliedStep, runs: Sequence[Run]) -> Iterator[str]:
    """What a printed time of a known number of steps implies."""
    step = f"{format_seconds(implied.time_s)} a step"
    if not runs:
        yield f"{step}; nothing is known of the device"
        return
    run, kernels = runs[0], float(runs[0].step.samples[0])
    yield f"{step}, {implied.time_s / kernels:.3g} times the {format_seconds(kernels)} of its kernels"
    if run.forward:
        held_out = run.numbers["validation_samples"].samples[0]
        yield f"both with their share of the forward passes over {held_out:,.0f} samples held out, which end the epoch"
    if implied.flop_per_s and implied.utilisation:
        rate = units.show(implied.flop_per_s, "FLOP/s", 3)
        share = f"{100 * implied.utilisation:.2g} % of the {run.estimate.precision} peak"
        yield f"{rate} in products and convolutions, {share}"
    if implied.time_s < run.estimate.floor_s:
        yield f"less than the {format_seconds(run.estimate.floor_s)} that peak and bandwidth allow"
    for other in runs[1:]:
        epoch, device = float(other.numbers["epoch_s"].samples[0]), other.estimate.target.name
        yield f"on {device} the epoch's kernels would take {format_seconds(epoch)}"


def _unknown_epoch(row: Row, cell: Cell, runs: Mapping[Cell, Sequence[Run]]) -> Iterator[str]:
    """What a printed time of an unknown number of steps implies: kernels bound that number from above."""
    yield "its samples are not known"
    row_name, column = cell
    kernels = {c: float(runs[row_name, c][0].step.samples[0]) for c in row.times if runs[row_name, c]}
    most_steps = {c: row.times[c].value / kernels[c] for c in kernels if not row.times[c].estimated}
    if column not in most_steps:
        return
    yield f"it would be {_rounded(most_steps[column])} steps of {format_seconds(kernels[column])} of kernels"
    fewest = min(most_steps, key=lambda c: most_steps[c])
    if column != fewest:
        times_more = most_steps[column] / most_steps[fewest]
        room = _rounded(most_steps[fewest])
        yield f"but {fewest}'s time leaves room for {room}: at least {times_more:.2g} times its kernels"


def _rounded(steps: float) -> str:
    """A number of steps to three digits."""
    return f"{float(f'{steps:.3g}'):,.0f}"


def _stated(row: Row, column: str, ours: Number | None, rules: Rules) -> Iterator[str]:
    """What the source or the study states; that neither does, where the time is long."""
    busy, stated = row.busy.get(column), statements(row, column)
    if busy is not None:
        yield f"busy {100 * busy:g} % of the time, as its source says"
    yield from (entry.reason for entry in stated)
    explained = stated or busy is not None
    if not explained and ours and is_slow(row.times[column], float(ours.samples[0]), rules):
        yield "no utilisation is printed that would tell why"
