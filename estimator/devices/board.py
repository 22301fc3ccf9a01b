"""The power limit of a device: its own, its share of its board's, or what its machine leaves it."""

from __future__ import annotations

from estimator.core.errors import within
from estimator.core.types import DeviceSpec, Sourced
from estimator.devices.specs.catalogue import load_device


def power_limit(device: DeviceSpec) -> Sourced | None:
    """The power limit of a device: its own, else its equal share of the board's; None where neither is known.

    Raises EstimatorError where no file gives the board.
    """
    if device.power_limit is not None or device.part_of is None:
        return device.power_limit
    with within(f"{device.name}, part_of"):
        whole, parts = load_device(device.part_of.device).power_limit, device.part_of.parts
    if whole is None:
        return None
    note = f"1/{parts} of the limit of {device.part_of.device}"
    return whole.model_copy(update={"value": whole.value / parts, "status": "derived", "note": note})


def with_limit(device: DeviceSpec, in_machine: Sourced | None = None) -> DeviceSpec:
    """The device with a power limit: :func:`power_limit`, else that of its machine, where either is known."""
    limit = power_limit(device) or in_machine
    return device if limit is device.power_limit else device.model_copy(update={"power_limit": limit})
