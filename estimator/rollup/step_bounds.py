"""Between which times a step must lie: what physics allows, and all of its work one after the other."""

from __future__ import annotations

import numpy as np

from estimator.core.interval import bounds
from estimator.core.types import Floats, Prediction
from estimator.rollup.host import HostScenario
from estimator.rollup.step import of_host
from estimator.rollup.target_timeline import StepTimeline
from estimator.rollup.timeline import Events, replay, step_s


def floor_s(prediction: Prediction, timeline: StepTimeline) -> float:
    """The step with every op at its physical floor, and no host [s]."""
    factor = timeline.factor(prediction.floor_s[None]) * ~of_host(prediction)
    clocks = replay(Events(timeline.events), factor, np.zeros(1), timeline.host_step_s)
    return float(step_s(clocks)[0]) * timeline.scale


def ceiling_s(prediction: Prediction, timeline: StepTimeline, scenario: HostScenario) -> float:
    """All ops one after the other at their ceilings, and then the host [s], both at the high end of the scenario."""
    work_s, host_s = _high(scenario.kernels) * float(prediction.ceiling_s.sum()), _high(scenario.pace) * timeline.host_s
    return (work_s + host_s) * max(timeline.scale, 1.0)


def _high(samples: Floats | float) -> float:
    return float(bounds(np.atleast_1d(np.asarray(samples, dtype=float)))[2])
