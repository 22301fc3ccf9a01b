"""``estimator selftest``: the whole chain against real runs on this machine, whose settings act as several devices.

Workloads are profiled in one setting, shapes of their ops are measured in another, and the step there is predicted and
run: each setting from every other one. Predictions and truth share no step.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimator import __version__
from estimator.collect.bench.machine import usable_processors
from estimator.collect.measure import BUSY
from estimator.core.errors import EstimatorError
from estimator.profiles.workload import Provenance, read_provenance, side_files
from estimator.validation.selftest import judge, runs, settings, workloads
from estimator.validation.selftest.folder import Folder
from estimator.validation.selftest.runs import Progress
from estimator.validation.selftest.settings import Setting
from estimator.validation.selftest.workloads import Workload

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["QUICK", "WORKLOADS", "Plan", "Result", "make_plan", "selftest", "warn_if_busy"]

WORKLOADS, QUICK = ("p1b3", "nt3@0.02", "cnn", "p1b2", "p3b2"), ("p1b3@0.3", "cnn")
REPEATS, MIN_REPEATS = 12, 4  # half for predictions, half for truth


@dataclass(frozen=True)
class Plan:
    """The runs of a self-test: every workload in every setting, in each repeat."""

    workloads: tuple[Workload, ...]
    settings: tuple[Setting, ...]
    repeats: int = MIN_REPEATS


@dataclass(frozen=True)
class Result:
    """The result of a self-test; ``rows`` have judge.COLUMNS."""

    plan: Plan
    rows: pd.DataFrame = field(repr=False)
    provenance: Provenance  # where and when

    def summary(self) -> dict[str, Any]:
        """The figures of all rows together, as relative errors."""
        return judge.summary(self.rows)

    def document(self) -> dict[str, Any]:
        """The result as a JSON document."""
        numbers = range(1, self.plan.repeats + 1)
        return {
            "date": self.provenance.date,
            "processor": self.provenance.processor,
            "tool_version": f"estimator {__version__}",
            "settings": [setting.name for setting in self.plan.settings],
            "repeats": {"predictions": [n for n in numbers if runs.predicts(n)],
                       "truth": [n for n in numbers if not runs.predicts(n)]},
            "summary": self.summary(),
            "rows": self.rows.to_dict("records"),
        }  # fmt: skip


def make_plan(
    workload_names: Sequence[str] = (),
    setting_names: Sequence[str] = (),
    repeats: int | None = None,
    *,
    quick: bool = False,
) -> Plan:
    """Make a plan of these workloads and settings, or of the default ones; ``quick`` takes two of each and few repeats.

    Raises EstimatorError for unknown workloads or settings, settings that the machine lacks, and a wrong number of
    repeats.
    """
    if repeats is None:
        repeats = MIN_REPEATS if quick else REPEATS
    if repeats < MIN_REPEATS or repeats % 2:
        raise EstimatorError(f"estimator selftest: {repeats} repeats; give an even number, at least {MIN_REPEATS}")
    parsed = tuple(workloads.parse(text) for text in workload_names or (QUICK if quick else WORKLOADS))
    names = [workload.name for workload in parsed]
    if len(set(names)) < len(names):
        raise EstimatorError(f"estimator selftest: two workloads are called alike ({', '.join(names)}); give each once")
    chosen = settings.choose_settings(setting_names)
    return Plan(parsed, chosen[:2] if quick and not setting_names else chosen, repeats)


def warn_if_busy(folder: Path | None = None) -> tuple[str, ...]:
    """A warning where other processes use the processors, unless ``folder`` has all runs already."""
    load, count = os.getloadavg()[0], len(usable_processors())
    if load <= BUSY * count or (folder and Folder(folder).steps.exists()):
        return ()
    return (
        f"the machine is busy: load {load:.1f} on {count} processor(s); run nothing else, or its noise is measured",
    )


def selftest(plan: Plan, folder: Path, progress: Progress = lambda done, total: None) -> Result:
    """Run what ``folder`` lacks, predict, and compare. Raises EstimatorError where a run fails."""
    paths = Folder(folder.resolve())
    runs.run(paths, plan.workloads, plan.settings, plan.repeats, progress)
    ran = read_provenance(side_files(paths.captures(plan.settings[0]) / plan.workloads[0].name))
    return Result(plan, judge.judge(paths, plan.workloads, plan.settings), ran)
