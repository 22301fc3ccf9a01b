"""The two devices of a prediction, with their measurements and warnings."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from estimator.core.notes import Note, with_code
from estimator.core.types import DeviceSpec, Profile, RunPlan
from estimator.devices.measurements import read_measurements, with_launch
from estimator.devices.specs.catalogue import load_device, source_device, target_warnings


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
    """The device that a profile was taken on, as the plan or the profile names it; None where neither does.

    Its measurements are used only where the target has some too. Raises EstimatorError as :func:`load_target` does.
    """
    stated = source_device(profile.device)
    device = load_device(plan.source) if plan.source else stated
    if device is None:
        return None
    notes = _contradiction(profile, stated, device)
    if target.measurements.empty:
        return Side(device, target.measurements.iloc[:0], notes)
    rows, left_out = read_measurements(device, named=plan.source)
    return Side(with_launch(device, rows), rows, (*notes, *with_code("measurements-left-out", left_out)))


def _contradiction(profile: Profile, stated: DeviceSpec | None, source: DeviceSpec) -> tuple[Note, ...]:
    """A note where a profile states another device than the source that it is taken to be of."""
    if stated is None or stated.name == source.name:
        return ()
    text = f"the profile of {profile.workload.name} says that it was taken on {stated.name}; {source.name} is believed"
    return (Note("source-contradicted", text, subject=source.name),)
