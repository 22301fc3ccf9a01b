"""Audit a published table: each printed number beside ours, with its mark and its reason."""

from __future__ import annotations

from pathlib import Path

from estimator.core.types import pair_id
from estimator.devices import load_device
from estimator.studies.audit.counts import check_counts
from estimator.studies.audit.like_rows import check_like_rows
from estimator.studies.audit.marks import meanings
from estimator.studies.audit.means import check_means
from estimator.studies.audit.peaks import check_peaks
from estimator.studies.audit.ratios import check_ratios
from estimator.studies.audit.runs import plan_runs, run_rows
from estimator.studies.audit.table import Table
from estimator.studies.audit.times import check_times
from estimator.studies.audit.types import Audit
from estimator.studies.places import resolve_profile
from estimator.work import replace_optimizer


def audit_table(name: str, table: Table, folder: Path, draws: int, seed: int) -> Audit:
    """Check every number that a table prints.

    Args:
        name: prefix of the ids of its numbers
        table: the table as it was printed
        folder: folder of the study, where its profiles and devices may lie
        draws: number of draws of the uncertain inputs of each prediction
        seed: seed of the draws

    Raises EstimatorError where a stated mark contradicts the numbers, or a named profile or device is missing.
    """
    profiles = {
        row_name: replace_optimizer(resolve_profile(folder, row.profile), row.optimizer)
        for row_name, row in table.rows.items()
    }
    plans = plan_runs(table, folder, draws, seed)
    runs = run_rows(name, table, profiles, plans)
    devices = {
        column: [load_device(plan.target) for plan in plans_by_device.values()]
        for column, plans_by_device in plans.items()
    }
    steps = {cell: cell_runs[0].step for cell, cell_runs in runs.items() if cell_runs}
    times = check_times(name, table, runs, profiles)
    return Audit(
        title=table.title,
        source=table.source,
        rows=tuple(table.rows),
        columns=tuple(table.columns),
        meanings=meanings(table.rules),
        checked={
            "peaks": tuple(check_peaks(name, table, devices)),
            "counts": tuple(check_counts(name, table, profiles)),
            "means": tuple(check_means(name, table)),
            "ratios": tuple(check_ratios(name, table, times, steps)),
            "like rows": tuple(check_like_rows(name, table, times, steps)),
            "times": tuple(times.values()),
        },
        estimates={
            pair_id((*cell, run.estimate.target.name)): run.estimate
            for cell, cell_runs in runs.items()
            for run in cell_runs
        },
    )
