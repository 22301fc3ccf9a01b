"""``compare``: estimates side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from estimator.api.arguments import Device, Place, in_one_sentence, plans_of, profiles_of
from estimator.api.estimate import EstimateResult
from estimator.api.frames import frame
from estimator.api.html import to_html
from estimator.core.interval import share_below
from estimator.core.scenarios import HostWord, InputWord
from estimator.core.types import DeviceSpec, Estimate, Fusing, Layout, Mode, Profile
from estimator.reports import summaries
from estimator.reports.text import format_interval
from estimator.studies.compare import Unfit
from estimator.studies.compare import compare as compare_steps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INTERVALS = ("step_s", "kernels_s", "matrix_only_step_s", "speedup", "power_w", "energy_j_per_step")
COLUMNS = (
    "workload", "source", "target", "mode", "batch_size", "precision", "fusion", "layout", "host", "input", "step_s",
    "kernels_s", "matrix_only_step_s", "source_step_s", "speedup", "power_w", "energy_j_per_step", "coverage", "fits",
    "refused",
)  # fmt: skip


@dataclass(frozen=True, repr=False, eq=False)
class CompareResult:
    """Estimates of every profile on every device, profile by profile.

    Attributes:
        results: one for each pair, in the order in which they were asked for: an estimate, or why there is none.
    """

    results: tuple[EstimateResult | Unfit, ...]

    @property
    def estimates(self) -> tuple[EstimateResult, ...]:
        """The results of the pairs that can run."""
        return tuple(result for result in self.results if isinstance(result, EstimateResult))

    @property
    def unfit(self) -> tuple[Unfit, ...]:
        """The pairs that cannot run, each with the reason ``why``."""
        return tuple(result for result in self.results if isinstance(result, Unfit))

    def __iter__(self) -> Iterator[EstimateResult]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    @property
    def table(self) -> pd.DataFrame:
        """A row for each pair, with its run, ``step_s`` [s], ``speedup``, ``power_w`` [W] and others.

        The ends of the interval of ``step_s`` are ``step_low_s`` and ``step_high_s``, and so on; absence is NaN.
        Where a device cannot run a profile, ``refused`` says why.
        """
        plans = [each.estimate.plan if isinstance(each, EstimateResult) else None for each in self.results]
        ways = [{name: getattr(plan, name, None) for name in ("fusion", "layout")} for plan in plans]
        return frame([each | way for each, way in zip(self._documents, ways, strict=True)], COLUMNS, INTERVALS)

    def document(self) -> dict[str, Any]:
        """The document that ``estimator compare --json`` prints."""
        return {"estimates": self._documents, "p_faster": self.p_faster}

    @property
    def p_faster(self) -> dict[str, dict[str, float | None]]:
        """For each estimate, in which share of the draws its step is shorter than that of each other of the profile.

        Draws share uncertain inputs, so steps may differ surely while their intervals overlap. None without draws.
        """
        estimates = [result.estimate for result in self.estimates]
        named = list(zip(labels(estimates), estimates, strict=True))
        return {
            name: {
                other: share_below(one.step.total, two.step.total)
                for other, two in named
                if other != name and _run_of(two) == _run_of(one)
            }
            for name, one in named
        }

    def plot(self) -> Figure:
        """The parts of each step as stacked bars [ms]."""
        from estimator.reports import figures

        estimates = [result.estimate for result in self.estimates]
        return figures.breakdown(dict(zip(labels(estimates), estimates, strict=True)))

    @cached_property
    def _documents(self) -> list[dict[str, Any]]:
        known = [{**result.document(), "refused": None} for result in self.estimates]
        blank: dict[str, Any] = {name: [] if isinstance(value, list) else None for name, value in known[0].items()}
        of_estimates = iter(known)
        return [_refused(blank, each) if isinstance(each, Unfit) else next(of_estimates) for each in self.results]

    def __repr__(self) -> str:
        names = labels([result.estimate for result in self.estimates])
        steps = (format_interval(document["step_s"]) for document in self._documents if not document["refused"])
        unfit = (f"{each.workload} on {each.target}: refused" for each in self.unfit)
        return "\n  ".join((f"{len(names)} estimates", *map(": ".join, zip(names, steps, strict=True)), *unfit))

    def _repr_html_(self) -> str:
        notes = {
            kind: list(dict.fromkeys(text for document in self._documents for text in document[kind]))
            for kind in ("warnings", "assumptions")
        }
        return to_html("Estimates side by side", "", [summaries.comparison_table(self._documents)], notes)


def _run_of(estimate: Estimate) -> tuple[str, str]:
    """The profiled run: what was read, or the workload's name where nothing was."""
    return estimate.profile.sha256, estimate.profile.workload.name


def _refused(blank: dict[str, Any], unfit: Unfit) -> dict[str, Any]:
    """The document of a pair that cannot run: all its numbers are null."""
    return {**blank, "workload": unfit.workload, "target": unfit.target, "fits": unfit.fits, "refused": unfit.why}


def labels(estimates: Sequence[Estimate]) -> list[str]:
    """Names that tell estimates apart, as short as can be: the device, then the workload, how it runs, a number."""
    names = [estimate.target.name for estimate in estimates]
    if len(set(names)) < len(names):
        names = [f"{estimate.profile.workload.name} on {estimate.target.name}" for estimate in estimates]
    if len(set(names)) < len(names):
        runs = [_run(estimate) for estimate in estimates]
        same_name = [[other for other, of in zip(runs, names, strict=True) if of == name] for name in names]
        names = [", ".join([name, *_how(run, group)]) for name, run, group in zip(names, runs, same_name, strict=True)]
    counts = Counter(names)
    return [f"{name} ({place})" if counts[name] > 1 else name for place, name in enumerate(names, start=1)]


def _run(estimate: Estimate) -> tuple[str, ...]:
    """What may differ between runs of one workload on one device, each in words."""
    plan = estimate.plan
    return (
        f"batch {plan.batch or estimate.profile.workload.batch_size}", estimate.precision,
        estimate.profile.workload.mode, f"fusion: {plan.fusion}", f"layout: {plan.layout}",
        f"host: {estimate.host}", f"input: {estimate.input}", f"from {plan.source}",
        f"measurements: {plan.measurements}", f"seed {plan.seed}", f"draws {plan.draws}",
    )  # fmt: skip


def _how(run: Sequence[str], same_name: Sequence[Sequence[str]]) -> list[str]:
    """The words of a run in which it differs from any of those with the same name."""
    return [word for word, others in zip(run, zip(*same_name, strict=True), strict=True) if len(set(others)) > 1]


@in_one_sentence
def compare(
    profiles: Profile | Place | Iterable[Profile | Place],
    devices: Device | Iterable[Device],
    *,
    source: DeviceSpec | Place | None = None,
    precision: str | None = None,
    batch: int | None = None,
    mode: Mode | None = None,
    host: HostWord | float | None = None,
    input: InputWord | None = None,
    fusion: Fusing = "none",
    layout: Layout = "auto",
    seed: int = 0,
    draws: int = 1000,
) -> CompareResult:
    """Predict the step times of profiled runs on several devices.

    Args:
        profiles: one or several, each as ``estimate`` takes it.
        devices: one or several, each as ``estimate`` takes it; RunPlans compare one device run in several ways.
        source: and all other keywords are those of ``estimate``, for every pair.
        precision: see ``estimate``.
        batch: see ``estimate``.
        mode: see ``estimate``.
        host: see ``estimate``.
        input: see ``estimate``.
        fusion: see ``estimate``.
        layout: see ``estimate``.
        seed: see ``estimate``.
        draws: see ``estimate``.

    Raises:
        EstimatorError: as ``estimate`` does, but for a device that is unfit, where another one is fit.

    Example:
        >>> from estimator import compare
        >>> table = compare("p1b3", ["v100", "h100"], draws=100).table
        >>> fastest = table.loc[table["step_s"].idxmin(), "target"]
    """
    plans = plans_of(
        devices, source=source, precision=precision, batch=batch, mode=mode, host=host, input=input, fusion=fusion,
        layout=layout, seed=seed, draws=draws,
    )  # fmt: skip
    results = compare_steps(profiles_of(profiles), plans)
    return CompareResult(tuple(each if isinstance(each, Unfit) else EstimateResult(each) for each in results))
