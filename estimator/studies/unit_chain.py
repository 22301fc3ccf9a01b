"""The chain of one unit of work on one machine: what is given, and what follows from it up to units per day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from estimator.core import units
from estimator.core.errors import EstimatorError, UnfitError
from estimator.core.interval import uniform
from estimator.core.types import Estimate, Number, Workload, pair_id
from estimator.pipeline.group_forward import forward_of_group
from estimator.rollup import chain
from estimator.rollup.scaling import UNEVEN, drawn_spread
from estimator.studies.expenses import given_power, given_prices
from estimator.studies.forward import estimate_forward, forward_origin, within_validation
from estimator.studies.given import STUDY_FILE, Given, numbers_of
from estimator.studies.given_time import given_efficiency, given_time, worker_of_time
from estimator.studies.quality import given_steps
from estimator.studies.size import Size
from estimator.studies.study import Machine, Study, UnitOfWork
from estimator.studies.unit import (
    batch_of_step,
    group_of_unit,
    is_batch_of_each,
    rounds_up,
    samples_and_batch,
    shares_in_turn,
    split_of,
)

NOT_GATHERED = "; weights that copies of the model gather are not counted"
PART_FORMULA = "its share of the replayed step's critical path"
MOST_LOST = 0.99  # of a run's time: more is no run
DEVICES_DIFFER = "assumed, as devices of one kind differ (rollup/scaling.py)"
GAPS = "none at nominal inputs; unknown, from 0 to 1 (rollup/sharing.py)"


def derive_chain(
    study: Study, pair: tuple[str, str], estimated: Estimate | None, size: Size, of: str = ""
) -> dict[str, Number]:
    """The chain of one unit on one machine, from what is given to units per day; ``of``: behind its name in ids.

    Raises EstimatorError where the run's samples or batch size are not known, or do not make a single step.
    """
    machine_name, unit_name = pair
    unit, id_prefix = study.units_of_work[unit_name], pair_id(pair) + of
    machine = study.machines.get(machine_name) or Machine(device=machine_name, nodes=size.nodes)
    of_machine = (*_nodes(size), *_count(study, unit), *given_efficiency(unit, machine_name))
    if estimated is None:
        worker = worker_of_time(unit, machine_name, size)
        of_time = (*_failures(machine, worker.level, worker.nodes), *given_time(unit, machine_name, machine, worker))
        numbers = numbers_of(id_prefix, (*of_machine, *of_time, *given_prices(machine, worker.devices)))
        return _ending(chain.derive(id_prefix, worker.level, numbers))
    of_failures = _failures(machine, _worker(unit), 1 if unit.devices is None else None)
    workload = estimated.profile.workload
    of_step, of_run = _step(unit, estimated, size, id_prefix), _run(unit, unit_name, estimated)
    of_unit = (*_workers(unit, estimated, size), *of_step, *of_run)
    expenses = (*given_power(study, unit, machine, estimated, size), *given_prices(machine, _devices(unit)))
    numbers = numbers_of(id_prefix, (*of_machine, *of_failures, *of_unit, *expenses))
    links = chain.chain_rounded(rounds_up(unit, workload))
    return _ending(chain.derive(id_prefix, _worker(unit), numbers, links))


def _ending(numbers: dict[str, Number]) -> dict[str, Number]:
    """The chain. Raises UnfitError where failures, or checkpoints against them, leave hardly any run to its end."""
    if "lost_share" in numbers and numbers["lost_share"].samples[0] > MOST_LOST:
        raise UnfitError(f"a run of {_shown(numbers, 'training_s')} hardly ever ends, {_hindered(numbers)}")
    return numbers


def _hindered(numbers: dict[str, Number]) -> str:
    """Why a run hardly ever ends, and what to do."""
    names = ("checkpoint_every_s", "checkpoint_write_s", "mtbf_s")
    every_s, write_s, fails_s = (float(numbers[name].samples[0]) if name in numbers else 0.0 for name in names)
    if MOST_LOST * (every_s + write_s) < write_s < fails_s:
        every, write = (_shown(numbers, name) for name in names[:2])
        return f"as it stops every {every} to write a checkpoint for {write}; write 'every: auto', or fewer checkpoints"
    advice = "give the machine a 'checkpoint: {every: auto, write: 5 min}', or a faster one"
    return f"as its nodes fail every {_shown(numbers, 'mtbf_s')}; {advice}"


def _shown(numbers: dict[str, Number], name: str) -> str:
    """A time of the chain, as text."""
    return units.show(float(numbers[name].samples[0]), "s", 3)


def _worker(unit: UnitOfWork) -> str:
    """What runs one unit, in words."""
    if (unit.trainings_per_device or 1) > 1:
        return f"one of {unit.trainings_per_device} on a device"
    return f"group of {unit.devices} devices" if unit.devices and unit.devices > 1 else "device"


def _nodes(size: Size) -> Iterator[Given]:
    name = "nodes" if size.fraction is None else "all_nodes"
    yield Given(name, f"{size.node_name}s", size.nodes, "1", "system", size.nodes_source)
    if size.fraction is not None:
        yield Given("fraction", "fraction in use", size.fraction, "1", "system", STUDY_FILE)


def _count(study: Study, unit: UnitOfWork) -> Iterator[Given]:
    """How many units a campaign has, and how far they differ; a given time is that of each of them."""
    if unit.count is None:
        return
    yield Given("count", "units per campaign", unit.count, "1", "system", STUDY_FILE)
    label, devices = "how far units differ: standard deviation of ln(time)", 1.0
    if unit.spread is None and unit.profile:
        drawn, devices = drawn_spread(UNEVEN.devices, study.draws, study.seed), _devices(unit)
        yield Given("spread", label, drawn, "1", "system", DEVICES_DIFFER, "assumed")
    else:
        origin = "every unit takes the given time" if unit.spread is None else STUDY_FILE
        yield Given("spread", label, unit.spread or 0.0, "1", "system", origin)
    origin = "devices per training / trainings per device" if devices != 1 else "each unit is one"
    yield Given("devices_that_differ", "devices that differ, of one unit", devices, "1", "system", origin)


def _devices(unit: UnitOfWork) -> float:
    """Devices that run one unit; a share where several share one."""
    return (unit.devices or 1) / (unit.trainings_per_device or 1)


def _failures(machine: Machine, worker: str, nodes: int | None) -> Iterator[Given]:
    """How often a machine and its nodes fail, and what trainings do against it, where the study says so.

    Nodes are those of one training; None where they follow from its devices.
    """
    if machine.availability is not None:
        yield Given("availability", "availability", machine.availability, "1", "system", STUDY_FILE)
    if machine.mtbf_node is None:
        return
    yield Given("mtbf_node_s", "mean time between failures of a node", machine.mtbf_node, "s", "node", STUDY_FILE)
    if nodes is not None:
        origin = "a failure of its node ends it" if nodes == 1 else "a failure of one of its nodes ends it"
        yield Given("nodes_per_training", "nodes per training", nodes, "1", "node", origin)
    if machine.checkpoint is not None:
        write_s, every_s = machine.checkpoint.write, machine.checkpoint.every
        yield Given("checkpoint_write_s", "time to write a checkpoint", write_s, "s", worker, STUDY_FILE)
        if every_s != "auto":
            label = "time between two checkpoints"
            yield Given("checkpoint_every_s", label, every_s, "s", worker, STUDY_FILE)


def _workers(unit: UnitOfWork, estimated: Estimate, size: Size) -> Iterator[Given]:
    """How many devices a node has, and how many of them a training takes, or shares one, where the study says."""
    shared = unit.trainings_per_device
    name = "workers_per_node" if unit.devices is None and shared is None else "devices_per_node"
    formula = "assumed" if size.devices_source == "assumed" else "given"
    yield Given(name, "devices per node", size.devices, "1", "node", size.devices_source, formula)
    if shared:
        yield Given("trainings_per_device", "trainings per device", shared, "1", "device", STUDY_FILE)
    if unit.devices:
        yield Given("devices_per_training", "devices per training", unit.devices, "1", _worker(unit), STUDY_FILE)
        yield Given("copies", "copies of the model", estimated.copies, "1", _worker(unit), f"parallel {split_of(unit)}")


def _step(unit: UnitOfWork, estimated: Estimate, size: Size, id_prefix: str) -> Iterator[Given]:
    """The parts of a step, and the forward pass of a validation."""
    ops = f"ops of {id_prefix} on {estimated.target.name}"
    for part, samples in estimated.step.parts().items():
        label = f"step, {part.replace('_', ' ')}"
        yield Given(f"step_{part}_s", label, samples, "s", _worker(unit), ops, PART_FORMULA)
    if unit.validation_samples:
        yield from _forward(unit, estimated, size, ops)
    if shares_in_turn(unit):
        left = uniform("sharing.gaps", 0.0, estimated.plan.draws, estimated.plan.seed)
        yield Given("gaps_left", "share of gaps that no other training fills", left, "1", "device", GAPS)


def _run(unit: UnitOfWork, unit_name: str, estimated: Estimate) -> Iterator[Given]:
    """The sizes of a run, each from the study, else from the workload's file."""
    workload = estimated.profile.workload
    samples, batch = samples_and_batch(unit, workload)
    unknown = [name for name, value in (("samples", samples), ("batch_size", batch)) if value is None]
    if samples is None or batch is None:
        raise EstimatorError(f"{' and '.join(unknown)} not known from the profile; add to the unit '{unit_name}'")
    of_each, whole = is_batch_of_each(unit), batch_of_step(unit, batch, estimated)
    if samples < whole and not rounds_up(unit, workload):
        raise EstimatorError(f"{samples} samples do not fill one batch of {whole}; expected at least one step")
    if unit.steps_to_quality is not None:
        yield from given_steps(unit.steps_to_quality, whole, _worker(unit), estimated.plan)
    else:
        yield _epochs(unit, workload)
    yield Given("samples", "samples", samples, "1", _worker(unit), _origin(unit, workload, "samples"))
    name, label = ("local_batch", "batch of one copy of the model") if of_each else ("batch_size", "batch size")
    yield Given(name, label, batch, "1", _worker(unit), _origin(unit, workload, "batch_size"))
    if unit.validation_samples:
        yield Given("validation_samples", "validation samples", unit.validation_samples, "1", _worker(unit), STUDY_FILE)
    load_s, origin = unit.load_time or 0.0, STUDY_FILE if unit.load_time else "not counted"
    yield Given("load_s", "load time", load_s, "s", _worker(unit), origin)


def _epochs(unit: UnitOfWork, workload: Workload) -> Given:
    epochs = unit.epochs or (1 if unit.mode == "inference" else workload.epochs) or 1
    return Given("epochs", "epochs", epochs, "1", _worker(unit), _origin(unit, workload, "epochs"))


def _origin(unit: UnitOfWork, workload: Workload, name: str) -> str:
    if getattr(unit, name) is not None:
        return STUDY_FILE
    if name == "epochs" and unit.mode == "inference":
        return "one pass of inference"
    known = getattr(workload, name) is not None
    return "workload file of the profile" if known else "neither the study nor the workload file says"


def _forward(unit: UnitOfWork, step: Estimate, size: Size, ops: str) -> Iterator[Given]:
    """The forward pass of a unit's validation: on one device, or of a micro-batch of those that train together.

    ``ops``: what the step consists of, in words. Raises EstimatorError where the profile has no forward pass.
    """
    with within_validation(step):
        origin = forward_origin(ops, step)
    if unit.devices is None:
        name = "forward_alone_s" if shares_in_turn(unit) else "forward_s"
        yield Given(name, "forward pass", estimate_forward(step).step.total, "s", "device", origin, "sum of its parts")
    else:
        yield from _forward_of_group(unit, unit.devices, step, size, origin)


def _forward_of_group(unit: UnitOfWork, devices: int, step: Estimate, size: Size, origin: str) -> Iterator[Given]:
    """The forward pass of a micro-batch on several devices, and how these repeat it."""
    split, group = split_of(unit), group_of_unit(unit, devices, step.profile, size)
    group = replace(group, micro_batch=step.plan.batch)  # as the step computes
    with within_validation(step):
        forward = forward_of_group(step, group, split)
    parallel, left_out = f"parallel {split}", NOT_GATHERED if split.gathers_weights else ""
    label, formula = "forward pass of a micro-batch", "sum of its parts, and of the messages among parts of the model"
    yield Given("forward_micro_s", label, forward.micro_s, "s", "device", origin + left_out, formula)
    yield Given("pass_on_s", "results of a micro-batch to the next stage", forward.pass_on_s, "s", "device", parallel)
    yield Given("micro_batches", "micro-batches of a copy's batch", group.micro_batches, "1", "device", parallel)
    yield Given("stages", "stages of the pipeline", split.pipeline, "1", "device", parallel)
    yield Given("stage_runs", "runs of blocks of a stage", split.interleave, "1", "device", parallel)
