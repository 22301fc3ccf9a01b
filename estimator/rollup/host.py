"""What the host of the target's step does: a declared scenario, never carried silently.

An accelerator's profile shows the pace at which its host launched; another host is taken to keep it, more or less. What
a processor did beside its ops says nothing of an accelerator's host: there the framework's dispatch stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from estimator.core.interval import draw
from estimator.core.notes import Note
from estimator.core.scenarios import InputWord
from estimator.core.schema import on_processor
from estimator.core.types import DeviceSpec, Floats, Profile, RunPlan, Workload

PACE = (0.6, 1.0, 1.6)  # assumed: times the pace of a profile's host that another host has, nine times of ten
DISPATCH_S = {  # assumed: time between two launches of a framework's host, low, mid and high [s]
    "tensorflow": (2e-6, 6e-6, 20e-6),  # a graph's executor; from memory
    "torch": (5e-6, 12e-6, 45e-6),  # op by op; under its profiler, public traces have a median of 45 us
    "jax": (1e-6, 3e-6, 10e-6),  # a compiled program; from memory
}
ANY_FRAMEWORK = (2e-6, 8e-6, 45e-6)
# times a step's kernels, as an accelerator's stack splits layers otherwise: so that nine in ten published steps of
# Keras networks lie in their intervals, four families with equal weight ('estimator validate --problem networks')
OTHER_STACK = (0.63, 1.0, 1.6)


@dataclass(frozen=True)
class HostScenario:
    """How long the host takes, in every draw, as a multiple of what the timeline says, and what becomes of input.

    ``dispatch_s`` is the nominal time between two launches [s], where it stands in place of the profile's host.
    ``other_stack``: an accelerator's stack launches what a processor ran, ahead of the device; ``kernels`` is what all
    ops take longer there, as the profile shows another stack's ops.
    """

    name: str
    pace: Floats
    dispatch_s: float | None = None
    other_stack: bool = False
    kernels: Floats | float = 1.0
    input: InputWord = "carried"
    notes: tuple[Note, ...] = ()

    @property
    def left_out(self) -> tuple[str, ...]:
        """The parts of a step that take no time."""
        parts = {"host": not self.pace.any(), "input": self.input == "none"}
        return tuple(part for part, is_left_out in parts.items() if is_left_out)


def host_scenario(
    profile: Profile, source: DeviceSpec | None, target: DeviceSpec, plan: RunPlan, run: Floats, same_device: bool
) -> HostScenario:
    """The scenario that a plan asks for; by default what suits the profile and the target.

    ``run``: by how much another run of the source would take longer, one number a draw.
    """
    other_stack = ran_on_processor(profile, source) and not target.is_processor
    framework = framework_dispatch(profile.workload) if other_stack and plan.host != "profile" else None
    name, notes = _name(plan, framework), [*_host_notes(plan, framework, other_stack), *_input_notes(plan)]
    return HostScenario(
        name,
        pace=np.zeros_like(run) if plan.host == "none" else _pace(plan, framework, run, same_device),
        dispatch_s=framework.interval_s[1] if framework else None,
        other_stack=other_stack,
        kernels=draw("step.stack", *OTHER_STACK, plan.draws, plan.seed) if other_stack else 1.0,
        input=plan.input or ("none" if plan.host == "none" else "carried"),
        notes=tuple(notes),
    )


def ran_on_processor(profile: Profile, source: DeviceSpec | None) -> bool:
    """Whether a profile's source is a processor, as its specification says.

    Where that does not say what its units are, and where the source is unknown: whether processors ran most of the
    ops' time.
    """
    if source is not None and source.compute_unit is not None:
        return source.is_processor
    return bool(profile.ops["time_s"][on_processor(profile.ops)].sum() > 0.5 * profile.ops["time_s"].sum())


@dataclass(frozen=True)
class FrameworkDispatch:
    """A framework, and the interval of the time between two of its launches [s]: low, mid and high."""

    framework: str
    interval_s: tuple[float, float, float]


def framework_dispatch(workload: Workload) -> FrameworkDispatch:
    """How a workload's framework launches ops on an accelerator."""
    framework = workload.framework or ""
    name = next((name for name in DISPATCH_S if name in framework.lower()), "")
    return FrameworkDispatch(framework or "the framework", DISPATCH_S.get(name, ANY_FRAMEWORK))


def _pace(plan: RunPlan, framework: FrameworkDispatch | None, run: Floats, same_device: bool) -> Floats:
    """How many times as long the host takes, one number a draw."""
    factor = plan.host if isinstance(plan.host, float) else 1.0
    if framework:
        return factor * draw("host.dispatch", *framework.interval_s, plan.draws, plan.seed) / framework.interval_s[1]
    return factor * (run if same_device else run * draw("host.pace", *PACE, plan.draws, plan.seed))


def _name(plan: RunPlan, framework: FrameworkDispatch | None) -> str:
    if plan.host == "none":
        return "none"
    name = "dispatch" if framework else "profile"
    return f"{name} × {plan.host:g}" if isinstance(plan.host, float) and plan.host != 1.0 else name


def _host_notes(plan: RunPlan, framework: FrameworkDispatch | None, other_stack: bool) -> Iterator[Note]:
    """What the host does, where it is not that of an accelerator's profile."""
    if plan.host == "none":
        yield Note("host-none", "no host: kernels alone, without its ops")
    elif framework:
        low, mid, high = (1e6 * each for each in framework.interval_s)
        text = f"{framework.framework} launches an op every {mid:g} us (assumed, {low:g} to {high:g})"
        factor = f", times {plan.host:g}" if isinstance(plan.host, float) else ""
        yield Note("host-dispatch", f"the processor's idle time is dropped; {text}{factor}")
    elif other_stack:
        text = "the host takes the processor's idle time, in which none of its ops ran, after the device's ops"
        yield Note("host-profile", text)


def _input_notes(plan: RunPlan) -> Iterator[Note]:
    """What becomes of input, where the plan says so."""
    if plan.input == "overlapped":
        yield Note("input-overlapped", "the next step's input is read beside this step: the longer of the two counts")
    if plan.input == "none":
        yield Note("input-none", "no input: the ops that read it take no time")
