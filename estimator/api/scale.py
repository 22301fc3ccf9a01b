"""``scale``: one profile on more and more devices of a machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from estimator.api.arguments import Place, counts_of, in_one_sentence, plan_of, profile_of, splits_of, system_of
from estimator.api.frames import frame
from estimator.api.html import to_html
from estimator.core.errors import EstimatorError
from estimator.core.files import place
from estimator.core.scenarios import HostWord, InputWord
from estimator.core.types import DeviceSpec, Fusing, Layout, Profile, SystemSpec
from estimator.reports import documents, summaries
from estimator.reports.text import format_interval
from estimator.rollup.scaling import Scaling
from estimator.studies.scale import scale as scale_step

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INTERVALS = (
    "step_s", "samples_per_s", "efficiency", "communication_s", "communication_exposed_s", "power_w",
    "energy_j_per_step",
)  # fmt: skip
COLUMNS = (
    "parallel",
    "devices",
    "nodes",
    "local_batch",
    "global_batch",
    *INTERVALS[:5],
    "memory_bytes",
    "fits",
    *INTERVALS[5:],
)


@dataclass(frozen=True, repr=False, eq=False)
class ScaleResult:
    """The predicted steps of a profile on several numbers of devices of a machine."""

    content: Mapping[str, Any] = field(repr=False)  # as ``studies.scale`` gives it

    @property
    def table(self) -> pd.DataFrame:
        """A row for each split and number of devices.

        ``step_s`` and the messages' ``communication_s`` and ``communication_exposed_s`` [s], ``samples_per_s`` of all
        devices, ``efficiency`` as a share, ``memory_bytes`` of one device, ``power_w`` [W] and ``energy_j_per_step``
        [J] of all devices and nodes. The ends of the interval of ``step_s`` are ``step_low_s`` and ``step_high_s``,
        and so on; absence is NaN.
        """
        held = [{**row, "memory_bytes": (row["memory_bytes"] or {}).get("total")} for row in self.content["rows"]]
        return frame(held, COLUMNS, INTERVALS)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what may make it wrong."""
        return tuple(self.content["warnings"])

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what it assumes."""
        return tuple(self.content["notes"])

    def document(self) -> dict[str, Any]:
        """The document that ``estimator scale --json`` prints."""
        document: dict[str, Any] = documents.plain(self.content)
        return document

    def plot(self) -> Figure:
        """Samples per second and efficiency over the number of devices, with their intervals."""
        from estimator.reports import figures

        return figures.scaling(self.content)

    def __repr__(self) -> str:
        rows = (
            f"{row['parallel']}, devices {row['devices']}: {format_interval(row['step_s'])} a step"
            for row in self.content["rows"]
        )
        return "\n  ".join((summaries.scaling_title(self.content), *rows))

    def _repr_html_(self) -> str:
        notes = {"warnings": self.warnings, "notes": self.notes}
        return to_html("", "", [summaries.scaling_table(self.content)], notes)


@in_one_sentence
def scale(
    profile: Profile | Place,
    system: SystemSpec | Place,
    devices: int | Iterable[int] = (),
    *,
    nodes: int | None = None,
    parallel: str | Iterable[str] = "data",
    scaling: Scaling = "weak",
    batch: int | None = None,
    source: DeviceSpec | Place | None = None,
    precision: str | None = None,
    host: HostWord | float | None = None,
    input: InputWord | None = None,
    fusion: Fusing = "none",
    layout: Layout = "auto",
    measurements: Place | None = None,
    timed_steps: Place | None = None,
    seed: int = 0,
    draws: int = 1000,
) -> ScaleResult:
    """Predict a profiled run on more and more devices of a machine.

    Devices exchange gradients over the machine's links while others are computed; what is not hidden lengthens the
    step.

    Args:
        profile: as ``estimate`` takes it.
        system: a shipped name such as ``"dgx-a100"``, the path of a YAML file, or a SystemSpec.
        devices: numbers of devices; without any, powers of two and the whole machine.
        nodes: number of nodes of this kind; None: as many as the system has.
        parallel: how the training is divided: ``"data"``, ``"zero1"``, ``"zero2"``, ``"zero3"`` or ``"fsdp"``,
            ``"parameter-server"``, with ``"micro=1"`` for micro-batches, ``"shard=8"`` for states that only some copies
            share, and ``"gradients=fp16"`` or ``"top=1%"`` for compressed gradients; models given as layers also take
            ``"tensor=8,sequence,pipeline=12,interleave=2"``, ``"context=4"`` and ``"experts=8"``. Several are predicted
            one after the other.
        scaling: what stays: each device's batch (``"weak"``), or the whole one (``"strong"``).
        batch: samples in a step, of each device for weak scaling, of all for strong; None is the profile's.
        source: and all other keywords are those of ``estimate``.
        precision: see ``estimate``.
        host: see ``estimate``.
        input: see ``estimate``.
        fusion: see ``estimate``.
        layout: see ``estimate``.
        measurements: see ``estimate``.
        timed_steps: a CSV of a few timed steps of the machine, such as ``devices,step_s``, which correct the others.
        seed: see ``estimate``.
        draws: see ``estimate``.

    Raises:
        EstimatorError: as ``estimate`` does; for numbers of devices that the machine does not have, and for a batch
            that cannot be divided among them.

    Example:
        >>> from estimator import scale
        >>> table = scale("vgg16", system="dgx-a100", devices=[1, 8], batch=32, draws=100).table
        >>> efficiency = table.set_index("devices").loc[8, "efficiency"]
    """
    if scaling not in ("weak", "strong"):
        raise EstimatorError(f"scaling '{scaling}' is not known; expected weak or strong")
    machine, counts, splits = system_of(system, nodes), counts_of(devices), splits_of(parallel)
    plan = plan_of(
        machine.device, source=source, precision=precision, batch=batch, host=host, input=input, fusion=fusion,
        layout=layout, measurements=measurements, seed=seed, draws=draws,
    )  # fmt: skip
    timed = None if timed_steps is None else place("timed_steps", timed_steps)
    return ScaleResult(scale_step(profile_of(profile), machine, counts, plan, splits, scaling, timed))
