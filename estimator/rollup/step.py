"""Op times → the time of one step and its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.notes import Note
from estimator.core.schema import HOST_CLASSES, MATRIX, MODELLED, STREAMING, on_processor
from estimator.core.types import DeviceSpec, Flags, Floats, Names, Prediction, Profile, StepTime
from estimator.rollup.critical_path import CriticalPath, critical_path
from estimator.rollup.host import HostScenario
from estimator.rollup.target_timeline import StepTimeline, as_profiled, dispatched, in_turn, read_ahead
from estimator.rollup.timeline import Events, replay, step_s

LOW_COVERAGE = 0.8  # share of the wall time below which the report warns
MUCH_CARRIED = 0.5  # carried share of the predicted step above which the report warns
MUCH_PROPORTIONAL = 0.5  # proportional share of the source's time above which its device should be known
HIDDEN_LAUNCH = 0.5  # share of a stream's launch latency; in public traces short ones take 2 (H100) to 4 us (MI300X)
NEGLIGIBLE = 1e-9  # share of a step that rounding makes
PARTS = ("compute", "memory", "latency", "communication_exposed", "input", "host", "unmodelled")
PART_OF_CLASS = {  # op classes that are a part of the step by themselves, whatever their method
    "input": "input",
    "host": "host",
    "collective": "communication_exposed",
    "unmodelled": "unmodelled",
}


@dataclass(frozen=True)
class ReplayedStep:
    """A replayed step; its kernels alone, without the host's time and input; the share of each op that lengthens it."""

    step: StepTime
    kernels_s: Floats
    overlap: Floats


def replay_step(prediction: Prediction, timeline: StepTimeline, scenario: HostScenario) -> ReplayedStep:
    """Replay a timeline with the samples of the ops' times, and the host of a scenario.

    The parts are those of the nominal step's critical path; in other draws each op on it counts as long as it takes
    there, and all parts in proportion to the step.
    """
    events, pace, host_step_s = Events(timeline.events), scenario.pace, timeline.host_step_s
    part, (samples, launch_s) = part_of_ops(prediction.ops), times_in_step(prediction, timeline, scenario)
    factor = timeline.factor(samples)
    clocks = replay(events, factor, pace, host_step_s)
    kernels = replay(events, factor * ~np.isin(part, HOST_CLASSES), np.zeros_like(pace), host_step_s)
    path, total = critical_path(events, clocks, factor, pace, host_step_s), step_s(clocks) * timeline.scale
    share = np.divide(path.of_op_s, samples[0], out=np.zeros(samples.shape[1]), where=samples[0] > 0)
    parts = _parts_s(part, path, share * samples, share * launch_s, pace)
    added = sum_of_parts(*parts.values())
    growth = np.divide(total, added, out=np.ones_like(total), where=added > 0)
    step = StepTime(**{name: value * growth for name, value in parts.items()}, total=total)
    own_s = prediction.samples[0]  # with the launches that the replay hides
    overlap = has_time(prediction, scenario).astype(float)
    np.divide(share * samples[0] * growth[0], own_s, out=overlap, where=own_s > 0)
    return ReplayedStep(step, step_s(kernels) * timeline.scale, overlap)


def replay_total(prediction: Prediction, timeline: StepTimeline, scenario: HostScenario) -> Floats:
    """Samples of the time of a replayed step [s], without its parts."""
    samples, _ = times_in_step(prediction, timeline, scenario)
    clocks = replay(Events(timeline.events), timeline.factor(samples), scenario.pace, timeline.host_step_s)
    return step_s(clocks) * timeline.scale


def refuse_empty(replayed: ReplayedStep, scenario: HostScenario, where: str) -> None:
    """Raise EstimatorError where a scenario leaves no time in a step."""
    if not replayed.step.total[0] > 0:
        raise EstimatorError(
            f"{where}: nothing of the step takes time with 'host {scenario.name}' and 'input {scenario.input}'; "
            "expected an op that a device runs; leave the host and the input in"
        )


def times_in_step(prediction: Prediction, timeline: StepTimeline, scenario: HostScenario) -> tuple[Floats, Floats]:
    """Samples of the time that each op takes on its lane, and of the launch in it (draws × ops) [s].

    Launched ahead, modelled streams hide a part of their launch. Another stack makes no op shorter than its floor.
    """
    ops, stack = prediction.ops, np.reshape(scenario.kernels, (-1, 1))
    stack = np.where(ops["op_class"] == "collective", 1.0, stack)  # another stack splits layers otherwise, not messages
    ahead = timeline.launches or scenario.other_stack
    streams = (ops["op_class"].isin(STREAMING) & ops["method"].isin(MODELLED) & ahead).to_numpy(dtype=bool)
    hidden_s = HIDDEN_LAUNCH * streams * prediction.launch
    own_s, present = prediction.samples - hidden_s, has_time(prediction, scenario)
    time_s = np.maximum(stack * own_s, np.minimum(prediction.floor_s, own_s))
    return time_s * present, stack * (prediction.launch - hidden_s) * present


def has_time(prediction: Prediction, scenario: HostScenario) -> Flags:
    """Whether each op takes time under a scenario."""
    return ~np.isin(part_of_ops(prediction.ops), scenario.left_out)


def counted_ops(prediction: Prediction, scenario: HostScenario) -> pd.DataFrame:
    """PREDICTION without the methods of ops that take no time under a scenario, as nothing is assumed of them."""
    return prediction.ops.assign(method=prediction.ops["method"].where(has_time(prediction, scenario)))


def _parts_s(part: Names, path: CriticalPath, critical_s: Floats, launch_s: Floats, pace: Floats) -> dict[str, Floats]:
    """Samples of the parts of a step [s]: of each op what is critical (draws × ops), and the launch part of that."""
    rest = critical_s - launch_s
    parts = {name: rest[:, part == name].sum(axis=1) for name in PARTS}
    parts["latency"] = launch_s.sum(axis=1) + path.start_s
    parts["host"] = parts["host"] + path.host_s * (pace / pace[0] if pace[0] > 0 else 1.0)
    return parts


def step_timeline(profile: Profile, prediction: Prediction, scenario: HostScenario, overlap: Floats) -> StepTimeline:
    """The timeline to replay: the framework's launches, the profile's own, or its ops in turn and its idle time."""
    timeline = _with_input(profile, prediction, scenario, overlap)
    is_input = part_of_ops(prediction.ops) == "input"
    return read_ahead(timeline, is_input) if scenario.input == "overlapped" else timeline


def _with_input(profile: Profile, prediction: Prediction, scenario: HostScenario, overlap: Floats) -> StepTimeline:
    """The timeline with input as it was profiled: what follows it waits for it."""
    ops, op_s = prediction.ops, prediction.samples[0]
    if scenario.dispatch_s is not None:
        by_host = np.isin(part_of_ops(ops), HOST_CLASSES)
        return dispatched(ops, op_s, overlap, by_host, scenario.dispatch_s)
    if profile.timeline is not None and not scenario.other_stack:  # a processor's threads are no streams
        return as_profiled(profile.timeline, ops["time_s"].to_numpy(dtype=float), op_s, source_step_time(profile))
    return in_turn(op_s, overlap, idle_time(profile))


def part_of_ops(ops: pd.DataFrame) -> Names:
    """The part of the step to which each op's time without launches belongs."""
    by_class = ops["op_class"].isin(MATRIX).map({True: "compute", False: "memory"})
    by_bound = ops["bound"].replace("latency", pd.NA).fillna(by_class).to_numpy(dtype=str)
    is_proportional = ops["method"] == "proportional"
    own = ops["op_class"].map(PART_OF_CLASS).mask(is_proportional & (ops["op_class"] == "host"), "unmodelled")
    part = np.where(is_proportional | (ops["method"] == "unchanged"), "unmodelled", by_bound)
    return np.asarray(np.where(own.isna(), part, own.fillna("").to_numpy(dtype=str)))


def sum_of_parts(*parts: Floats) -> Floats:
    """The time of one step [s] from its parts."""
    return np.asarray(sum(parts))


def matrix_time(prediction: Prediction, overlap: Floats) -> Floats:
    """Samples of the time of the step's matrix products and convolutions alone [s], as the lecture rolls up a pass."""
    matrix = prediction.ops["op_class"].isin(MATRIX).to_numpy()
    return np.asarray((overlap * prediction.samples)[:, matrix].sum(axis=1))


def target_overlap(prediction: Prediction, profile: Profile, target: DeviceSpec, same_setting: bool) -> Floats:
    """Share of each op's time by which it lengthens the step on the target.

    It is the source's share, but the step is never shorter than the target's peak and bandwidth allow. Ops that a
    processor's cores ran side by side run one after another on any other device, except those that go by their time
    there, as a core's share of the rates is the source's share too. With ``same_setting``, the source's shares are
    returned.
    """
    ops, own = prediction.ops, source_overlap(prediction.ops, profile)
    if same_setting:
        return own
    time = prediction.samples[0]
    share = _scaled_to(own, time, max(float(own @ time), float(prediction.floor_s.sum())))
    by_source_time = ops["method"].isin(["proportional", "unchanged"]).to_numpy(dtype=bool)
    serial = on_processor(ops) & ~by_source_time & (not target.is_processor)
    return np.where(serial, 1.0, share)


def evidence(prediction: Prediction, replayed: ReplayedStep, scenario: HostScenario) -> dict[str, float]:
    """The share of the step by method, the largest first; the host's time is unchanged, or the framework's dispatch."""
    host = "unchanged" if scenario.dispatch_s is None else "dispatch"
    of_op = replayed.overlap * prediction.samples[0]
    times = pd.Series(of_op).groupby(prediction.ops["method"].to_numpy()).sum()
    times[host] = times.get(host, 0.0) + max(float(replayed.step.total[0] - of_op.sum()), 0.0)
    shares = (times / (times.sum() or 1.0)).sort_values(ascending=False)
    return {str(method): float(share) for method, share in shares.items() if share > NEGLIGIBLE}


def mostly_proportional(prediction: Prediction) -> bool:
    """Whether most of the source's time has no usable shapes."""
    time, is_proportional = prediction.ops["time_s"], prediction.ops["method"] == "proportional"
    return bool(time[is_proportional].sum() > MUCH_PROPORTIONAL * time.sum())


def mostly_carried(shares: Mapping[str, float], target: DeviceSpec) -> tuple[Note, ...]:
    """A note where most of the predicted step is the source's own time, carried over."""
    share = shares.get("unchanged", 0.0)
    if share <= MUCH_CARRIED:
        return ()
    text = (
        f"most of the step on {target.name} is the source's own time, carried over unchanged (host, input and idle "
        "time): it tells more of the source than of the target"
    )
    return (Note("carried-mostly", text, subject=target.name, share=share),)


def notes(profile: Profile) -> tuple[Note, ...]:
    """A note where the ops explain little of the step."""
    share, ops = coverage(profile), float(profile.ops["time_s"].sum()) * overlap_factor(profile)
    if share is None or share >= LOW_COVERAGE:
        return ()
    times = f"wall {profile.wall_step_s:.3g} s, ops {ops:.3g} s"
    text = f"{profile.workload.name}: ops account for {100 * share:.0f} % of the step ({times}), the rest is carried"
    return (Note("step-coverage-low", text, subject=profile.workload.name, share=1.0 - share),)


def source_step_time(profile: Profile) -> float:
    """The source's own step [s]: its wall time where known, else the sum of its ops."""
    return profile.wall_step_s or float(profile.ops["time_s"].sum()) * overlap_factor(profile)


def source_overlap(ops: pd.DataFrame, profile: Profile) -> Floats:
    """Share of each op's time by which it lengthened the source's step.

    It is shared_s / time_s where the dump has shared times, else one factor for all ops, and 1 for ops that did not run
    there; the shares are scaled so that the ops together take the busy time.
    """
    time, shared = (ops[name].to_numpy(dtype=float, na_value=np.nan) for name in ("time_s", "shared_s"))
    factor = overlap_factor(profile)
    default = np.where(time > 0, factor, 1.0)
    share = np.divide(shared, time, out=default, where=(time > 0) & ~np.isnan(shared))
    return _scaled_to(share, time, factor * float(time.sum()))


def _scaled_to(share: Floats, time: Floats, total_s: float) -> Floats:
    """The shares of ops with these times [s], scaled so that Σ share × time = ``total_s``; none is above 1.

    Shares shrink by one factor, or grow by one fraction of 1 - share.
    """
    overlapped_s, serial_s = float(share @ time), float(time.sum())
    if total_s <= overlapped_s:
        return share * total_s / overlapped_s if overlapped_s > 0 else share
    if serial_s <= overlapped_s:
        return share
    return share + (1.0 - share) * min(1.0, (total_s - overlapped_s) / (serial_s - overlapped_s))


def overlap_factor(profile: Profile) -> float:
    """Busy time / sum of op times: below 1 where ops ran at once."""
    total = float(profile.ops["time_s"].sum())
    busy = min(profile.busy_step_s or total, profile.wall_step_s or total, total)
    return busy / total if total > 0 else 1.0


def idle_time(profile: Profile) -> float:
    """Wall time of the source's step in which no op ran [s]."""
    busy = float(profile.ops["time_s"].sum()) * overlap_factor(profile)
    return max((profile.wall_step_s or busy) - busy, 0.0)


def source_step(profile: Profile, work: pd.DataFrame) -> dict[str, float | None]:
    """The source's own step: overlap factor, coverage, idle time [s] and time of input ops [s]."""
    waiting = float(work.loc[work["op_class"] == "input", "time_s"].sum())
    idle = idle_time(profile) if profile.wall_step_s else None
    return {"overlap": overlap_factor(profile), "coverage": coverage(profile), "idle_s": idle, "input_s": waiting}


def coverage(profile: Profile) -> float | None:
    """Busy time / wall time of the source's step; None where the wall time is unknown."""
    if profile.wall_step_s is None:
        return None
    return 1 - idle_time(profile) / profile.wall_step_s
