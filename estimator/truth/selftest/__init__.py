"""``estimator selftest``: the whole chain against reality, on the machine at hand, which in its settings is several.

Workloads are profiled in one setting, products and streams measured in another, the step there is predicted, and then
run: each setting from every other one. Truth shares no run with what predictions use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimator import __version__
from estimator.core.errors import EstimatorError
from estimator.devices.measure import bench
from estimator.truth.selftest import judge, runs, settings
from estimator.truth.selftest.runs import Progress, Workload
from estimator.truth.selftest.settings import Setting

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["QUICK", "WORKLOADS", "Plan", "Result", "planned", "selftest"]

WORKLOADS, QUICK = ("p1b3", "nt3@0.02", "cnn", "p1b2", "p3b2"), ("p1b3@0.3", "cnn")
REPEATS = 4  # at least: half for predictions, half of truth


@dataclass(frozen=True)
class Plan:
    """What is run: every workload in every setting, in each repeat."""

    workloads: tuple[Workload, ...]
    settings: tuple[Setting, ...]
    repeats: int = REPEATS


@dataclass(frozen=True)
class Result:
    """What came out; ``rows`` as judge.COLUMNS says."""

    plan: Plan
    rows: pd.DataFrame = field(repr=False)

    def summary(self) -> dict[str, Any]:
        """The figures of all rows together, relative."""
        return judge.summary(self.rows)

    def document(self) -> dict[str, Any]:
        """The run as JSON says it."""
        numbers = range(1, self.plan.repeats + 1)
        return {
            "date": date.today().isoformat(),
            "processor": bench.processor(),
            "tool_version": f"estimator {__version__}",
            "settings": [setting.name for setting in self.plan.settings],
            "repeats": {"predictions": [n for n in numbers if runs.predicts(n)],
                       "truth": [n for n in numbers if not runs.predicts(n)]},
            "summary": self.summary(),
            "rows": self.rows.to_dict("records"),
        }  # fmt: skip


def planned(
    workloads: Sequence[str] = (), asked: Sequence[str] = (), repeats: int = REPEATS, *, quick: bool = False
) -> Plan:
    """The plan of these workloads and settings, else of the usual ones; ``quick`` takes two of each.

    Raises EstimatorError for what is unknown, what the machine has not, and fewer repeats than REPEATS or an odd
    number.
    """
    if repeats < REPEATS or repeats % 2:
        raise EstimatorError(f"estimator selftest: {repeats} repeats; give an even number, at least {REPEATS}")
    found = tuple(runs.parse(text) for text in workloads or (QUICK if quick else WORKLOADS))
    names = [workload.name for workload in found]
    if len(set(names)) < len(names):
        raise EstimatorError(f"estimator selftest: two workloads are called alike ({', '.join(names)}); give each once")
    chosen = settings.of_machine(asked)
    return Plan(found, chosen[:2] if quick and not asked else chosen, repeats)


def selftest(plan: Plan, folder: Path, progress: Progress = lambda done, total: None) -> Result:
    """Run what ``folder`` does not hold yet, predict, and compare. Raises EstimatorError where a run fails."""
    place = runs.Folder(folder.resolve())
    runs.run(place, plan.workloads, plan.settings, plan.repeats, progress)
    return Result(plan, judge.judge(place, plan.workloads, plan.settings, plan.repeats))
