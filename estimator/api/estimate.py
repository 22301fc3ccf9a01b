"""``estimate``: one profile on one device; its result is also each part of ``compare``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from estimator.api.arguments import Device, Place, in_one_sentence, plan_of, profile_of
from estimator.api.html import to_html
from estimator.core.errors import EstimatorError
from estimator.core.interval import summarise
from estimator.core.scenarios import HostWord, InputWord
from estimator.core.types import DeviceSpec, Estimate, Fusing, Interval, Layout, Mode, Profile, StepTime
from estimator.pipeline.step import estimate as estimate_step
from estimator.pipeline.step import step_schedule
from estimator.reports import documents, summaries
from estimator.reports.text import format_evidence, format_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False, eq=False)
class EstimateResult:
    """The predicted step of a profile on a device.

    Attributes:
        estimate: what the pipeline computed, with the samples of every time.
    """

    estimate: Estimate

    @property
    def step(self) -> StepTime:
        """Samples of the step and of its parts [s]; entry 0 of each array is the value at nominal inputs."""
        return self.estimate.step

    @property
    def step_s(self) -> Interval:
        """The time of a step [s], with the ends of its 90 % interval, which are None without draws."""
        return summarise(self.estimate.step.total, "all")

    @property
    def kernels_s(self) -> Interval:
        """The step without the host's time and input [s]."""
        return summarise(self.estimate.kernels_s, "all")

    @property
    def speedup(self) -> Interval | None:
        """The profiled step over the predicted one; None at another batch or pass, or where nothing ran."""
        source_s = self.estimate.source_step_s
        return None if np.isnan(source_s) else summarise(source_s / self.estimate.step.total, "all")

    @property
    def evidence(self) -> dict[str, float]:
        """The share of the step by the method that its times stand on, the largest first."""
        return dict(self.estimate.evidence)

    @property
    def ops(self) -> pd.DataFrame:
        """A row for each op, in the profile's order.

        ``target_time_s`` is the predicted time of all calls of a step, ``low_s`` and ``high_s`` the ends of its
        interval; ``bound`` says what limits it, ``method`` the evidence; ``time_s`` is its time on the source;
        ``overlap`` is the share of its time by which it lengthens the step. Times are in s, ``flop`` and ``bytes`` are
        counts of a step.
        """
        ops = self.estimate.prediction.ops.assign(overlap=self.estimate.overlap)
        return ops.reindex(columns=list(documents.ESTIMATE_OPS))

    @property
    def parts(self) -> pd.DataFrame:
        """A row for each part of the step, with ``time_s``, ``low_s`` and ``high_s`` [s], and its ``share``."""
        intervals = {name: summarise(samples, "all") for name, samples in self.step.parts().items()}
        rows = {name: (part.mid, part.low, part.high) for name, part in intervals.items()}
        table = pd.DataFrame.from_dict(rows, orient="index", columns=["time_s", "low_s", "high_s"], dtype=float)
        return table.assign(share=table["time_s"] / self.step.total[0]).rename_axis("part")

    @property
    def timeline(self) -> pd.DataFrame:
        """A row for each event of the replayed step, at nominal inputs, in the order of their starts.

        ``op`` is the op, ``row`` its place in ``ops``, both missing where the host waits; ``lane`` the stream or
        thread; ``start_s`` and ``end_s`` are in s since the first event; ``critical`` says whether the step waits for
        it, ``critical_s`` for how long [s].

        Raises EstimatorError for one of several devices that train together, whose step holds messages.
        """
        return self._timeline.copy()

    @cached_property
    def _timeline(self) -> pd.DataFrame:
        estimate = self.estimate
        if estimate.of_group:
            raise EstimatorError(
                f"{estimate.profile.workload.name} on {estimate.target.name}: the step is of several devices, whose "
                "messages have no timeline yet; estimate the profile on the device alone"
            )
        table = step_schedule(estimate.profile, estimate.plan)
        return table.assign(critical=table["critical_s"] > 0)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Sentences on what the prediction assumes."""
        return self.estimate.assumptions

    @property
    def left_open(self) -> tuple[str, ...]:
        """Sentences on those of its assumptions that end where a number or a setting is given."""
        return self.estimate.left_open

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what may make it wrong."""
        return self.estimate.warnings

    def document(self) -> dict[str, Any]:
        """The document that ``estimator estimate --json`` prints: plain numbers, texts, lists and dicts."""
        document = documents.estimate(self.estimate)
        return {name: value if name == "ops" else documents.plain(value) for name, value in document.items()}

    def plot_roofline(self) -> Figure:
        """The longest ops under the roofs of the device: predicted rate [FLOP/s] over intensity [FLOP/B]."""
        from estimator.reports import figures

        return figures.roofline(self.estimate)

    def plot_parts(self) -> Figure:
        """The parts of the step as a bar [ms]."""
        from estimator.reports import figures

        return figures.breakdown({self.estimate.target.name: self.estimate})

    @cached_property
    def _document(self) -> Mapping[str, Any]:
        return self.document()

    def __repr__(self) -> str:
        document = self._document
        speedup = f", speedup {format_interval(document['speedup'], '1')}" if self.speedup else ""
        lines = (
            f"{document['workload']} {summaries.run_of(document)}",
            f"step time: {format_interval(document['step_s'])}{speedup}",
            f"parts: {summaries.parts_text(document)}",
            f"evidence: {format_evidence(document['evidence'])}",
            f"{len(self.warnings)} warnings, {len(self.assumptions)} assumptions",
        )
        return "\n  ".join(lines)

    def _repr_html_(self) -> str:
        document = self._document
        tables = [summaries.step_table(document), summaries.ops_table(document["ops"])]
        notes = {"warnings": self.warnings, "assumptions": self.assumptions}
        return to_html(document["workload"], summaries.run_of(document), tables, notes)


@in_one_sentence
def estimate(
    profile: Profile | Place,
    device: Device,
    *,
    source: DeviceSpec | Place | None = None,
    precision: str | None = None,
    batch: int | None = None,
    mode: Mode | None = None,
    host: HostWord | float | None = None,
    input: InputWord | None = None,
    fusion: Fusing = "none",
    layout: Layout = "auto",
    measurements: Place | None = None,
    seed: int = 0,
    draws: int = 1000,
) -> EstimateResult:
    """Predict the step time of a profiled run on a device.

    Args:
        profile: a shipped name such as ``"p1b3"``, a dump or a folder of dumps, or what ``read_profile`` returned.
        device: a shipped name such as ``"h100"``, the path of a YAML file, or a DeviceSpec; or a RunPlan, which says
            all of the following.
        source: the device that the profile was taken on, where the profile does not tell.
        precision: number format of the matrix products there, such as ``"bf16"``; ``"auto"`` is what the framework
            takes by default; None is the profile's.
        batch: samples in a step; None is the profile's.
        mode: ``"inference"`` is the forward pass of a training; None is the profile's.
        host: what the target's host does: ``"none"`` (kernels alone), ``"profile"`` (as the profile's), or so many
            times what it does by default, such as 0.5.
        input: time in which input is read: ``"carried"``, ``"overlapped"`` or ``"none"``.
        fusion: ``"elementwise"`` where a compiler fuses element-wise ops.
        layout: of images in the target's library: ``"auto"``, ``"none"``, ``"converted"``, ``"channels-first"``
            or ``"channels-last"``.
        measurements: a CSV of measured ops of the target.
        seed: of the draws behind the intervals.
        draws: how many there are, at least 20; with 0, results have no intervals.

    Raises:
        EstimatorError: in one sentence, where a name is unknown, a file cannot be read, a value is out of range, the
            device lacks the precision, or its memory cannot hold the step.

    Example:
        >>> from estimator import estimate
        >>> result = estimate("p1b3", "v100", precision="fp16", draws=100)
        >>> seconds = result.step_s.mid
        >>> longest = result.ops.nlargest(3, "target_time_s")
    """
    plan = plan_of(
        device, source=source, precision=precision, batch=batch, mode=mode, host=host, input=input, fusion=fusion,
        layout=layout, measurements=measurements, seed=seed, draws=draws,
    )  # fmt: skip
    return EstimateResult(estimate_step(profile_of(profile), plan))
