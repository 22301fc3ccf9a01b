"""A published table beside what its devices' kernels would take: every printed number with its mark and its reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from estimator.core import units
from estimator.core.errors import within
from estimator.core.types import Audit, Comparison, Floats, Number, Profile, pair_id
from estimator.devices import load_device
from estimator.studies.audit import arithmetic
from estimator.studies.audit.arithmetic import Times, seconds
from estimator.studies.audit.marks import agreement, is_slow, mark_time, meanings
from estimator.studies.audit.runs import Cell, Run, count_steps, plan_runs, run_rows
from estimator.studies.audit.table import Alike, Printed, Row, Rules, Table
from estimator.studies.places import read_profile_beside
from estimator.work import with_update

Runs = Mapping[Cell, Sequence[Run]]  # on every device that the column may be, the likeliest first


def audit_table(name: str, table: Table, folder: Path, draws: int, seed: int) -> Audit:
    """Every number that a table prints, beside ours and marked.

    Raises EstimatorError where a stated mark contradicts the numbers, or what the table names is not there.
    """
    profiles = {
        row: with_update(read_profile_beside(folder, said.profile), said.optimizer) for row, said in table.rows.items()
    }
    plans = plan_runs(table, folder, draws, seed)
    runs = run_rows(name, table, profiles, plans)
    times = {cell: _time(name, table, cell, runs, profiles[cell[0]]) for cell in runs}
    steps = {cell: found[0].step for cell, found in runs.items() if found}
    devices = {
        column: tuple(load_device(plan.target) for plan in by_device.values()) for column, by_device in plans.items()
    }
    return Audit(
        title=table.title,
        source=table.source,
        rows=tuple(table.rows),
        columns=tuple(table.columns),
        meanings=meanings(table.rules),
        comparisons={
            "peaks": tuple(arithmetic.peaks(name, table, devices)),
            "counts": tuple(arithmetic.counts(name, table, profiles)),
            "means": tuple(arithmetic.means(name, table)),
            "ratios": tuple(arithmetic.ratios(name, table, times, steps)),
            "like rows": tuple(c for alike in table.alike for c in _alike(name, table, alike, times, steps)),
            "times": tuple(times.values()),
        },
        estimates={
            pair_id((*cell, run.estimate.target.name)): run.estimate for cell, found in runs.items() for run in found
        },
    )


def _time(name: str, table: Table, cell: Cell, of: Runs, profile: Profile) -> Comparison:
    """One printed time beside the epoch's kernels on the likeliest device of its column."""
    row, column = cell
    said, first = table.rows[row], of[cell][0] if of[cell] else None
    printed = said.times[column]
    known = first.numbers if first else count_steps(pair_id((name, row)), said, profile)
    ours, steps = known.get("epoch_s"), known.get("steps_per_epoch")
    with within(f"{name}: {row}"):
        mark, stated = mark_time(said, column, float(ours.samples[0]) if ours else None, table.rules)
    implied = printed.value / float(steps.samples[0]) if steps else None
    rate = first.matrix_flop / implied if first and implied else None
    given = arithmetic.printed_number(pair_id((name, *cell)), f"{column}'s printed time", printed, table)
    found = Comparison(
        quantity="time per epoch",
        unit=row,
        on=column,
        printed=printed.value,
        ours=ours,
        source=table.source,
        as_printed=printed.text,
        mark=mark,
        implied_step_s=implied,
        achieved_flop_per_s=rate,
        utilisation=rate / first.peak if rate and first and first.peak else None,
        busy=said.busy.get(column),
        estimate=first.estimate if first else None,
        numbers=(given, *known.values(), *(number for run in of[cell][1:] for number in run.numbers.values())),
    )
    told = _of_epoch(found, of[cell]) if implied else _of_unknown_epoch(table, cell, of)
    how = _how_known(printed, said if first else None)
    return replace(found, reason="; ".join((*how, *told, *_why(found, printed, stated, table.rules))))


def _how_known(printed: Printed, predicted: Row | None) -> Iterator[str]:
    if printed.estimated:
        yield "estimated by its source, not measured"
    if predicted and predicted.optimizer:
        yield f"predicted with the update of {predicted.optimizer.name} that the study declares, not the profile's own"


def _why(found: Comparison, printed: Printed, stated: tuple[str, ...], rules: Rules) -> Iterator[str]:
    """What the source or the study says of why a time is as it is; that nothing does, where it is long."""
    if found.busy is not None:
        yield f"busy {100 * found.busy:g} % of the time, as its source says"
    yield from stated
    if not stated and found.busy is None and found.ours and is_slow(printed, float(found.ours.samples[0]), rules):
        yield "no utilisation is printed that would tell why"


def _of_epoch(found: Comparison, runs: Sequence[Run]) -> Iterator[str]:
    """What a printed time of a known number of steps says, in words."""
    implied = float(found.implied_step_s or 0)
    if not runs:
        yield f"{seconds(implied)} a step; nothing is known of the device"
        return
    kernels, estimated = float(runs[0].step.samples[0]), runs[0].estimate
    yield f"{seconds(implied)} a step, {implied / kernels:.3g} times the {seconds(kernels)} of its kernels"
    if runs[0].forward:
        held_out = runs[0].numbers["validation_samples"].samples[0]
        yield f"both with their share of the forward passes over {held_out:,.0f} samples held out, which end the epoch"
    if found.achieved_flop_per_s and found.utilisation:
        rate = units.show(found.achieved_flop_per_s, "FLOP/s", 3)
        share = f"{100 * found.utilisation:.2g} % of the {estimated.precision} peak"
        yield f"{rate} in products and convolutions, {share}"
    if implied < estimated.floor_s:
        yield f"less than the {seconds(estimated.floor_s)} that peak and bandwidth allow"
    for run in runs[1:]:
        epoch, device = float(run.numbers["epoch_s"].samples[0]), run.estimate.target.name
        yield f"on {device} the epoch's kernels would take {seconds(epoch)}"


def _of_unknown_epoch(table: Table, cell: Cell, of: Runs) -> Iterator[str]:
    """What a printed time of an unknown number of steps says, in words: kernels bound that number from above."""
    row, column = cell
    yield "its samples are not known"
    times = {c: t for c, t in table.rows[row].times.items() if of[row, c] and not t.estimated}
    steps = {c: time.value / float(of[row, c][0].step.samples[0]) for c, time in times.items()}
    if column not in steps:
        return
    kernels, fewest = float(of[cell][0].step.samples[0]), min(steps, key=lambda c: steps[c])
    yield f"it would be {float(f'{steps[column]:.3g}'):,.0f} steps of {seconds(kernels)} of kernels"
    if column != fewest:
        most, times_more = float(f"{steps[fewest]:.3g}"), steps[column] / steps[fewest]
        yield f"but {fewest}'s time leaves room for {most:,.0f}: at least {times_more:.2g} times its kernels"


def _alike(name: str, table: Table, alike: Alike, times: Times, steps: Mapping[Cell, Number]) -> Iterator[Comparison]:
    """The steps that rows of the same work imply, against each other, and their geometric mean beside the predicted."""
    for column in table.columns:
        cells = [(row, column) for row in alike.rows]
        if not all(cell in steps and times[cell].implied_step_s for cell in cells):
            continue
        implied = [times[cell].implied_step_s or 0.0 for cell in cells]
        shown, printed = " and ".join(map(seconds, implied)), float(_geometric(implied))
        ours = Number(
            id=pair_id((name, *alike.rows, column)),
            label=f"step of {' and '.join(alike.rows)}, geometric mean",
            samples=_geometric([steps[cell].samples for cell in cells]),
            unit="s",
            level="device",
            formula="geometric mean",
            inputs=tuple(steps[cell].id for cell in cells),
        )
        kernels, epochs = float(ours.samples[0]), " and ".join(str(times[cell].as_printed) for cell in cells)
        yield Comparison(
            quantity=ours.label,
            unit=None,
            on=column,
            printed=printed,
            ours=ours,
            source=table.source,
            reason=f"{epochs} imply {shown} a step, which {_verdict(implied, table.rules)}: {alike.reason}; their "
            f"geometric mean is {seconds(printed)}, {printed / kernels:.3g} times the {seconds(kernels)} of kernels",
            as_printed=shown,
            mark=agreement(Printed(shown, printed, 0.0, False), kernels, table.rules.reproduced),
            numbers=(ours,),
        )


def _verdict(steps: Sequence[float], rules: Rules) -> str:
    apart = max(steps) / min(steps)
    if apart > 1 + rules.reproduced:
        return f"contradict each other, {apart:.3g} to 1"
    return f"agree within {100 * (apart - 1):.2g} %"


def _geometric(values: Sequence[float] | Sequence[Floats]) -> Floats:
    return np.asarray(np.exp(np.mean(np.log(np.asarray(values)), axis=0)))
