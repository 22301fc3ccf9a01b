"""What the host of the target's step does: a declared scenario, never carried silently.

An accelerator's profile shows the pace at which its host launched; another host is taken to keep it, more or less. What
a processor did between its ops, and its framework around them, is no guide to an accelerator's host: there the
framework's dispatch stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from estimator.core.frameworks import framework_of
from estimator.core.interval import bounds, draw
from estimator.core.notes import Note
from estimator.core.scenarios import InputWord
from estimator.core.schema import on_processor
from estimator.core.types import DeviceSpec, Flags, Floats, Prediction, Profile, RunPlan, Workload
from estimator.rollup.parts import part_of_ops

# times the pace of a profile's host that another host has, nine times of ten; as much of its input pipeline. Chosen so
# that trainings which wait for their host most lie in their intervals on four servers ('estimator validate --problem
# energy')
PACE = (0.5, 1.0, 2.0)
# times the pace of a profile's host that the same host has without a profiler, which slows what it records: of 16
# trainings in PyTorch on an H100 whose device was busy for less than 0.7 of the profiled step, those without a profiler
# took 0.46 to 1.03 of it (own measurements, as those in tests/data/pytorch_steps)
UNPROFILED = (0.45, 1.0, 1.05)
CARRIED, LEFT_OUT = "carried", "none"  # methods of ops of the host and of input that a scenario changes
DISPATCH_S = {  # assumed: time between two launches of a framework's host, low, mid and high [s]
    "tensorflow": (2e-6, 6e-6, 20e-6),  # a graph's executor; from memory
    # op by op: in 21 public traces, with the profiler's own time, 5 to 113 us nine times of ten, with a median of 54;
    # GPT of small products on A100 takes 47, without a profiler ('estimator validate --problem megatron')
    "torch": (8e-6, 45e-6, 110e-6),
    "jax": (1e-6, 3e-6, 10e-6),  # a compiled program; from memory
    "other": (2e-6, 12e-6, 110e-6),
}
# times a step's kernels, as an accelerator's stack splits layers otherwise: so that nine in ten published steps of
# Keras networks lie in their intervals, four families with equal weight ('estimator validate --problem networks')
OTHER_STACK = (0.63, 1.0, 1.6)


@dataclass(frozen=True)
class HostScenario:
    """How long the host takes, and what becomes of input. Arrays have one number a draw."""

    name: str
    pace: Floats  # how many times as long the host takes as the timeline says
    dispatch_s: float | None = None  # nominal time between two launches [s], where it stands for the profile's host
    other_stack: bool = False  # whether an accelerator's stack launches what a processor ran, or what never ran
    kernels: Floats | float = 1.0  # factor on the times of all ops; 1 unless another stack ran them, or none did
    host_ops: Floats | None = None  # what the host's own ops take, over the profile's; None: its own time
    input_ops: Floats | None = None  # the same of the ops that read input
    input: InputWord = "carried"
    notes: tuple[Note, ...] = ()

    @property
    def left_out(self) -> tuple[str, ...]:
        """The parts of a step that take no time."""
        parts = {"host": not self.pace.any(), "input": self.input == "none"}
        return tuple(part for part, is_left_out in parts.items() if is_left_out)

    @property
    def factors(self) -> dict[str, Floats]:
        """What the ops of the host and of input take, as multiples of the profile's, where it is not its own time."""
        given = {"host": self.host_ops, "input": self.input_ops}
        return {part: factor for part, factor in given.items() if factor is not None}


def host_scenario(
    profile: Profile, source: DeviceSpec | None, target: DeviceSpec, plan: RunPlan, run: Floats, same_device: bool
) -> HostScenario:
    """The scenario that a plan asks for; by default what suits the profile and the target.

    ``run``: by how much another run of the source would take longer, one number a draw.
    """
    other_stack = (ran_on_processor(profile, source) or not profile.ran) and not target.is_processor
    same_host = same_device and not isinstance(plan.host, float)
    framework = framework_dispatch(profile.workload) if other_stack and plan.host != "profile" else None
    name, notes = _name(plan, framework), [*_host_notes(plan, framework, other_stack, profile.ran), *_input_notes(plan)]
    return HostScenario(
        name,
        pace=np.zeros_like(run) if plan.host == "none" else _pace(profile, plan, framework, run, same_host),
        dispatch_s=framework.interval_s[1] if framework else None,
        other_stack=other_stack,
        kernels=draw("step.stack", *OTHER_STACK, plan.draws, plan.seed) if other_stack or not profile.ran else 1.0,
        host_ops=_host_ops(plan, framework, other_stack, same_host),
        input_ops=None if same_device else _of_another("input.pace", plan, other_stack),
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


def in_scenario(prediction: Prediction, scenario: HostScenario) -> Prediction:
    """The prediction with the ops of the host and of input as a scenario takes them; all others as they are."""
    part, ops = part_of_ops(prediction.ops), prediction.ops
    factors = scenario.factors | dict.fromkeys(scenario.left_out, np.zeros(1))
    if not np.isin(part, list(factors)).any():
        return prediction
    samples, launch, ceiling_s = prediction.samples.copy(), prediction.launch.copy(), prediction.ceiling_s.copy()
    for name, factor in factors.items():
        rows = part == name
        samples[:, rows] *= factor[:, None]
        launch[:, rows] *= factor[:, None]
        low, mid, high = bounds(samples[:, rows])
        ends = {"low_s": np.where(high > low, low, np.nan), "high_s": np.where(high > low, high, np.nan)}
        method = CARRIED if factor.any() else LEFT_OUT
        ops = _with_values(ops, rows, {"target_time_s": mid, **ends, "method": method})
        ceiling_s[rows] = high
    return replace(prediction, ops=ops, samples=samples, launch=launch, ceiling_s=ceiling_s)


def _with_values(ops: pd.DataFrame, rows: Flags, values: Mapping[str, Floats | str]) -> pd.DataFrame:
    """The table with values of some of its rows replaced."""
    changed = ops.copy()
    for name, value in values.items():
        changed.loc[rows, name] = value
    return changed


@dataclass(frozen=True)
class FrameworkDispatch:
    """A framework, and the interval of the time between two of its launches [s]: low, mid and high."""

    framework: str
    interval_s: tuple[float, float, float]


def framework_dispatch(workload: Workload) -> FrameworkDispatch:
    """How a workload's framework launches ops on an accelerator."""
    return FrameworkDispatch(workload.framework or "the framework", DISPATCH_S[framework_of(workload.framework)])


def _pace(profile: Profile, plan: RunPlan, framework: FrameworkDispatch | None, run: Floats, same_host: bool) -> Floats:
    """How many times as long the host takes, one number a draw."""
    if framework:
        launches = draw("host.dispatch", *framework.interval_s, plan.draws, plan.seed)
        return _factor(plan) * launches / framework.interval_s[1]
    if same_host and profile.timeline is None:
        return run
    return _factor(plan) * run * draw("host.pace", *(UNPROFILED if same_host else PACE), plan.draws, plan.seed)


def _host_ops(plan: RunPlan, framework: FrameworkDispatch | None, other_stack: bool, same_host: bool) -> Floats | None:
    """What the host's own ops take, as multiples of the profile's; None where they take its own.

    A framework's launches hold what its host does around them: nothing is left of a processor's.
    """
    if framework:
        return np.zeros(1 + plan.draws)
    return None if same_host else _factor(plan) * _of_another("host.pace", plan, other_stack)


def _factor(plan: RunPlan) -> float:
    """How many times as long the host takes by a plan."""
    return plan.host if isinstance(plan.host, float) else 1.0


def _of_another(stream: str, plan: RunPlan, other_stack: bool) -> Floats:
    """The pace of another host, one number a draw; another stack has its own interval, that of all ops."""
    return np.ones(1 + plan.draws) if other_stack else draw(stream, *PACE, plan.draws, plan.seed)


def _name(plan: RunPlan, framework: FrameworkDispatch | None) -> str:
    if plan.host == "none":
        return "none"
    name = "dispatch" if framework else "profile"
    return f"{name} × {plan.host:g}" if isinstance(plan.host, float) and plan.host != 1.0 else name


def _host_notes(plan: RunPlan, framework: FrameworkDispatch | None, other_stack: bool, ran: bool) -> Iterator[Note]:
    """What the host does, where it is not that of an accelerator's profile."""
    if plan.host == "none":
        yield Note("host-none", "no host: kernels alone, without host ops")
    elif framework:
        low, mid, high = (1e6 * each for each in framework.interval_s)
        text = f"{framework.framework} launches an op every {mid:g} us (assumed, {low:g} to {high:g})"
        factor = f", times {plan.host:g}" if isinstance(plan.host, float) else ""
        reason = (
            "the processor's idle time and its host ops are dropped" if ran else "nothing ran, so no host was profiled"
        )
        yield Note("host-dispatch", f"{reason}; {text}{factor}")
    elif other_stack and ran:
        text = "the host takes the processor's idle time, in which no op ran, after the device's ops"
        yield Note("host-profile", text)


def _input_notes(plan: RunPlan) -> Iterator[Note]:
    """What becomes of input, where the plan says so."""
    if plan.input == "overlapped":
        yield Note("input-overlapped", "the next step's input is read beside this step: the longer of the two counts")
    if plan.input == "none":
        yield Note("input-none", "no input: the ops that read it take no time")
