"""The timeline of a typical step of a GPU's XPlane: the events of its streams, and where the host launched them.

An event of a stream and the host's event that launched it have the same ``correlation_id``. A step is what the GPU's
line ``Steps`` marks, or an event of the host. Waits of the host are hardly ever recorded: what is left of a step behind
its last launch is one, for the event that ended last before the host went on.

A GPU's step lasts from the end of the one before to its own. How far its host ran ahead is kept: what it launched
before the step was ready when the step began, and the rest comes at the host's pace.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from estimator.core.types import Integers, Timeline
from estimator.profiles.columns import UNKNOWN, Columns, Ids
from estimator.profiles.device_steps import launched
from estimator.profiles.events import LAST
from estimator.profiles.timeline import MOST_EVENTS, Record, step_at, typical_timeline
from estimator.profiles.wire import Content
from estimator.profiles.xplane.ops import Kind
from estimator.profiles.xplane.space import Plane, read_metadata

CORRELATION = "correlation_id"
MOST_LAUNCHES = 1 << 20  # that are kept
# names of the host's events that launch something beside those with the kernel's name; and of its waits for a device
LAUNCHES = re.compile(r"^(cuda|cu|hip)\w*(Launch|Memcpy|Memset)|^Mem(cpy|set)")
WAITS = re.compile(r"^(cuda|cu|hip)(Stream|Device|Ctx|Event)Synchronize|^\$\S+ block_until_ready$")


@dataclass
class DeviceRecord:
    """The events of one device's streams in ps: kind of op, number of the stream, start, duration, correlation.

    About MOST_EVENTS are kept; steps that hold later ones are not looked at. ``upto`` is the start of the first one
    that was not kept.
    """

    events: Columns = field(default_factory=lambda: Columns("kind", "lane", "start", "duration", "correlation"))
    lanes: Ids = field(default_factory=Ids)  # the names of the streams
    count: int = 0
    upto: int = LAST

    def add(self, lane: str, kind: Integers, start: Integers, duration: Integers, correlation: Integers) -> None:
        """Keep events of one stream, as long as they are not too many."""
        if self.count < MOST_EVENTS:
            self.events.add(kind, np.full_like(kind, self.lanes[lane]), start, duration, correlation)
            self.count += len(kind)
        else:
            self.upto = min(self.upto, int(start.min(initial=LAST)))


@dataclass
class HostRecord:
    """What the host did for devices, in ps: launches with their correlation, and waits."""

    launches: Columns = field(default_factory=lambda: Columns("correlation", "start"))
    waits: Columns = field(default_factory=lambda: Columns("start", "end"))
    count: int = 0

    def add_launches(self, correlation: Integers, start: Integers) -> None:
        """Keep launches, as long as they are not too many."""
        if self.count < MOST_LAUNCHES:
            self.launches.add(correlation, start)
            self.count += len(start)

    def launched(self, correlation: Integers) -> Integers:
        """When the host launched each event; UNKNOWN where no launch has its number."""
        return launched(correlation, self.launches["correlation"], self.launches["start"])

    def launch_or_start(self, correlation: Integers, start: Integers) -> Integers:
        """When the host launched each event; its start where it has no number, or not all launches were kept; UNKNOWN
        where that was before the trace began.
        """
        launch = self.launched(correlation)
        is_early = (launch == UNKNOWN) & (correlation != UNKNOWN) & (self.count < MOST_LAUNCHES)
        return np.where((launch == UNKNOWN) & ~is_early, start, launch)


def may_launch_or_wait(name: str, launched: frozenset[str]) -> bool:
    """Whether a host's event of that name may launch or wait; ``launched`` are the names of devices' events."""
    return name in launched or bool(LAUNCHES.search(name)) or is_wait(name)


def is_wait(name: str) -> bool:
    """Whether the host waits for a device in events of that name."""
    return bool(WAITS.search(name))


def kernel_names(content: Content, planes: Sequence[Plane]) -> frozenset[str]:
    """The names of the events of devices, which the events that launch them may have too."""
    return frozenset(read_metadata(content, plane, event).name for plane in planes for event in plane.events)


def device_timeline(
    device: DeviceRecord, host: HostRecord, steps: Integers, by_host: bool, kinds: Sequence[Kind], row: Integers
) -> Timeline | None:
    """The timeline of a typical step of one device; None where not all events of any were kept.

    Args:
        device: the events of its streams.
        host: launches and waits.
        steps: start and end of each [ps].
        by_host: whether these are the host's, in which it launched events; else the device's, in which they ran.
        kinds: the kinds of ops, by event; an event may be the parts of several.
        row: the row of OPS of each kind.
    """
    windows = steps if by_host or not len(steps) else _pitches(steps)
    events = device.events
    launch = host.launched(events["correlation"])
    times = host.launch_or_start(events["correlation"], events["start"]) if by_host else events["start"]
    step = step_at(windows, times)
    if device.upto < LAST:
        windows = windows[: _whole_steps(device, windows, step)]
        step = np.where(step < len(windows), step, -1)
    if not len(events) or (device.upto < LAST and not len(windows)):
        return None
    event, op, start, end = _parts(events, kinds, row)
    recorded = np.stack([host.waits["start"], host.waits["end"]], axis=1)
    record = Record(
        op=op,
        lane=events["lane"][event],
        start=start,
        duration=end - start,
        launch=(launch if by_host else _not_before(windows, step, launch))[event],
        step=step[event],
        lanes=list(device.lanes),
        windows=windows,
        waits=np.concatenate([recorded, _inferred_waits(windows, step, launch)]),
    )
    return typical_timeline(record)


def _pitches(steps: Integers) -> Integers:
    """From the end of one step of a device to the end of the next; the first one begins with its first op."""
    begins = np.maximum.accumulate(np.concatenate([steps[:1, 0], steps[:-1, 1]]))
    return np.stack([begins, np.maximum(steps[:, 1], begins)], axis=1)


def _not_before(windows: Integers, step: Integers, launch: Integers) -> Integers:
    """Launches, none before the begin of its step."""
    begin = np.append(windows[:, 0], UNKNOWN)[step]
    return np.where(launch == UNKNOWN, UNKNOWN, np.maximum(launch, begin))


def _inferred_waits(windows: Integers, step: Integers, launch: Integers) -> Integers:
    """Start and end of the wait at the end of each step: from its last launch, or as long after the begin of the step
    as its launches took where the first of them came before.
    """
    known = (step >= 0) & (launch != UNKNOWN)
    first, last = np.full(len(windows), LAST), np.full(len(windows), UNKNOWN)
    np.minimum.at(first, step[known], launch[known])
    np.maximum.at(last, step[known], launch[known])
    some = first <= last
    begin, end = windows[some].T
    issued = last[some] + np.maximum(begin - first[some], 0)
    return np.stack([np.minimum(issued, end), end], axis=1)


def _whole_steps(device: DeviceRecord, windows: Integers, step: Integers) -> int:
    """The number of steps whose events were all kept; the last one with events may have had more."""
    last = step[device.events["start"] < device.upto].max(initial=0)
    return min(int(last), int((windows[:, 1] <= device.upto).sum()))


def _parts(events: Columns, kinds: Sequence[Kind], row: Integers) -> tuple[Integers, Integers, Integers, Integers]:
    """Event, row of OPS, start and end of each part of an event, one after another for their shares of its time."""
    of_event, share = np.array([kind.event for kind in kinds]), np.array([kind.share for kind in kinds])
    count = np.bincount(of_event)
    first = np.cumsum(count) - count
    before = np.cumsum(share) - share
    before -= before[first][of_event]
    parts = count[events["kind"]]
    event = np.repeat(np.arange(len(events)), parts)
    part = first[events["kind"]][event] + np.arange(len(event)) - np.repeat(np.cumsum(parts) - parts, parts)
    start, duration = events["start"][event], events["duration"][event]
    begun, ended = (np.rint(upto[part] * duration).astype(np.int64) for upto in (before, before + share))
    return event, row[part], start + begun, start + ended
