"""What a step's time stands on: its shares by method, and notes where that is little."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from estimator.core import units
from estimator.core.notes import Note
from estimator.core.types import DeviceSpec, Prediction, Profile, RunPlan
from estimator.rollup.host import CARRIED, HostScenario
from estimator.rollup.parts import part_of_ops
from estimator.rollup.source_step import idle_time
from estimator.rollup.step import ReplayedStep, times_in_step
from estimator.rollup.target_timeline import StepTimeline

MUCH_CARRIED = 0.5  # carried share of the predicted step above which the report warns
MUCH_PROPORTIONAL = 0.5  # proportional share of the source's time above which its device should be known
FASTER = 0.99  # share of the step below which another scenario's is worth a note
NEGLIGIBLE = 1e-9  # share of a step that rounding makes


def evidence_shares(prediction: Prediction, replayed: ReplayedStep, scenario: HostScenario) -> dict[str, float]:
    """The share of the step by method, the largest first.

    The host's time is the framework's dispatch; or carried, as the scenario takes it; or unchanged on the same host.
    """
    carried = "unchanged" if scenario.host_ops is None else CARRIED
    host = carried if scenario.dispatch_s is None else "dispatch"
    of_op = replayed.overlap * prediction.samples[0]
    times = pd.Series(of_op).groupby(prediction.ops["method"].to_numpy()).sum()
    times[host] = times.get(host, 0.0) + max(float(replayed.step.total[0] - of_op.sum()), 0.0)
    shares = (times / (times.sum() or 1.0)).sort_values(ascending=False)
    return {str(method): float(share) for method, share in shares.items() if share > NEGLIGIBLE}


def carried_share(shares: Mapping[str, float]) -> float:
    """The share of a step that is the source's own time of the host and of input, as it was or scaled."""
    return shares.get("unchanged", 0.0) + shares.get(CARRIED, 0.0)


def mostly_carried(shares: Mapping[str, float], target: DeviceSpec) -> tuple[Note, ...]:
    """A note where most of the predicted step is the source's own time, carried over."""
    share = carried_share(shares)
    if share <= MUCH_CARRIED:
        return ()
    text = (
        f"most of the step on {target.name} is the source's own time, carried over (host, input and idle time): it "
        "tells more of the source than of the target"
    )
    return (Note("carried-mostly", text, subject=target.name, share=share),)


def mostly_dispatch(shares: Mapping[str, float], replayed: ReplayedStep, target: DeviceSpec) -> tuple[Note, ...]:
    """A note where the assumed launches of the framework decide most of the predicted step."""
    share, kernels = shares.get("dispatch", 0.0), float(replayed.kernels_s[0] / replayed.step.total[0])
    if share <= MUCH_CARRIED:
        return ()
    headline = (
        "the step mostly waits for the framework's launches, the same on every device; 'host: none' compares devices"
    )
    details = f" (launches: {100 * share:.0f} % of the step on {target.name}; kernels alone take {100 * kernels:.0f} %)"
    return (Note("dispatch-mostly", headline + details, subject=target.name, details=details),)


def mostly_proportional(prediction: Prediction) -> bool:
    """Whether most of the source's time has no usable shapes."""
    time, is_proportional = prediction.ops["time_s"], prediction.ops["method"] == "proportional"
    return bool(time[is_proportional].sum() > MUCH_PROPORTIONAL * time.sum())


def host_notes(
    profile: Profile,
    prediction: Prediction,
    timeline: StepTimeline,
    replayed: ReplayedStep,
    scenario: HostScenario,
    plan: RunPlan,
) -> tuple[Note, ...]:
    """Notes where the scenario of the host has nothing to go by, or makes more of it than the profile does."""
    if plan.host is not None:
        return () if _has_host(prediction, timeline) else (_nothing_of_a_host(plan),)
    if scenario.dispatch_s is None or scenario.input == "overlapped" or not profile.ran:
        return ()
    times_s = times_in_step(prediction, timeline, scenario)[0][0]
    in_turn_s = float(timeline.durations_s(times_s).sum()) + idle_time(profile)
    return (_slower_than_profile(in_turn_s),) if in_turn_s < FASTER * float(replayed.step.total[0]) else ()


def _has_host(prediction: Prediction, timeline: StepTimeline) -> bool:
    """Whether a timeline holds any time of a host, or the source ran any op of one."""
    ops = prediction.ops
    by_host = (part_of_ops(ops) == "host") & (ops["time_s"] > 0).to_numpy(dtype=bool)
    return timeline.holds_host or bool(by_host.any())


def _nothing_of_a_host(plan: RunPlan) -> Note:
    host = f"{plan.host:g}" if isinstance(plan.host, float) else plan.host
    return Note("host-absent", f"the dump records no host time, so 'host {host}' changes nothing")


def _slower_than_profile(seconds: float) -> Note:
    """``seconds``: of a step with the processor's idle time behind its ops."""
    text = "with 'host profile' (the processor's idle time in place of the framework's launches) the step would take "
    return Note("dispatch-slower", f"{text}only {units.show(seconds, 's', 3)}")
