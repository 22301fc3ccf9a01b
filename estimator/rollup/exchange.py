"""The timeline of a step with the messages that several devices exchange, on lanes of their own.

A message starts when its gradient is made and the one before it on its lane has passed; what needs it waits. So the
part of communication that lengthens the step is what the replay finds. Messages among copies of the model have one
lane, those among the parts of a copy another, as each group of a library's communicators has a queue of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from estimator.core.schema import HOST, among_copies
from estimator.core.types import Flags, Floats, Integers, Names, Prediction
from estimator.rollup.host import HostScenario
from estimator.rollup.step import times_in_step
from estimator.rollup.target_timeline import DEVICE, StepTimeline, events_of
from estimator.rollup.timeline import NEVER, Costs, block_cost, block_costs, replay, run, step_s

LINKS = "links"  # the lane of messages among copies of the model
PARTS = "links of parts"  # that of messages among the parts of a copy, or among copies that share experts
INSTANT_S = 1e-12  # nominal duration of a message


@dataclass(frozen=True)
class StepWithMessages:
    """A step with its messages, which can be replayed for any times of them at little cost."""

    timeline: StepTimeline
    factor: Floats  # how many times as long each op takes (ops × draws); 0 for messages
    costs: Costs  # of all blocks but those of messages
    messages: tuple[tuple[int, Integers], ...]  # each block of messages, and which these are
    pace: Floats

    def with_ops(self, ops: Integers, op_s: Floats) -> StepWithMessages:
        """The same where these ops take other times on their lanes (draws × these) [s]: their blocks cost others."""
        events, factor = self.timeline.events, self.factor.copy()
        factor[ops] = self.timeline.factor(op_s, ops).T
        costs = Costs([*self.costs.whole_s], [*self.costs.launched_s])
        for number, block in enumerate(events.blocks):
            if np.isin(events.op[block.rows], ops).any():
                costs.whole_s[number], costs.launched_s[number] = block_cost(events, block, factor, self.pace)
        return replace(self, factor=factor, costs=costs)

    def total_s(self, times_s: Floats) -> Floats:
        """Samples of the step [s] with messages that take these times (draws × messages) [s]."""
        whole_s, launched_s = list(self.costs.whole_s), list(self.costs.launched_s)
        for block, sent in self.messages:
            whole_s[block], launched_s[block] = times_s[:, sent].sum(axis=1), np.full(len(self.pace), NEVER)
        timeline = self.timeline
        clocks = run(timeline.events, Costs(whole_s, launched_s), self.pace, timeline.host_step_s)
        return step_s(clocks) * timeline.scale


def exchange_of(
    prediction: Prediction, timeline: StepTimeline, messages: pd.DataFrame, scenario: HostScenario
) -> StepWithMessages:
    """The step of a prediction with MESSAGES on its timeline."""
    whole, ops = with_messages(timeline, messages), len(timeline.op_s)
    samples, _ = times_in_step(prediction, timeline, scenario)
    factor = np.vstack([timeline.factor(samples).T, np.zeros((len(messages), len(samples)))])
    events, sent = whole.events, whole.events.op - ops
    blocks = ((number, sent[block.rows]) for number, block in enumerate(events.blocks))
    of_messages = tuple((number, which) for number, which in blocks if which.min() >= 0)
    return StepWithMessages(whole, factor, block_costs(events, factor, scenario.pace), of_messages, scenario.pace)


def with_messages(timeline: StepTimeline, messages: pd.DataFrame) -> StepTimeline:
    """The timeline with one more op for each row of MESSAGES, in their order, after the ops that it has."""
    if messages.empty:
        return timeline
    events = timeline.events.table
    devices = events[(events["lane"] != HOST) & events["op"].notna()]
    first, last = _places(devices, len(timeline.op_s))
    sent, ops = len(messages), len(timeline.op_s)
    ready = _event_of(messages["ready"], last)
    needed = _event_of(messages["needed"], first)
    lane = np.where(among_copies(messages), LINKS, PARTS)
    waits = _waits(events, devices, needed, lane)
    # only the order counts: behind the op that makes it ready, before the instant that waits for it
    latest_s = np.select([needed == event for event, _ in waits], [wait["start_s"] for wait in waits.values()], np.inf)
    ready_s = np.where(ready >= 0, events["start_s"].to_numpy(dtype=float)[ready], 0.0)
    after = pd.array(ready, dtype="Int64")
    after[ready < 0] = pd.NA
    own = {"op": ops + np.arange(sent), "lane": lane, "start_s": np.minimum(ready_s, latest_s), "after": after}
    whole = events_of(events, {**own, "duration_s": INSTANT_S}, *waits.values())
    return replace(timeline, events=whole, op_s=np.append(timeline.op_s, np.full(sent, INSTANT_S)))


def _places(devices: pd.DataFrame, ops: int) -> tuple[Integers, Integers]:
    """The first and the last event of each op on a device; −1 for ops without events."""
    ends = devices.assign(end_s=devices["start_s"] + devices["duration_s"])
    first = devices.sort_values("start_s").drop_duplicates("op")
    last = ends.sort_values("end_s").drop_duplicates("op", keep="last")
    return _places_of(first, ops), _places_of(last, ops)


def _places_of(events: pd.DataFrame, ops: int) -> Integers:
    """The place of each op's only event; −1 for ops without one."""
    places = pd.Series(events.index, index=events["op"]).reindex(range(ops), fill_value=-1)
    return np.asarray(places, dtype=np.int64)


def _event_of(op: pd.Series, place: Integers) -> Integers:
    """The event of each op; where it has none or there is no op, −1."""
    known = op.fillna(-1).to_numpy(dtype=np.int64)
    return np.where(known >= 0, place[known], -1) if len(place) else np.full(len(op), -1, dtype=np.int64)


def _waits(
    events: pd.DataFrame, devices: pd.DataFrame, needed: Integers, lanes: Names
) -> dict[tuple[int, str], dict[str, Any]]:
    """By each event that needs messages of a lane, an instant just before it that waits for the last of these.

    Messages that no event needs are waited for at the end of the step.
    """
    waits = {}
    for event, of_lane in sorted(set(zip(needed.tolist(), lanes.tolist(), strict=True))):
        message = len(events) + int(np.flatnonzero((needed == event) & (lanes == of_lane))[-1])
        if event >= 0:
            lane, start_s = events.at[event, "lane"], np.nextafter(float(events.at[event, "start_s"]), -np.inf)
        else:
            lane = devices["lane"].iloc[-1] if len(devices) else DEVICE
            start_s = float((events["start_s"] + events["duration_s"]).max())
        waits[event, of_lane] = {"lane": [lane], "start_s": start_s, "duration_s": 0.0, "after": message}
    return waits


def without_exchange(prediction: Prediction) -> Prediction:
    """The prediction without recorded messages among copies of the model, as those of the target replace them."""
    recorded = among_copies(prediction.ops)
    return with_times(prediction, recorded, np.zeros((len(prediction.samples), int(recorded.sum()))))


def with_times(prediction: Prediction, rows: Flags, times_s: Floats) -> Prediction:
    """The prediction with other samples of the times of some messages (draws × rows) [s], which hold no launches."""
    if not rows.any():
        return prediction
    samples, launch = prediction.samples.copy(), prediction.launch.copy()
    samples[:, rows], launch[:, rows] = times_s, 0.0
    return replace(prediction, samples=samples, launch=launch)


def replayed_s(prediction: Prediction, timeline: StepTimeline, scenario: HostScenario) -> Floats:
    """Samples of the step [s]: the timeline replayed with the prediction's times."""
    factor = timeline.factor(times_in_step(prediction, timeline, scenario)[0])
    return step_s(replay(timeline.events, factor, scenario.pace, timeline.host_step_s)) * timeline.scale
