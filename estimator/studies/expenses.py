"""What the roll-up of one unit on one machine is given of power and prices."""

from __future__ import annotations

from collections.abc import Iterator

from estimator.core.types import Estimate, SystemSpec
from estimator.model.coefficients import shipped
from estimator.rollup import power
from estimator.studies.given import STUDY_FILE, Given
from estimator.studies.size import Size
from estimator.studies.study import Machine, Study, UnitOfWork

NOT_COUNTED = "not counted: the study gives no 'pue'"


def given_power(study: Study, unit: UnitOfWork, machine: Machine, estimated: Estimate, size: Size) -> Iterator[Given]:
    """Power of the device and of the rest of its node, and the facility's PUE; nothing where the power is unknown.

    Where trainings share a device in turn, it is the power with one of them alone; where they are fused, with all.
    """
    limit = estimated.target.power_limit
    if estimated.power_w is None or limit is None:
        return
    name, coefficients = estimated.target.name, shipped().power
    idle_w = float(power.idle_power(limit.value, power.gddr_bytes(estimated.target), coefficients))
    ends_w = power.node_overhead(size.devices, limit.value, size.system)
    overhead_w = power.draw_overhead(ends_w, name, study.draws, study.seed)
    origin = f"{overhead_source(size.system)}; the devices' limits are {size.devices} × {limit}"
    model = f"shares of the step by op, on {name} of {limit} (rollup/power.py)"
    idle = f"model/coefficients/power.yaml: {coefficients.source}"
    shared = "device_array_w" if unit.sharing == "fused" else "device_alone_w"
    names = (shared, "device_idle_w") if unit.trainings_per_device else ("device_power_w", "idle_power_w")
    yield Given(names[0], "mean power of a device", estimated.power_w, "W", "device", model)
    yield Given(names[1], "idle power of a device", idle_w, "W", "device", idle)
    yield Given("node_overhead_w", "power of the rest of a node", overhead_w, "W", "node", origin)
    yield Given("pue", "PUE", machine.pue or 1.0, "1", "system", STUDY_FILE if machine.pue else NOT_COUNTED)


def overhead_source(system: SystemSpec | None) -> str:
    """Where the power of the rest of a node comes from, in words."""
    if system is None or system.power is None:
        return "assumed, as GPU systems of the TOP500 draw (rollup/power.py)"
    source = system.power.source or "no source"
    return f"system {system.name}: power less {power.RUN_OF_LIST:g} of its devices' limits ({source})"


def given_prices(machine: Machine, devices_per_worker: float) -> Iterator[Given]:
    """The price of an hour, and how many devices it pays for; nothing where the study gives none."""
    by_node, by_device = machine.usd_per_node_hour, machine.usd_per_device_hour
    if by_node is not None:
        yield Given("usd_per_node_hour", "price of a node", by_node, "USD/h", "node", STUDY_FILE)
    elif by_device is not None:
        yield Given("usd_per_device_hour", "price of a device", by_device, "USD/h", "device", STUDY_FILE)
        label = "devices that run one unit"
        yield Given("devices_per_worker", label, devices_per_worker, "1", "device", STUDY_FILE)
