"""What the host of the target's step does: a declared scenario, never carried silently.

An accelerator's profile shows the pace at which its host launched; another host is taken to keep it, more or less. What
a processor did beside its ops says nothing of an accelerator's host: there the framework's dispatch stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from estimator.core.interval import draw
from estimator.core.notes import Note
from estimator.core.schema import on_processor
from estimator.core.types import DeviceSpec, Floats, InputTime, Profile, RunPlan

PACE = (0.6, 1.0, 1.6)  # assumed: times the pace of a profile's host that another host has, nine times of ten
DISPATCH_S = {  # assumed: time between two launches of a framework's host, low, mid and high [s]
    "tensorflow": (2e-6, 6e-6, 20e-6),  # a graph's executor; from memory
    "torch": (5e-6, 12e-6, 45e-6),  # op by op; under its profiler, public traces have a median of 45 us
    "jax": (1e-6, 3e-6, 10e-6),  # a compiled program; from memory
}
ANY_FRAMEWORK = (2e-6, 8e-6, 45e-6)
# times a step's kernels, as an accelerator's stack splits layers otherwise: so that nine in ten published steps of
# Keras networks lie in their intervals, each of four families counted alike ('estimator validate --problem networks')
OTHER_STACK = (0.63, 1.0, 1.6)


@dataclass(frozen=True)
class HostScenario:
    """How long the host takes, in every draw, as a multiple of what the timeline says.

    ``dispatch_s`` is the nominal time between two launches [s], where it stands in place of the profile's host;
    ``kernels`` is what all ops take longer there, as the profile shows another stack's ops. ``input`` says what becomes
    of the time of input ops.
    """

    name: str
    pace: Floats
    dispatch_s: float | None = None
    kernels: Floats | float = 1.0
    input: InputTime = "carried"
    notes: tuple[Note, ...] = ()

    @property
    def without_host(self) -> bool:
        """Whether the step is kernels alone."""
        return not self.pace.any()


def host_scenario(
    profile: Profile, source: DeviceSpec | None, target: DeviceSpec, plan: RunPlan, run: Floats, same_device: bool
) -> HostScenario:
    """The scenario that a plan asks for; by default what suits the profile and the target.

    ``run``: by how much another run of the source would take longer, one number a draw.
    """
    if plan.host != "profile" and ran_on_processor(profile, source) and not target.is_processor:
        return _dispatch(profile, plan)
    factor = _factor(plan)
    spread = run if same_device else run * draw("host.pace", *PACE, plan.draws, plan.seed)
    return HostScenario(_named("profile", factor), factor * spread, input=plan.input, notes=_without_host(factor))


def _factor(plan: RunPlan) -> float:
    """How many times as long the host takes."""
    if plan.host == "none":
        return 0.0
    return plan.host if isinstance(plan.host, float) else 1.0


def _named(what: str, factor: float) -> str:
    """The scenario in words, such as ``profile × 0.5``."""
    if factor == 0.0:
        return "none"
    return what if factor == 1.0 else f"{what} × {factor:g}"


def _without_host(factor: float) -> tuple[Note, ...]:
    return () if factor else (Note("host-none", "no host: kernels alone"),)


def ran_on_processor(profile: Profile, source: DeviceSpec | None) -> bool:
    """Whether a profile's source is a processor; of an unknown source, whether processors ran most of its ops' time."""
    if source is not None:
        return source.is_processor
    return bool(profile.ops["time_s"][on_processor(profile.ops)].sum() > 0.5 * profile.ops["time_s"].sum())


def _dispatch(profile: Profile, plan: RunPlan) -> HostScenario:
    framework = profile.workload.framework or ""
    name = next((name for name in DISPATCH_S if name in framework.lower()), "")
    low, mid, high = DISPATCH_S.get(name, ANY_FRAMEWORK)
    factor = _factor(plan)
    text = (
        f"the processor's idle time is dropped; {framework or 'the framework'} launches an op every {mid * 1e6:g} us "
        f"(assumed, {low * 1e6:g} to {high * 1e6:g})"
    )
    pace = factor * draw("host.dispatch", low, mid, high, plan.draws, plan.seed) / mid
    kernels = draw("step.stack", *OTHER_STACK, plan.draws, plan.seed)
    notes = _without_host(factor) or (Note("host-dispatch", text),)
    return HostScenario(_named("dispatch", factor), pace, mid, kernels, plan.input, notes)
