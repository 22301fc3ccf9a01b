"""The limits of a step under its scenario: a floor that physics sets, and all of its work one after the other."""

from __future__ import annotations

import numpy as np

from estimator.core.interval import bounds
from estimator.core.types import Floats, Prediction
from estimator.rollup.host import HostScenario
from estimator.rollup.target_timeline import StepTimeline, host_time


def step_limits(
    prediction: Prediction, timeline: StepTimeline, scenario: HostScenario, total: Floats
) -> tuple[float, float]:
    """Floor and ceiling of the step whose samples are ``total`` [s].

    The floor is the longest lane, each op as short as the device's rates allow. The ceiling has all ops in turn, each
    at its ceiling, then all that the host does and waits for, at its slowest pace; where the intervals of many parts do
    not add up to that of the step, it is the step's high end.
    """
    events, ceiling_s = timeline.events, timeline.durations_s(prediction.ceiling_s)
    slowest, pace = (float(bounds(np.atleast_1d(of))[2]) for of in (scenario.kernels, scenario.pace))
    host_s = pace * (host_time(events, timeline.host_step_s) + float(events.lag.sum())) + float(events.delay.sum())
    in_turn_s = (slowest * float(ceiling_s.sum()) + host_s) * timeline.scale
    return step_floor(prediction.floor_s, timeline), max(in_turn_s, float(bounds(total)[2]))


def step_floor(floor_s: Floats, timeline: StepTimeline) -> float:
    """The longest lane of a step whose ops take these least times [s]."""
    lanes, of_events = timeline.events.lane, timeline.durations_s(floor_s)
    return max((float(of_events[lanes == lane].sum()) for lane in np.unique(lanes)), default=0.0) * timeline.scale
