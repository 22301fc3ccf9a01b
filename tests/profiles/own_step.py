"""A profile's timeline, judged by the profile itself: its step when replayed with its own times, and its busy time."""

import numpy as np

from estimator.core.types import Profile, Timeline
from estimator.profiles.events import covered
from estimator.rollup.timeline import Events, replay, step_s


def replayed_s(profile: Profile, pace: float = 1.0) -> float:
    """The step [s] that the profile's timeline gives with its own times."""
    assert profile.timeline is not None
    events, ran = Events(profile.timeline.events), np.ones((1, len(profile.ops)))
    return float(step_s(replay(events, ran, np.array([pace]), profile.timeline.host_step_s))[0])


def busy_s(timeline: Timeline) -> float:
    """Time in which any event of a device ran [s]."""
    ran = timeline.events[timeline.events["op"].notna()]
    runs = ran[["start_s", "duration_s"]].to_numpy(dtype=float) * 1e12
    return covered(np.rint(runs)) / 1e12
