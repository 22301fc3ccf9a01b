"""The power of a device whose own limit is unknown, from the power that a list gives for the whole machine."""

from __future__ import annotations

from dataclasses import dataclass, replace

from estimator.core.interval import draw
from estimator.core.notes import Note, ranked
from estimator.core.types import DeviceSpec, Estimate, Floats, RunPlan, Sourced, SystemSpec
from estimator.devices.board import power_limit
from estimator.model import peak_times
from estimator.model.coefficients import shipped
from estimator.rollup import power
from estimator.rollup.step import ReplayedStep


@dataclass(frozen=True)
class PowerLimit:
    """The power limit of a device in its machine, samples of a factor on all power below it, and notes on both."""

    watts: Sourced
    factor: Floats | float = 1.0
    notes: tuple[Note, ...] = ()


def limit_in(system: SystemSpec | None, device: DeviceSpec, plan: RunPlan) -> PowerLimit | None:
    """The power limit of a device: its own, else by the listed power of its machine; None where neither is known."""
    own, listed = power_limit(device), power.listed_limit(system)
    if own is not None:
        return PowerLimit(own)
    if system is None or listed is None:
        return None
    factor = draw(f"power/listed/{system.name}", *power.listed_range(), plan.draws, plan.seed)
    text = f"the power limit of {device.name} is not known: {listed.value:.0f} W are derived from the listed power of "
    return PowerLimit(listed, factor, (Note("power-listed", f"{text}{system.name}", subject=device.name),))


def with_listed_power(estimated: Estimate, system: SystemSpec | None) -> Estimate:
    """The estimate with its device's power; unchanged where that is known, or no list tells the machine's."""
    device, plan, ops = estimated.target, estimated.plan, estimated.prediction.ops
    known = limit_in(system, device, plan)
    if estimated.power_limit is not None or known is None:
        return estimated
    replayed = ReplayedStep(estimated.step, estimated.kernels_s, estimated.overlap, estimated.running_s)
    times_s, coefficients = peak_times(ops, device), shipped().power
    power_w = power.step_power(
        estimated.prediction, replayed, times_s, device, known.watts, coefficients, plan, estimated.repeats
    )
    notes = ranked((*estimated.notes, *known.notes))
    return replace(estimated, power_limit=known.watts, power_w=power_w * known.factor, notes=notes)
