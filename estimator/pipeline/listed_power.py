"""The power of a device whose own limit is unknown, from the power that a list gives for the whole machine."""

from __future__ import annotations

from dataclasses import replace

from estimator.core.interval import draw
from estimator.core.notes import Note, ranked
from estimator.core.types import Estimate, SystemSpec
from estimator.model import peak_times
from estimator.model.coefficients import shipped
from estimator.rollup import power
from estimator.rollup.step import ReplayedStep


def with_listed_power(estimated: Estimate, system: SystemSpec | None) -> Estimate:
    """The estimate with its device's power; unchanged where that is known, or no list tells the machine's."""
    limit = power.listed_limit(system)
    if estimated.power_limit is not None or system is None or limit is None:
        return estimated
    device, plan, ops = estimated.target, estimated.plan, estimated.prediction.ops
    replayed = ReplayedStep(estimated.step, estimated.kernels_s, estimated.overlap, estimated.running_s)
    times_s, coefficients = peak_times(ops, device), shipped().power
    power_w = power.step_power(
        estimated.prediction, replayed, times_s, device, limit, coefficients, plan, estimated.repeats
    )
    factor = draw(f"power/listed/{system.name}", *power.listed_range(), plan.draws, plan.seed)
    text = f"the power limit of {device.name} is not known: {limit.value:.0f} W are derived from the listed power of "
    note = Note("power-listed", f"{text}{system.name}", subject=device.name)
    return replace(estimated, power_limit=limit, power_w=power_w * factor, notes=ranked((*estimated.notes, note)))
