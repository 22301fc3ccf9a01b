"""Op times → the time of one step and its parts, by a replay of its timeline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.physics import ratio
from estimator.core.schema import HOST_CLASSES, MATRIX, MODELLED, STREAMING
from estimator.core.types import Floats, Names, Prediction, Profile, StepTime
from estimator.core.units import show
from estimator.rollup.critical_path import CriticalPath, critical_path
from estimator.rollup.host import HostScenario
from estimator.rollup.parts import PARTS, part_of_ops, sum_of_parts
from estimator.rollup.source_step import coverage, idle_time, source_step_time, source_step_without
from estimator.rollup.target_timeline import StepTimeline, as_profiled, dispatched, in_turn, read_ahead
from estimator.rollup.timeline import replay, step_s

LEAST_COVERAGE = 0.02  # share of a processor's step that its ops explain; below it they tell nothing of other devices
HIDDEN_LAUNCH = 0.5  # share of a stream's launch latency; in public traces short ones take 2 (H100) to 4 us (MI300X)


@dataclass(frozen=True)
class ReplayedStep:
    """A replayed step."""

    step: StepTime
    kernels_s: Floats  # the step without the host's time and input
    overlap: Floats  # share of each op's time that lengthens the step
    running_s: Floats  # sum of the times of the device's ops, concurrent or not


def replay_step(prediction: Prediction, timeline: StepTimeline, scenario: HostScenario) -> ReplayedStep:
    """Replay a timeline with the samples of the ops' times, and the host of a scenario.

    The parts are those of the nominal step's critical path; in other draws each op on it counts as long as it takes
    there, and all parts in proportion to the step.
    """
    events, pace, host_step_s = timeline.events, scenario.pace, timeline.host_step_s
    part, (samples, launch_s) = part_of_ops(prediction.ops), times_in_step(prediction, timeline, scenario)
    factor = timeline.factor(samples)
    clocks = replay(events, factor, pace, host_step_s)
    path, total = critical_path(events, clocks, factor, pace, host_step_s), step_s(clocks) * timeline.scale
    share = ratio(path.of_op_s, samples[0], 0.0)
    parts = _parts_s(part, path, share, samples, launch_s, pace)
    growth = ratio(total, sum_of_parts(*parts.values()))
    step = StepTime(**{name: value * growth for name, value in parts.items()}, total=total)
    own_s = prediction.samples[0]  # with the launches that the replay hides
    overlap = ratio(share * samples[0] * growth[0], own_s)
    on_device = ~prediction.ops["op_class"].isin(HOST_CLASSES).to_numpy(dtype=bool)
    return ReplayedStep(step, kernels_time(prediction, timeline, samples), overlap, samples[:, on_device].sum(axis=1))


def kernels_time(prediction: Prediction, timeline: StepTimeline, op_s: Floats) -> Floats:
    """Samples of a step's kernels alone [s]: a replay with neither the host's time nor its ops, nor input.

    Args:
        prediction: the step's ops.
        timeline: their timeline.
        op_s: samples of the time that each op takes on its lane (draws × ops) [s].
    """
    factor = timeline.factor(op_s) * ~np.isin(part_of_ops(prediction.ops), HOST_CLASSES)
    clocks = replay(timeline.events, factor, np.zeros(len(op_s)), timeline.host_step_s)
    return step_s(clocks) * timeline.scale


def source_time(profile: Profile, prediction: Prediction, timeline: StepTimeline, scenario: HostScenario) -> float:
    """The source's own step as a scenario counts the target's [s].

    Where both replay the kernels of the profile's timeline alone, the source's times take the same gaps.
    """
    if "host" in scenario.left_out and profile.timeline is not None and not scenario.other_stack:
        own_s = prediction.ops["time_s"].to_numpy(dtype=float)[np.newaxis]
        return float(kernels_time(prediction, timeline, own_s)[0])
    return source_step_without(profile, prediction.ops, scenario.left_out)


def refuse_empty(replayed: ReplayedStep, scenario: HostScenario, where: str) -> None:
    """Raise EstimatorError where a scenario leaves no time in a step."""
    if not replayed.step.total[0] > 0:
        raise EstimatorError(
            f"{where}: nothing of the step takes time with 'host {scenario.name}' and 'input {scenario.input}'; "
            "expected an op that a device runs; leave the host and the input in"
        )


def refuse_unexplained(profile: Profile, scenario: HostScenario) -> None:
    """Raise EstimatorError where ops explain next to nothing of a processor's step, of which nothing else is kept."""
    share, drops_idle = coverage(profile), scenario.dispatch_s is not None or "host" in scenario.left_out
    if scenario.other_stack and drops_idle and share is not None and share < LEAST_COVERAGE:
        raise EstimatorError(
            f"{profile.where}: its ops account for {100 * share:.1f} % of a step of "
            f"{show(source_step_time(profile), 's', 3)}, which tell nothing of an accelerator; expected "
            f"{100 * LEAST_COVERAGE:.0f} % or more, so record the ops of the step, or keep the rest by --host profile"
        )


def times_in_step(prediction: Prediction, timeline: StepTimeline, scenario: HostScenario) -> tuple[Floats, Floats]:
    """Samples of the time that each op takes on its lane, and of the launch in it (draws × ops) [s].

    Launched ahead, modelled streams hide a part of their launch. Another stack makes no op shorter than its floor.
    """
    ops, stack = prediction.ops, np.reshape(scenario.kernels, (-1, 1))
    ahead = timeline.launches or scenario.other_stack
    streams = (ops["op_class"].isin(STREAMING) & ops["method"].isin(MODELLED) & ahead).to_numpy(dtype=bool)
    hidden = HIDDEN_LAUNCH * streams
    time_s = prediction.samples - hidden * prediction.launch
    least_s = np.minimum(prediction.floor_s, time_s)
    time_s *= stack  # in place: the tables of many draws are large
    np.maximum(time_s, least_s, out=time_s)
    launch_s = (1.0 - hidden) * prediction.launch
    launch_s *= stack
    return time_s, launch_s


def _parts_s(
    part: Names, path: CriticalPath, share: Floats, samples: Floats, launch_s: Floats, pace: Floats
) -> dict[str, Floats]:
    """Samples of the parts of a step [s], from the times of the ops, the launches in these, and their critical share.

    ``part``, ``share``: of each op; ``samples``, ``launch_s``: draws × ops [s].
    """
    of_parts = share[:, None] * (part[:, None] == np.array(PARTS))
    parts = dict(zip(PARTS, (samples @ of_parts - launch_s @ of_parts).T, strict=True))
    parts["latency"] = launch_s @ share + path.start_s
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


def matrix_time(prediction: Prediction, overlap: Floats, scenario: HostScenario) -> Floats:
    """Samples of the time of the step's matrix products and convolutions alone [s], as the lecture rolls up a pass."""
    matrix = prediction.ops["op_class"].isin(MATRIX).to_numpy()
    return np.asarray((overlap * prediction.samples)[:, matrix].sum(axis=1) * scenario.kernels)
