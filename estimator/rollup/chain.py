"""The roll-up as data: each quantity with its unit, level, formula and inputs, evaluated in this order.

One declaration computes the numbers, labels them in the report and documents their derivation, so that all three agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from estimator.core.types import Floats, Number
from estimator.rollup import cost, epoch, failures, parts, pipeline_parallel, quality, sharing, stragglers, throughput


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
    when: tuple[str, ...] = ()  # further quantities that must be known for it, which are no inputs


CHAIN = (
    Link("nodes", "nodes in use", "1", "system", "floor(all nodes × fraction in use)",
         failures.nodes_in_use, ("all_nodes", "fraction")),
    Link("batch_size", "batch of all copies of the model", "1", "worker", "batch of one copy × copies",
         epoch.global_batch, ("local_batch", "copies")),
    Link("local_batch", "batch of one copy of the model", "1", "worker", "batch of all copies / copies",
         epoch.local_batch, ("batch_size", "copies")),
    Link("workers_per_node", "trainings per node", "1", "node", "devices per node × trainings per device",
         sharing.workers, ("devices_per_node", "trainings_per_device")),
    Link("step_alone_s", "step time of a training alone", "s", "worker", "sum of its parts",
         parts.sum_of_parts, tuple(f"step_{part}_s" for part in parts.PARTS), when=("gaps_left",)),
    Link("step_busy_s", "time of it in which the device is busy", "s", "worker", "compute + memory + unmodelled",
         sharing.busy_time, ("step_compute_s", "step_memory_s", "step_unmodelled_s"), when=("gaps_left",)),
    Link("step_s", "step time", "s", "worker",
         "max(trainings × busy time, time alone) + gaps left × (time alone + (trainings − 1) × busy time − that)",
         sharing.shared_step, ("step_alone_s", "step_busy_s", "trainings_per_device", "gaps_left")),
    Link("forward_s", "forward pass", "s", "worker", "forward pass alone × step time / step time alone",
         sharing.shared_forward, ("forward_alone_s", "step_s", "step_alone_s")),
    Link("forward_s", "forward pass of a batch", "s", "worker",
         "(micro-batches × runs + stages − 1) × (forward pass of a micro-batch / (stages × runs) + to the next stage)",
         pipeline_parallel.forward_pass, ("forward_micro_s", "micro_batches", "stages", "stage_runs", "pass_on_s")),
    Link("device_power_w", "share of the power of a device", "W", "worker",
         "(power alone − idle power) × step time alone / step time + idle power / trainings",
         sharing.share_of_power,
         ("device_alone_w", "device_idle_w", "step_alone_s", "step_s", "trainings_per_device")),
    Link("device_power_w", "share of the power of a device", "W", "worker",
         "power of the device with all trainings / trainings",
         sharing.equal_share, ("device_array_w", "trainings_per_device")),
    Link("idle_power_w", "share of the idle power of a device", "W", "worker", "idle power / trainings",
         sharing.equal_share, ("device_idle_w", "trainings_per_device")),
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
    Link("steps_to_quality", "steps to quality", "1", "worker",
         "S_min · (1 + critical batch / batch size) · what is unknown beyond the table (McCandlish et al. 2018, 2.11)",
         quality.steps_by_model, ("least_steps", "critical_batch", "batch_size", "beyond_table")),
    Link("epochs", "epochs to quality", "1", "worker", "steps to quality / steps per epoch",
         quality.epochs_to_quality, ("steps_to_quality", "steps_per_epoch")),
    Link("training_s", "time of the steps of a run, without failures", "s", "worker", "epoch time × epochs",
         failures.training_time, ("epoch_s", "epochs"), when=("mtbf_node_s",)),
    Link("training_s", "time of a unit, without failures", "s", "worker", "amount of one unit / amount per second",
         epoch.time_of_amount, ("amount", "amount_per_s"), when=("mtbf_node_s",)),
    Link("nodes_per_training", "nodes per training", "1", "worker", "ceil(devices per training / devices per node)",
         failures.nodes_of_training, ("devices_per_training", "devices_per_node")),
    Link("mtbf_s", "mean time between failures of a training's nodes", "s", "worker", "that of one node / nodes",
         failures.mean_time_between, ("mtbf_node_s", "nodes_per_training")),
    Link("checkpoint_every_s", "time between two checkpoints", "s", "worker",
         "√(2δM) · (1 + ⅓·√(δ/2M) + ⅑·δ/2M) − δ, or M where δ ≥ 2M; δ: time to write one, M: mean time between "
         "failures (Daly 2006)",
         failures.best_interval, ("checkpoint_write_s", "mtbf_s")),
    Link("time_per_unit_s", "time per unit", "s", "worker",
         "R + M · e^(R/M) · (e^((τ+δ)/M) − 1) · T/τ; R: load time, T: of the steps, τ: between checkpoints (Daly "
         "2006). A run shorter than τ writes none: τ = T and δ = 0",
         failures.time_with_checkpoints,
         ("training_s", "load_s", "checkpoint_every_s", "checkpoint_write_s", "mtbf_s")),
    Link("time_per_unit_s", "time per unit", "s", "worker",
         "R + M · e^(R/M) · (e^(T/M) − 1); R: load time, T: time of the steps, M: mean time between failures",
         failures.time_without_checkpoints, ("training_s", "load_s", "mtbf_s")),
    Link("lost_share", "share of the time lost to failures and checkpoints", "1", "worker",
         "1 − (time of the steps + load time) / time per unit",
         failures.lost_share, ("time_per_unit_s", "training_s", "load_s"), when=("mtbf_s",)),
    Link("time_per_unit_s", "time per unit", "s", "worker", "amount of one unit / amount per second",
         epoch.time_of_amount, ("amount", "amount_per_s")),
    Link("time_per_unit_s", "time per unit", "s", "worker", "load time + epoch time × epochs",
         epoch.run_time, ("epoch_s", "epochs", "load_s")),
    Link("runs_per_day", "units per day of one worker", "1/day", "worker", "1 day / time per unit",
         throughput.runs_per_day, ("time_per_unit_s",)),
    Link("runs_at_once", "trainings at once", "1", "system",
         "nodes × floor(devices per node / devices per training); where one takes several nodes "
         "floor(nodes / ceil(devices per training / devices per node))",
         throughput.trainings_at_once, ("nodes", "devices_per_node", "devices_per_training")),
    Link("runs_at_once", "units at once", "1", "system", "floor(nodes / nodes of one unit)",
         throughput.units_on_nodes, ("nodes", "nodes_per_unit")),
    Link("workers_per_node", "units at a time, per node", "1", "node", "units at once / nodes",
         throughput.units_per_node, ("runs_at_once", "nodes")),
    Link("runs_per_day_per_node", "units per day of one node", "1/day", "node",
         "units per day of one worker × workers × efficiency of the extrapolation",
         throughput.runs_per_day_per_node,
         ("runs_per_day", "workers_per_node", "extrapolation_efficiency")),
    Link("runs_per_day_per_node", "units per day of one node", "1/day", "node", "units per day of one worker × workers",
         throughput.runs_per_day_per_node, ("runs_per_day", "workers_per_node")),
    Link("units_per_day", "units per day", "1/day", "system", "units per day of one node × nodes × availability",
         throughput.units_per_day, ("runs_per_day_per_node", "nodes", "availability")),
    Link("units_per_day", "units per day", "1/day", "system", "units per day of one node × nodes",
         throughput.units_per_day, ("runs_per_day_per_node", "nodes")),
    Link("linear_per_day", "units per day, were no node idle", "1/day", "system",
         "units per day × (nodes / nodes of one unit) / floor(nodes / nodes of one unit)",
         throughput.linear_units_per_day, ("units_per_day", "nodes", "nodes_per_unit")),
    Link("linear_per_day", "units per day, were no node idle", "1/day", "system",
         "units per day × (nodes / nodes per training) / floor(nodes / nodes per training)",
         throughput.linear_units_per_day, ("units_per_day", "nodes", "nodes_per_training"),
         when=("devices_per_training",)),
    Link("step_energy_j", "energy per step", "J", "worker", "mean power of a device × step time × devices per training",
         cost.group_step_energy, ("device_power_w", "step_s", "devices_per_training")),
    Link("step_energy_j", "energy per step", "J", "worker", "mean power of a device × step time",
         cost.step_energy, ("device_power_w", "step_s")),
    Link("device_energy_j", "energy of the device per unit", "J", "worker",
         "(mean power × (time per unit − load time) + idle power × load time) / efficiency of the extrapolation",
         cost.device_energy,
         ("device_power_w", "idle_power_w", "time_per_unit_s", "load_s", "extrapolation_efficiency")),
    Link("device_energy_j", "energy of the device per unit", "J", "worker",
         "mean power × (time per unit − load time) + idle power × load time",
         cost.device_energy, ("device_power_w", "idle_power_w", "time_per_unit_s", "load_s")),
    Link("overhead_energy_j", "energy of the rest of the node, per unit", "J", "worker",
         "(power of the rest of a node + idle power × devices of a node without a training) × 1 day / "
         "units per day of one node", cost.overhead_energy_of_groups,
         ("node_overhead_w", "idle_power_w", "devices_per_node", "devices_per_training", "workers_per_node",
          "runs_per_day_per_node")),
    Link("overhead_energy_j", "energy of the rest of the node, per unit", "J", "worker",
         "power of the rest of a node × 1 day / units per day of one node",
         cost.overhead_energy, ("node_overhead_w", "runs_per_day_per_node")),
    Link("energy_j", "energy per unit", "J", "worker",
         "(energy of the device × devices per training + energy of the rest of the nodes) × PUE",
         cost.group_energy, ("device_energy_j", "devices_per_training", "overhead_energy_j", "pue")),
    Link("energy_j", "energy per unit", "J", "worker", "(energy of the device + energy of the rest of the node) × PUE",
         cost.unit_energy, ("device_energy_j", "overhead_energy_j", "pue")),
    Link("energy_kwh", "energy per unit", "kWh", "worker", "energy per unit / 3.6 MJ",
         cost.kilowatt_hours, ("energy_j",)),
    Link("usd", "price per unit", "USD", "worker", "price of a node × 24 h / units per day of one node",
         cost.price_by_node, ("usd_per_node_hour", "runs_per_day_per_node")),
    Link("usd", "price per unit", "USD", "worker",
         "price of a device × time per unit / 1 h × devices / efficiency of the extrapolation",
         cost.price_by_device,
         ("usd_per_device_hour", "time_per_unit_s", "devices_per_worker", "extrapolation_efficiency")),
    Link("usd", "price per unit", "USD", "worker", "price of a device × time per unit / 1 h × devices",
         cost.price_by_device, ("usd_per_device_hour", "time_per_unit_s", "devices_per_worker")),
    Link("runs_at_once", "units at once", "1", "system", "floor(nodes × workers per node)",
         throughput.units_at_once, ("nodes", "workers_per_node"), when=("count",)),
    Link("waves", "waves of a campaign's units", "1", "system", "ceil(units per campaign / units at once)",
         throughput.waves, ("count", "runs_at_once")),
    Link("slowest_unit", "slowest of the units at once, over a usual one", "1", "system",
         "exp(spread × (z(g × min(units per campaign, units at once)) − z(g))); g: devices that differ, of one unit; "
         "z(N): expected maximum of N standard normal numbers",
         stragglers.slowest_unit, ("spread", "count", "runs_at_once", "devices_that_differ")),
    Link("times_to_last_stop", "first start to last stop, in times per unit", "1", "system",
         "min(waves × slowest, max(waves, units per campaign / min(units per campaign, units at once) + slowest − ½))",
         stragglers.times_to_last_stop, ("count", "runs_at_once", "waves", "slowest_unit")),
    Link("phase_s", "time of a campaign's units", "s", "system",
         "times to the last stop × time per unit / availability / efficiency of the extrapolation",
         throughput.phase_time,
         ("times_to_last_stop", "time_per_unit_s", "availability", "extrapolation_efficiency")),
    Link("phase_s", "time of a campaign's units", "s", "system",
         "times to the last stop × time per unit / efficiency of the extrapolation",
         throughput.phase_time, ("times_to_last_stop", "time_per_unit_s", "extrapolation_efficiency")),
    Link("phase_s", "time of a campaign's units", "s", "system",
         "times to the last stop × time per unit / availability",
         throughput.phase_time, ("times_to_last_stop", "time_per_unit_s", "availability")),
    Link("phase_s", "time of a campaign's units", "s", "system", "times to the last stop × time per unit",
         throughput.phase_time, ("times_to_last_stop", "time_per_unit_s")),
    Link("counted_per_day", "units per day, from the first start to the last stop", "1/day", "system",
         "units per campaign / time of a campaign's units × 1 day", stragglers.counted_per_day, ("count", "phase_s")),
    Link("phase_energy_kwh", "energy of a campaign's units", "kWh", "system", "units per campaign × energy per unit",
         throughput.of_all, ("count", "energy_kwh")),
    Link("phase_usd", "price of a campaign's units", "USD", "system", "units per campaign × price per unit",
         throughput.of_all, ("count", "usd")),
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


def chain_rounded(up: bool) -> tuple[Link, ...]:
    """The chain, in which a last batch that is not full counts as a step, or does not."""
    return tuple(CEILED if up and link.name == CEILED.name else link for link in CHAIN)


def derive(prefix: str, worker: str, given: Mapping[str, Number], links: tuple[Link, ...] = CHAIN) -> dict[str, Number]:
    """The given quantities and all that follow from them. A given quantity is not derived again; of several links with
    one name, the first whose inputs are known is used.
    """
    numbers = dict(given)
    for link in links:
        if link.name not in numbers and all(name in numbers for name in (*link.inputs, *link.when)):
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
