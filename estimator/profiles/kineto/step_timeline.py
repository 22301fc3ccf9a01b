"""The timeline of a typical step of a Kineto trace: the device's events, their launches, and the host's waits."""

from __future__ import annotations

import numpy as np

from estimator.core.types import Integers, Timeline
from estimator.profiles.kineto.launches import Launches
from estimator.profiles.kineto.steps import Steps
from estimator.profiles.kineto.trace import Trace
from estimator.profiles.timeline import Record, typical_timeline


def step_timeline(trace: Trace, launches: Launches, steps: Steps, row: Integers) -> Timeline | None:
    """The timeline of a typical step.

    Args:
        trace: with all device events, those outside the steps too.
        launches: of these events.
        steps: of the trace.
        row: the row of OPS of each event; −1 where it belongs to none.
    """
    device, waits = trace.device, trace.waits
    record = Record(
        op=row,
        lane=device["lane"],
        start=device["start"],
        duration=device["duration"],
        launch=launches.time,
        step=steps.step,
        lanes=[f"gpu:{number}/{stream}" for number, stream in trace.streams],
        windows=steps.windows,
        waits=np.stack([waits["start"], waits.end], axis=1),
    )
    return typical_timeline(record)
