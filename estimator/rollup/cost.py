"""Run → energy and money, from the power of its devices and of the rest of their nodes, and the price of an hour."""

from __future__ import annotations

from estimator.core.types import Floats
from estimator.rollup.throughput import DAY_S

HOUR_S = 3600.0
KWH_J = 3.6e6


def step_energy(device_power_w: Floats, step_s: Floats) -> Floats:
    """Energy that the device takes for one step [J]: mean power × step time."""
    return device_power_w * step_s


def device_energy(
    device_power_w: Floats,
    idle_power_w: Floats,
    time_per_unit_s: Floats,
    load_s: Floats,
    efficiency: Floats | float = 1.0,
) -> Floats:
    """Energy that the device takes for a unit [J]: mean power × time of its steps, and idle power while it loads.

    ``efficiency``: of the extrapolation, as a unit takes longer on the whole machine.
    """
    return (device_power_w * (time_per_unit_s - load_s) + idle_power_w * load_s) / efficiency


def overhead_energy(node_overhead_w: Floats, runs_per_day_per_node: Floats) -> Floats:
    """A unit's share of the energy of the rest of its node, all but the devices [J]: that of a day ÷ units in a day."""
    return node_overhead_w * DAY_S / runs_per_day_per_node


def overhead_energy_of_groups(
    node_overhead_w: Floats,
    idle_power_w: Floats,
    devices_per_node: Floats,
    devices_per_training: Floats,
    workers_per_node: Floats,
    runs_per_day_per_node: Floats,
) -> Floats:
    """The same, and the energy of the node's devices that idle, as they have no training [J]."""
    without = devices_per_node - devices_per_training * workers_per_node
    return overhead_energy(node_overhead_w + idle_power_w * without, runs_per_day_per_node)


def unit_energy(device_energy_j: Floats, overhead_energy_j: Floats, pue: Floats) -> Floats:
    """Energy that a unit takes from the grid [J]: (device + its share of the rest of the node) × PUE."""
    return (device_energy_j + overhead_energy_j) * pue


def group_step_energy(device_power_w: Floats, step_s: Floats, devices_per_training: Floats) -> Floats:
    """Energy that all devices of a training take for one step [J]."""
    return step_energy(device_power_w, step_s) * devices_per_training


def group_energy(
    device_energy_j: Floats, devices_per_training: Floats, overhead_energy_j: Floats, pue: Floats
) -> Floats:
    """Energy that a unit on several devices takes from the grid [J]: (devices + rest of their nodes) × PUE."""
    return unit_energy(device_energy_j * devices_per_training, overhead_energy_j, pue)


def kilowatt_hours(energy_j: Floats) -> Floats:
    """An energy in kWh."""
    return energy_j / KWH_J


def price_by_node(usd_per_node_hour: Floats, runs_per_day_per_node: Floats) -> Floats:
    """What a unit costs [USD] at a price of a node: that of a day ÷ the units of a node in a day."""
    return usd_per_node_hour * DAY_S / HOUR_S / runs_per_day_per_node


def price_by_device(
    usd_per_device_hour: Floats, time_per_unit_s: Floats, devices_per_worker: Floats, efficiency: Floats | float = 1.0
) -> Floats:
    """What a unit costs [USD] on a worker of so many devices, at a price of a device.

    ``efficiency``: of the extrapolation, as a unit takes longer on the whole machine.
    """
    return usd_per_device_hour * time_per_unit_s / HOUR_S * devices_per_worker / efficiency
