"""The two devices of a prediction, with their measurements and warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pandas as pd

from estimator.core import library, units
from estimator.core.errors import EstimatorError, suggestion
from estimator.core.notes import Note, with_code
from estimator.core.types import DeviceSpec, MeasuredDevice, Profile, RunPlan, Sourced
from estimator.devices.assumed_units import with_assumed_units
from estimator.devices.board import with_limit
from estimator.devices.measurements import read_measurements, with_measured
from estimator.devices.specs.announced import announcements, with_uncertainty
from estimator.devices.specs.catalogue import (
    DEVICE_FILES,
    load_device,
    load_system,
    measured_siblings,
    source_device,
    target_warnings,
)


@dataclass(frozen=True)
class Side:
    """A device with its MEASUREMENTS and notes; its launch latency is the measured one where there is one."""

    device: DeviceSpec
    measurements: pd.DataFrame = field(repr=False)
    notes: tuple[Note, ...] = ()
    #: measured devices of its architecture, a source itself among them, read where they are asked for; none where a
    #: table was given
    siblings: Callable[[], Sequence[MeasuredDevice]] = tuple


def planned_device(plan: RunPlan, name: str) -> DeviceSpec:
    """The device that a plan names: one that it gives itself, as its file would give it, else one of the catalogue.

    Raises EstimatorError where it is unknown, or its file cannot be read.
    """
    given = plan.given.get(name)
    if given is None:
        return load_device(name)
    return with_uncertainty(given) if given.announced else given


def load_target(plan: RunPlan) -> Side:
    """The target of a plan. Raises EstimatorError where it is unknown, or its files cannot be read."""
    device = with_assumed_units(with_limit(planned_device(plan, plan.target), plan.power_limit))
    system = load_system(plan.system) if plan.system else None
    network = plan.network or (system.network if system else None)
    if network:
        device = device.model_copy(update={"network": network})
    rows, left_out = read_measurements(device, plan.measurements, plan.target)
    notes = (
        *announcements(device, system),
        *_limit_note(device, plan.power_limit),
        *with_code("device-check", target_warnings(plan.given.get(plan.target, plan.target), device)),
        *with_code("measurements-left-out", left_out),
    )
    return Side(with_measured(device, rows), rows, notes, tuple if plan.measurements else siblings_of(device))


def _limit_note(device: DeviceSpec, in_machine: Sourced | None) -> tuple[Note, ...]:
    """A note where a device has the power limit of its machine."""
    if in_machine is None or device.power_limit != in_machine:
        return ()
    limit = units.show(in_machine.value, in_machine.unit, 3)
    text = f"the power limit of {device.name} is not known: {limit} are taken, a {in_machine.note}"
    return (Note("power-listed", text, subject=device.name),)


def siblings_of(device: DeviceSpec, *, alone: bool = False) -> Callable[[], Sequence[MeasuredDevice]]:
    """What reads the measured devices of a device's architecture; ``alone``: as in ``read_measurements``."""

    def read() -> list[MeasuredDevice]:
        return [each for other in measured_siblings(device) for each in _measured(other, alone=alone)]

    return read


def _measured(device: DeviceSpec, *, alone: bool = False) -> Iterator[MeasuredDevice]:
    """Yield a device with its measurements, unless these cannot be read: where it is the target, that is reported."""
    with suppress(EstimatorError):
        rows, _ = read_measurements(device, alone=alone)
        yield MeasuredDevice(with_assumed_units(with_measured(device, rows)), rows)


def load_source(profile: Profile, plan: RunPlan, target: Side, recorded: Sequence[DeviceSpec]) -> Side | None:
    """The device that a profile was taken on, as the plan, the profile or its profiler names it; None where none does.

    ``recorded``: the devices that it may have been taken on. Its measurements are used only where the target has some
    too. Raises EstimatorError as :func:`load_target` does.
    """
    stated = recorded[0] if len(recorded) == 1 else None
    device = planned_device(plan, plan.source) if plan.source else stated
    if device is None:
        return None
    # where nothing tells the limit of a source like the target, it ran within that of the target's machine
    of_target = target.device.power_limit if device.name == target.device.name else None
    device = with_assumed_units(with_limit(device, of_target))
    notes = (*_contradiction(profile, stated, device), *_by_numbers(profile, plan, device))

    def itself_and_siblings() -> list[MeasuredDevice]:
        rows, _ = read_measurements(device, named=plan.source)
        return [MeasuredDevice(with_measured(device, rows), rows), *siblings_of(device)()]

    if target.measurements.empty:
        return Side(device, target.measurements.iloc[:0], notes, itself_and_siblings)
    rows, left_out = read_measurements(device, named=plan.source)
    notes = (*notes, *with_code("measurements-left-out", left_out))
    return Side(with_measured(device, rows), rows, notes, itself_and_siblings)


def unknown_source(
    profile: Profile, plan: RunPlan, source: Side | None, recorded: Sequence[DeviceSpec], *, needed: bool
) -> tuple[Note, ...]:
    """A warning where the rates of the device that was profiled are unknown: it tells which source to give.

    ``recorded``: the devices that the profile may have been taken on. ``needed``: whether much of the step goes by
    these rates. Elsewhere only a device that the dump records counts.
    """
    if not profile.ran:
        return _unused(plan)
    candidates = [device.name for device in recorded] if source is None else []
    rates_are_known = source is not None and source.device.memory_bandwidth is not None
    only_recorded = not profile.device and bool(profile.device_recorded or candidates)
    if rates_are_known or not (needed or only_recorded):
        return ()
    name = source.device.name if source else profile.device or profile.device_recorded
    reason = f"the catalogue has no rates of '{name}'" if name else "the profile does not name its device"
    if candidates:
        reason = f"its device may be {' or '.join(candidates)}, by its compute units and memory"
    hint = suggestion(name, library.names("devices", DEVICE_FILES)) if name else ""
    advice = f"give that device, or the one nearest to it, by --from DEVICE ('estimator devices' lists all).{hint}"
    text = f"times cannot be scaled from the profiled device, as {reason}: {advice}"
    return (Note("source-unknown", text, name or "", 1.0 if needed else 0.0),)


def _unused(plan: RunPlan) -> tuple[Note, ...]:
    """A note where a plan names the device of a profile of which nothing ran."""
    text = f"nothing ran in this profile, so it holds no times of {plan.source}: '--from' is left out"
    return (Note("source-unused", text, plan.source),) if plan.source else ()


def _by_numbers(profile: Profile, plan: RunPlan, device: DeviceSpec) -> tuple[Note, ...]:
    """A note where the source is known by its numbers alone."""
    if plan.source or source_device(profile.device or profile.device_recorded):
        return ()
    text = f"the profile is taken to be of {device.name}, by the compute units and memory that it states"
    return (Note("source-by-numbers", text, subject=device.name),)


def _contradiction(profile: Profile, stated: DeviceSpec | None, source: DeviceSpec) -> tuple[Note, ...]:
    """A note where a profile states another device than the source that it is taken to be of."""
    if stated is None or stated.name == source.name:
        return ()
    text = f"the profile of {profile.workload.name} names {stated.name} as its device; the given {source.name} is used"
    return (Note("source-contradicted", text, subject=source.name),)
