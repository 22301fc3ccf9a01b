"""The roll-up as data: each quantity with its unit, level, formula and inputs, evaluated in this order.

One declaration computes the numbers, labels them in the report and documents their derivation, so that all three agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from estimator.core.types import Floats, Number
from estimator.rollup import cost, epoch, parts, throughput


@dataclass(frozen=True)
class Link:
    """One quantity of the chain: its name, and its function of earlier quantities."""

    name: str
    label: str
    unit: str
    level: str  # "worker" runs one unit: a device, or a node where its time is given as a whole
    formula: str
    function: Callable[..., Floats]
    inputs: tuple[str, ...]


CHAIN = (
    Link("step_s", "step time", "s", "worker", "sum of its parts",
         parts.sum_of_parts, tuple(f"step_{part}_s" for part in parts.PARTS)),
    Link("steps_per_epoch", "steps per epoch", "1", "worker", "floor(samples / batch size)",
         epoch.steps_per_epoch_floor, ("samples", "batch_size")),
    Link("validation_steps", "steps of a validation", "1", "worker", "ceil(validation samples / batch size)",
         epoch.steps_per_epoch_ceil, ("validation_samples", "batch_size")),
    Link("epoch_s", "time per epoch", "s", "worker", "step time × steps per epoch + forward time × validation steps",
         epoch.validated_epoch_time, ("step_s", "steps_per_epoch", "forward_s", "validation_steps")),
    Link("epoch_s", "time per epoch", "s", "worker", "step time × steps per epoch",  # without validation
         epoch.epoch_time, ("step_s", "steps_per_epoch")),
    Link("time_per_unit_s", "time per unit", "s", "worker", "amount of one unit / amount per second",
         epoch.time_of_amount, ("amount", "amount_per_s")),
    Link("time_per_unit_s", "time per unit", "s", "worker", "load time + epoch time × epochs",
         epoch.run_time, ("epoch_s", "epochs", "load_s")),
    Link("runs_per_day", "units per day of one worker", "1/day", "worker",
         "1 day / time per unit × efficiency of the extrapolation",
         throughput.extrapolated_runs_per_day, ("time_per_unit_s", "extrapolation_efficiency")),
    Link("runs_per_day", "units per day of one worker", "1/day", "worker", "1 day / time per unit",
         throughput.runs_per_day, ("time_per_unit_s",)),
    Link("runs_per_day_per_node", "units per day of one node", "1/day", "node", "units per day of one worker × workers",
         throughput.runs_per_day_per_node, ("runs_per_day", "workers_per_node")),
    Link("units_per_day", "units per day", "1/day", "system", "units per day of one node × nodes",
         throughput.units_per_day, ("runs_per_day_per_node", "nodes")),
    Link("step_energy_j", "energy per step", "J", "worker", "mean power of a device × step time",
         cost.step_energy, ("device_power_w", "step_s")),
    Link("device_energy_j", "energy of the device per unit", "J", "worker",
         "mean power × (time per unit − load time) + idle power × load time",
         cost.device_energy, ("device_power_w", "idle_power_w", "time_per_unit_s", "load_s")),
    Link("overhead_energy_j", "energy of the node beside it, per unit", "J", "worker",
         "power of a node beside its devices × time per unit / workers",
         cost.overhead_energy, ("node_overhead_w", "time_per_unit_s", "workers_per_node")),
    Link("energy_j", "energy per unit", "J", "worker", "(energy of the device + of the node beside it) × PUE",
         cost.unit_energy, ("device_energy_j", "overhead_energy_j", "pue")),
    Link("energy_kwh", "energy per unit", "kWh", "worker", "energy per unit / 3.6 MJ",
         cost.kilowatt_hours, ("energy_j",)),
    Link("usd", "price per unit", "USD", "worker", "price of a node × time per unit / 1 h / workers",
         cost.price_by_node, ("usd_per_node_hour", "time_per_unit_s", "workers_per_node")),
    Link("usd", "price per unit", "USD", "worker", "price of a device × time per unit / 1 h × devices",
         cost.price_by_device, ("usd_per_device_hour", "time_per_unit_s", "devices_per_worker")),
)  # fmt: skip
CEILED = Link("steps_per_epoch", "steps per epoch", "1", "worker", "ceil(samples / batch size)",
              epoch.steps_per_epoch_ceil, ("samples", "batch_size"))  # fmt: skip
RATIOS = (
    Link("ratio_worker", "ratio of one worker", "1", "worker", "units per day of one worker / the baseline's",
         throughput.ratio, ("runs_per_day", "baseline.runs_per_day")),
    Link("ratio_node", "ratio of one node", "1", "node", "units per day of one node / the baseline's",
         throughput.ratio, ("runs_per_day_per_node", "baseline.runs_per_day_per_node")),
    Link("ratio", "ratio", "1", "system", "units per day / the baseline's",
         throughput.ratio, ("units_per_day", "baseline.units_per_day")),
)  # fmt: skip


def derive(prefix: str, worker: str, given: Mapping[str, Number], links: tuple[Link, ...] = CHAIN) -> dict[str, Number]:
    """The given quantities and all that follow from them. A given quantity is not derived again; of several links with
    one name, the first whose inputs are known is used.
    """
    numbers = dict(given)
    for link in links:
        if link.name not in numbers and all(name in numbers for name in link.inputs):
            inputs = [numbers[name] for name in link.inputs]
            numbers[link.name] = Number(
                id=f"{prefix}/{link.name}",
                label=link.label,
                samples=link.function(*(number.samples for number in inputs)),
                unit=link.unit,
                level=worker if link.level == "worker" else link.level,
                formula=link.formula,
                inputs=tuple(number.id for number in inputs),
            )
    return numbers


def given(
    id: str, label: str, value: float | Floats, unit: str, level: str, source: str, formula: str = "given"
) -> Number:
    """A number that is not derived here, with its source."""
    return Number(id, label, np.atleast_1d(np.asarray(value, dtype=float)), unit, level, formula, (), source)
