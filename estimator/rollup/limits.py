"""The limits of a step under its scenario: a floor that physics sets, and all of its work one after the other."""

from __future__ import annotations

import numpy as np

from estimator.core.interval import bounds
from estimator.core.types import Floats, Prediction
from estimator.rollup.host import HostScenario
from estimator.rollup.step import has_time
from estimator.rollup.target_timeline import StepTimeline
from estimator.rollup.timeline import Events


def step_limits(
    prediction: Prediction, timeline: StepTimeline, scenario: HostScenario, total: Floats
) -> tuple[float, float]:
    """Floor and ceiling of the step whose samples are ``total`` [s].

    The floor is the longest lane, each op as short as the device's rates allow. The ceiling has all ops in turn, each
    at its ceiling, then all that the host does and waits for, at its slowest pace; where the intervals of many parts do
    not add up to that of the step, it is the step's high end.
    """
    events, present = Events(timeline.events), has_time(prediction, scenario)
    floor_s, ceiling_s = (
        _durations(events, timeline, of_op * present) for of_op in (prediction.floor_s, prediction.ceiling_s)
    )
    longest_lane = max((float(floor_s[events.lane == lane].sum()) for lane in np.unique(events.lane)), default=0.0)
    slowest, pace = (float(bounds(np.atleast_1d(of))[2]) for of in (scenario.kernels, scenario.pace))
    host_s = pace * (_host_time(events, timeline.host_step_s) + float(events.lag.sum())) + float(events.delay.sum())
    in_turn_s = (slowest * float(ceiling_s.sum()) + host_s) * timeline.scale
    return longest_lane * timeline.scale, max(in_turn_s, float(bounds(total)[2]))


def _durations(events: Events, timeline: StepTimeline, op_s: Floats) -> Floats:
    """The durations of the events [s], where the ops take these times."""
    factor = np.append(timeline.factor(op_s[None])[0], 0.0)  # the last one is of events that are no op
    return np.asarray(factor[events.op] * events.duration)


def _host_time(events: Events, host_step_s: float) -> float:
    """The host's own time in a step [s]: between its waits and ops, and what it launches beside the next of these."""
    own = np.flatnonzero(events.on_host)
    starts_s = events.start[own[np.argsort((events.start + events.duration)[own], kind="stable")]]
    between_s = np.maximum(np.append(starts_s, host_step_s) - events.resumed, 0.0)
    launched = np.flatnonzero(~np.isnan(events.launch) & ~events.on_host)
    segment = events.segment[launched]
    beside_s = events.launch[launched] - events.resumed[segment] - between_s[segment]
    return float(between_s.sum() + np.max(beside_s, initial=0.0))
