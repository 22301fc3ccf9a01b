"""When every op of a replayed step runs on the target, and which of them the step waits for."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.schema import REPLAYED
from estimator.core.types import Floats, Prediction
from estimator.rollup.critical_path import critical_path
from estimator.rollup.host import HostScenario
from estimator.rollup.step import times_in_step
from estimator.rollup.target_timeline import StepTimeline
from estimator.rollup.timeline import (
    HOST_LANE,
    NEVER,
    Block,
    Clock,
    Events,
    host_event,
    replay,
    spent_and_ready,
    step_s,
)


def replayed_schedule(prediction: Prediction, timeline: StepTimeline, scenario: HostScenario) -> pd.DataFrame:
    """REPLAYED: the events of the last of several steps in a row, at nominal inputs, in the order of their starts.

    Devices that lag behind their host by whole steps are shown that much earlier, as each step is like the one before.
    """
    events, pace, host_step_s = timeline.events, scenario.pace[:1], timeline.host_step_s
    factor = timeline.factor(times_in_step(prediction, timeline, scenario)[0][:1])
    clocks = replay(events, factor, pace, host_step_s)
    start_s, end_s = _starts_and_ends(events, clocks[-2:], factor, pace)
    earlier_s = _shown_earlier(events, start_s, float(step_s(clocks)[0]))
    critical_s = critical_path(events, clocks, factor, pace, host_step_s).of_event_s
    rows = pd.Series(events.op, dtype="Int64").mask(events.op < 0)
    ops = prediction.ops[["op", "op_class"]].reindex(rows.to_numpy(dtype=float, na_value=np.nan))
    table = {
        "op": ops["op"].to_numpy(),
        "row": rows.to_numpy(),
        "op_class": ops["op_class"].to_numpy(),
        "lane": events.table["lane"].to_numpy(),
        "start_s": timeline.scale * (start_s - earlier_s),
        "end_s": timeline.scale * (end_s - earlier_s),
        "critical_s": timeline.scale * critical_s,
    }
    frame = REPLAYED.conform(pd.DataFrame(table), "replayed step")
    return frame.sort_values("start_s", kind="stable", ignore_index=True)


def _shown_earlier(events: Events, start_s: Floats, period_s: float) -> Floats:
    """By how much each event is shown earlier [s]: whole steps that devices lag; and all, so that the first is at 0."""
    if not len(start_s):
        return start_s
    lag_s, on_host = np.zeros_like(start_s), events.on_host
    if on_host.any() and not on_host.all() and period_s > 0:
        behind_s = start_s[~on_host].min() - start_s[on_host].min()
        lag_s[~on_host] = period_s * max(np.floor(behind_s / period_s), 0.0)
    return np.asarray(lag_s + (start_s - lag_s).min())


def _starts_and_ends(events: Events, clocks: list[Clock], factor: Floats, pace: Floats) -> tuple[Floats, Floats]:
    """When each event of the last step starts and ends [s]."""
    before, clock = clocks
    start_s, end_s = np.zeros(len(events.op)), np.zeros(len(events.op))
    lanes_s = dict(before.lanes_s)
    for block, ended_s in zip(events.blocks, clock.ended_s, strict=True):
        if block.lane == HOST_LANE:
            end_s[block.rows] = ended_s[0]
            start_s[block.rows] = _host_start(events, clock, block, factor, pace)
        else:
            free = float(lanes_s[block.lane][0]) if block.lane in lanes_s else 0.0
            lanes_s[block.lane] = ended_s
            end_s[block.rows] = _ends(events, clock, block, factor, pace, free)
            start_s[block.rows] = end_s[block.rows] - factor[0, events.op[block.rows]] * events.duration[block.rows]
    return start_s, end_s


def _host_start(events: Events, clock: Clock, block: Block, factor: Floats, pace: Floats) -> float:
    """When the host starts its own op, or begins to wait [s]."""
    row, resumed_s = block.rows[0], clock.resumed_s[block.segment][0]
    if events.op[row] >= 0:
        own_s = host_event(events, block, np.ascontiguousarray(factor.T), pace)[1][0]
        return float(clock.resumed_s[block.segment + 1][0] - own_s)
    return float(resumed_s + pace[0] * (events.start[row] - events.resumed[block.segment]))


def _ends(events: Events, clock: Clock, block: Block, factor: Floats, pace: Floats, free: float) -> Floats:
    """When each event of a block of a device ends [s]: the maximum of ``rollup.timeline`` over the events so far.

    ``free``: when the event before the block on its lane ended [s].
    """
    spent, ready = (of[:, 0] for of in spent_and_ready(events, block, np.ascontiguousarray(factor.T), pace))
    awaited = float(clock.ended_s[block.after][0]) if block.after >= 0 else NEVER
    running = np.cumsum(spent)
    launched = clock.resumed_s[block.segment][0] + running + np.maximum.accumulate(ready + spent - running)
    return np.asarray(np.maximum(max(free, awaited) + running, launched))
