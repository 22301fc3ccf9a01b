"""The two devices of a prediction, with their measurements and warnings."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from estimator.core import library
from estimator.core.errors import suggestion
from estimator.core.notes import Note, with_code
from estimator.core.types import DeviceSpec, Profile, RunPlan
from estimator.devices.measurements import read_measurements, with_launch
from estimator.devices.specs.catalogue import DEVICE_FILES, load_device, source_device, target_warnings


@dataclass(frozen=True)
class Side:
    """A device with its MEASUREMENTS and notes; its launch latency is the measured one where there is one."""

    device: DeviceSpec
    measurements: pd.DataFrame = field(repr=False)
    notes: tuple[Note, ...] = ()


def load_target(plan: RunPlan) -> Side:
    """The target of a plan. Raises EstimatorError where it is unknown, or its files cannot be read."""
    device = load_device(plan.target)
    rows, left_out = read_measurements(device, plan.measurements, plan.target)
    notes = (
        *with_code("device-check", target_warnings(plan.target, device)),
        *with_code("measurements-left-out", left_out),
    )
    return Side(with_launch(device, rows), rows, notes)


def load_source(profile: Profile, plan: RunPlan, target: Side) -> Side | None:
    """The device that a profile was taken on, as the plan, the profile or its profiler names it; None where none does.

    Its measurements are used only where the target has some too. Raises EstimatorError as :func:`load_target` does.
    """
    stated = source_device(profile.device or profile.device_recorded)
    device = load_device(plan.source) if plan.source else stated
    if device is None:
        return None
    notes = _contradiction(profile, stated, device)
    if target.measurements.empty:
        return Side(device, target.measurements.iloc[:0], notes)
    rows, left_out = read_measurements(device, named=plan.source)
    return Side(with_launch(device, rows), rows, (*notes, *with_code("measurements-left-out", left_out)))


def unknown_source(profile: Profile, source: Side | None, *, decides: bool) -> tuple[Note, ...]:
    """A warning on which source to give, where nothing tells the rates of the device that was profiled.

    ``decides``: whether most of the step goes by these rates. Where it does not, only a name of the profiler's that the
    catalogue does not hold is worth one.
    """
    is_named = source is not None or profile.device is not None
    if (source and source.device.memory_bandwidth) or not (decides or (profile.device_recorded and not is_named)):
        return ()
    name = source.device.name if source else profile.device or profile.device_recorded or ""
    known = f"the catalogue has no rates of '{name}'" if name else "the profile does not name it"
    hint = suggestion(name, library.names("devices", DEVICE_FILES)) if name else ""
    text = f"nothing tells the rates of the device that was profiled, as {known}"
    weight = ", and most of this step's times go by them" if decides else ""
    advice = f"give that device, or the one nearest to it, by --from DEVICE ('estimator devices' lists all).{hint}"
    return (Note("source-unknown", f"{text}{weight}: {advice}", name, float(decides)),)


def _contradiction(profile: Profile, stated: DeviceSpec | None, source: DeviceSpec) -> tuple[Note, ...]:
    """A note where a profile states another device than the source that it is taken to be of."""
    if stated is None or stated.name == source.name:
        return ()
    text = f"the profile of {profile.workload.name} says that it was taken on {stated.name}; {source.name} is believed"
    return (Note("source-contradicted", text, subject=source.name),)
