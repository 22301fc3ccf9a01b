"""What was read of an XPlane dump: the ops and the steps of each accelerator, or of the host."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from estimator.core.types import DeviceNumbers, Integers
from estimator.profiles import canonical, ranks
from estimator.profiles.events import FIRST, LAST, Tally
from estimator.profiles.steps import NO_WINDOWS, Window, Windows
from estimator.profiles.xplane import hlo, ops
from estimator.profiles.xplane.ops import Kind
from estimator.profiles.xplane.step_timeline import DeviceRecord, HostRecord


@dataclass
class Part:
    """What ran on one accelerator, or on the host: its kinds of ops, and its steps where its own line marks them."""

    name: str = "host"
    device_recorded: str | None = None
    device_numbers: DeviceNumbers | None = None
    steps: Integers = field(default_factory=lambda: NO_WINDOWS)
    counted: Integers = field(default_factory=lambda: NO_WINDOWS)  # times whose ops count; none where all do
    completed: Integers | None = None  # the last end of what the host launched in each marked step, where it is known
    begun: Window = (LAST, FIRST)  # the first and the last start of an op
    kinds: list[Kind] = field(default_factory=list)
    op_count: int = 0  # kinds of events that are ops
    waits: set[int] = field(default_factory=set)  # those that wait for input
    computes: bool = False  # whether it did more than copy
    ordinals: set[int] = field(default_factory=set)  # of the devices that a host stands for, where it tells them
    outside_ps: int = 0  # time of the ops outside of its steps
    total: Tally = field(default_factory=Tally)
    record: DeviceRecord = field(default_factory=DeviceRecord)

    def busy_ps(self) -> float:
        """The time in which it ran any op; of devices that a host stands for, no more than the ops of one took."""
        return min(float(self.total.busy_ps), self.total.sum_ps / max(len(self.ordinals), 1))

    def ops(self, steps: int, where: str) -> tuple[pd.DataFrame, Integers]:
        """OPS of one step, and the row of each kind."""
        rows, row = ops.rows(self.kinds, self.total)
        table = canonical.to_ops(rows, where)
        return table.assign(**{name: table[name] / steps for name in canonical.AMOUNTS if name in table}), row


@dataclass
class Reading:
    """The content of one dump, as far as it was read."""

    parts: list[Part] = field(default_factory=list)
    programs: dict[str, hlo.Program] = field(default_factory=dict)
    steps: Windows = field(default_factory=Windows)  # that events mark on any line
    host: HostRecord = field(default_factory=HostRecord)
    launched: frozenset[str] = frozenset()  # names of the events of GPUs, whose launches are looked for
    tool_version: str | None = None

    def framework(self) -> str | None:
        """The framework that the dump tells of."""
        kinds = [kind for part in self.parts for kind in part.kinds]
        return ops.framework(kinds, self.programs, self.tool_version)

    def workers(self) -> list[Part]:
        """The parts that computed more than next to nothing; those that copied where none computed."""
        parts = [part for part in self.parts if part.computes] or [part for part in self.parts if part.kinds]
        busiest_ps = max((part.total.busy_ps for part in parts), default=0)
        return [part for part in parts if part.total.busy_ps >= ranks.LEAST_SHARE * busiest_ps]

    def counted(self) -> Integers:
        """Start and end of the times in which ops belong to steps that the reading did not know; none where all do.

        Those are steps that a host marks around its own ops, and those that runs or calls stand for.
        """
        left_out = self.steps.left_out()
        parts = [part for part in (self.parts if left_out else self.parts[:1]) if part.kinds]
        if not parts or not (self.steps.windows or left_out):
            return NO_WINDOWS
        steps = self.steps.counted()
        first, last = min(part.begun[0] for part in parts), max(part.begun[1] for part in parts)
        all_inside = first >= steps[0, 0] and last < steps[-1, 1] and (steps[1:, 0] == steps[:-1, 1]).all()
        return NO_WINDOWS if all_inside else steps
