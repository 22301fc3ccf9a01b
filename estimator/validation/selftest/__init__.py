"""``estimator selftest``: the whole chain against reality, on the machine at hand, which in its settings is several.

Workloads are profiled in one setting, shapes of their ops measured in another, the step there is predicted, and then
run: each setting from every other one. Truth shares no step with what predictions use.
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

__all__ = ["QUICK", "WORKLOADS", "Plan", "Result", "busy", "planned", "selftest"]

WORKLOADS, QUICK = ("p1b3", "nt3@0.02", "cnn", "p1b2", "p3b2"), ("p1b3@0.3", "cnn")
REPEATS, FEWEST = 12, 4  # half for predictions, half of truth


@dataclass(frozen=True)
class Plan:
    """What is run: every workload in every setting, in each repeat."""

    workloads: tuple[Workload, ...]
    settings: tuple[Setting, ...]
    repeats: int = FEWEST


@dataclass(frozen=True)
class Result:
    """What came out; ``rows`` as judge.COLUMNS says."""

    plan: Plan
    rows: pd.DataFrame = field(repr=False)
    ran: Provenance  # where and when

    def summary(self) -> dict[str, Any]:
        """The figures of all rows together, relative."""
        return judge.summary(self.rows)

    def document(self) -> dict[str, Any]:
        """The run as JSON says it."""
        numbers = range(1, self.plan.repeats + 1)
        return {
            "date": self.ran.date,
            "processor": self.ran.processor,
            "tool_version": f"estimator {__version__}",
            "settings": [setting.name for setting in self.plan.settings],
            "repeats": {"predictions": [n for n in numbers if runs.predicts(n)],
                       "truth": [n for n in numbers if not runs.predicts(n)]},
            "summary": self.summary(),
            "rows": self.rows.to_dict("records"),
        }  # fmt: skip


def planned(
    named: Sequence[str] = (), asked: Sequence[str] = (), repeats: int | None = None, *, quick: bool = False
) -> Plan:
    """The plan of these workloads and settings, else of the usual ones; ``quick`` takes two of each, and FEWEST
    repeats.

    Raises EstimatorError for what is unknown, what the machine has not, and fewer repeats than FEWEST or an odd
    number.
    """
    if repeats is None:
        repeats = FEWEST if quick else REPEATS
    if repeats < FEWEST or repeats % 2:
        raise EstimatorError(f"estimator selftest: {repeats} repeats; give an even number, at least {FEWEST}")
    found = tuple(workloads.parse(text) for text in named or (QUICK if quick else WORKLOADS))
    names = [workload.name for workload in found]
    if len(set(names)) < len(names):
        raise EstimatorError(f"estimator selftest: two workloads are called alike ({', '.join(names)}); give each once")
    chosen = settings.of_machine(asked)
    return Plan(found, chosen[:2] if quick and not asked else chosen, repeats)


def busy(kept: Path | None = None) -> tuple[str, ...]:
    """A sentence where other processes hold the processors, and what is ``kept`` does not hold all runs already."""
    load, count = os.getloadavg()[0], len(usable_processors())
    if load <= BUSY * count or (kept and Folder(kept).steps.exists()):
        return ()
    return (
        f"the machine is busy: load {load:.1f} on {count} processor(s); run nothing else, or its noise is measured",
    )


def selftest(plan: Plan, folder: Path, progress: Progress = lambda done, total: None) -> Result:
    """Run what ``folder`` does not hold yet, predict, and compare. Raises EstimatorError where a run fails."""
    place = Folder(folder.resolve())
    runs.run(place, plan.workloads, plan.settings, plan.repeats, progress)
    ran = read_provenance(side_files(place.captures(plan.settings[0]) / plan.workloads[0].name))
    return Result(plan, judge.judge(place, plan.workloads, plan.settings), ran)
