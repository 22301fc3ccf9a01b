"""Estimate a step of one unit of work on one machine: on one device, or on the several that train together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from estimator.core.errors import UnfitError
from estimator.core.notes import Note
from estimator.core.parallel import Split, read_split
from estimator.core.types import Estimate, Profile, RunPlan, SystemSpec, Workload
from estimator.pipeline.group import estimate_group
from estimator.pipeline.step import estimate
from estimator.rollup import power, quality
from estimator.rollup.evidence import MUCH_CARRIED, carried_share
from estimator.rollup.scaling import Group, group_of, refuse_fewer
from estimator.studies.places import resolve_name, resolve_profile
from estimator.studies.size import Size, machine_network
from estimator.studies.study import Machine, Study, UnitOfWork
from estimator.work.on_target import ranks_of

MUCH_LEFT_OUT = 0.05  # of an epoch's samples


def read_unit(unit: UnitOfWork, folder: Path) -> Profile:
    """The profile of a unit of work; where it does not tell its batch size, the study's is taken for it."""
    name = str(unit.profile)
    profile = resolve_profile(folder, name)
    if profile.workload.batch_size is None and unit.batch_size:
        return resolve_profile(folder, name, unit.batch_size)
    return profile


def estimate_unit(
    study: Study, unit_name: str, machine: Machine, size: Size, profile: Profile, folder: Path
) -> Estimate:
    """One step of a unit of work on a machine of this size, of one device or of each of those that train together.

    Raises UnfitError where the machine cannot run it, and where most of it is carried from the source, unless the study
    says itself what the host does; EstimatorError where the batch cannot be divided among the devices.
    """
    unit = study.units_of_work[unit_name]
    plan = _plan(study, unit, machine, size.system, folder)
    if unit.devices is None and ranks_of(profile).world == 1:
        estimated = estimate(profile, plan)
    else:
        group, split = group_of_unit(unit, unit.devices or 1, profile, size), split_of(unit)
        in_network = replace(plan, network=machine_network(machine, size, folder))
        estimated = estimate_group(profile, in_network, group, split)
        estimated = replace(estimated, notes=(*estimated.notes, *_batch_note(unit_name, unit, group)))
    of_table = (*_steps_rise_note(unit_name, unit), *_beyond_table_note(unit_name, unit, estimated))
    of_unit = (*_left_out_note(unit_name, unit, estimated), *of_table)
    estimated = replace(estimated, notes=(*of_unit, *estimated.notes))
    _refuse_carried(estimated)
    return estimated


def group_of_unit(unit: UnitOfWork, devices: int, profile: Profile, size: Size) -> Group:
    """The devices of one training of a unit on a machine of this size."""
    most = size.in_use * size.devices
    if devices > most:
        hint = ", or say how many a node has (devices_per_node)" if size.devices == 1 else ""
        raise UnfitError(f"devices {devices}: the machine has {size}; expected a number from 1 to {most}{hint}")
    ranks, batch = ranks_of(profile), unit.batch_size or profile.workload.batch_size
    refuse_fewer(devices, ranks.parts)
    return group_of(devices, size.devices, unit.scaling or "weak", batch, split_of(unit), ranks.of_copy)


def _batch_note(unit_name: str, unit: UnitOfWork, group: Group) -> tuple[Note, ...]:
    """A note where several devices keep the batch of the profile, as the unit names none."""
    if unit.batch_size or group.local_batch is None or group.devices == 1 or unit.scaling == "strong":
        return ()
    who = f"{group.copies} {'devices' if group.model_devices == 1 else 'copies of the model'}"
    text = f"{unit_name}: each of {who} trains the profile's batch of {group.local_batch}, as 'batch_size' is not given"
    return (Note("batch-of-profile", text),)


def _left_out_note(unit_name: str, unit: UnitOfWork, estimated: Estimate) -> tuple[Note, ...]:
    """A note where whole steps leave out much of an epoch, as its last batch is not full."""
    workload = estimated.profile.workload
    samples, batch = samples_and_batch(unit, workload)
    if not samples or not batch or rounds_up(unit, workload) or unit.steps_to_quality:
        return ()
    whole = batch_of_step(unit, batch, estimated)
    rest = samples % whole
    if samples < whole or rest <= MUCH_LEFT_OUT * samples:
        return ()
    text = f"{unit_name}: {rest} of {samples} samples of an epoch do not fill a batch of {whole}, and are left out"
    return (Note("samples-left-out", f"{text}; 'steps_rounding: ceil' counts them as a step", subject=unit_name),)


def _beyond_table_note(unit_name: str, unit: UnitOfWork, estimated: Estimate) -> tuple[Note, ...]:
    """A note where the batch of all devices lies beyond the table of steps to quality."""
    table, (_, batch) = unit.steps_to_quality, samples_and_batch(unit, estimated.profile.workload)
    if not table or not batch or quality.is_within(table, whole := batch_of_step(unit, batch, estimated)):
        return ()
    text = (
        f"the batch of all devices is {whole}, and steps_to_quality tells of {min(table)} to {max(table)}: "
        "its steps are extrapolated, in a wide interval"
    )
    return (Note("steps-extrapolated", text, subject=unit_name),)


def _steps_rise_note(unit_name: str, unit: UnitOfWork) -> tuple[Note, ...]:
    """A note where the steps to quality rise with the batch."""
    table = unit.steps_to_quality or {}
    batches = quality.rise(table)
    if batches is None:
        return ()
    steps = " and ".join(f"{table[batch]:,.15g} steps at batch {batch}" for batch in batches)
    text = f"{unit_name}: steps_to_quality are {steps}; a larger batch should need no more steps, so check the table"
    return (Note("steps-rise", text, subject=unit_name),)


def samples_and_batch(unit: UnitOfWork, workload: Workload) -> tuple[int | None, int | None]:
    """Samples of an epoch, and the batch that the unit states: each from the study, else from the workload's file."""
    return unit.samples or workload.samples, unit.batch_size or workload.batch_size


def rounds_up(unit: UnitOfWork, workload: Workload) -> bool:
    """Whether a last batch that is not full counts as a step."""
    return (unit.steps_rounding or workload.steps_rounding) == "ceil"


def is_batch_of_each(unit: UnitOfWork) -> bool:
    """Whether the batch that the unit states is that of each copy of the model."""
    return unit.devices is not None and unit.scaling != "strong"


def shares_in_turn(unit: UnitOfWork) -> bool:
    """Whether the trainings that share a device run one at a time."""
    return bool(unit.trainings_per_device) and unit.sharing != "fused"


def unit_of_campaign(unit: UnitOfWork, size: Size) -> UnitOfWork:
    """The unit with no more trainings on a device than its campaign has for each device of a machine of this size."""
    if unit.trainings_per_device is None or unit.count is None:
        return unit
    each = -(-unit.count // (size.in_use * size.devices))
    return unit.model_copy(update={"trainings_per_device": min(unit.trainings_per_device, each)})


def batch_of_step(unit: UnitOfWork, batch: int, estimated: Estimate) -> int:
    """The batch of all copies of the model; ``batch``: as the unit states it."""
    return batch * estimated.copies if is_batch_of_each(unit) else batch


def split_of(unit: UnitOfWork) -> Split:
    """How a training of a unit is divided over its devices."""
    return read_split(unit.parallel or "data")


def _plan(study: Study, unit: UnitOfWork, machine: Machine, system: SystemSpec | None, folder: Path) -> RunPlan:
    """How the profile is to run there: what the unit says comes before what its machine does."""
    return RunPlan(
        target=system.device if system else resolve_name(folder, str(machine.device)),
        power_limit=power.listed_limit(system),
        precision=unit.precision or machine.precision,
        fusion=unit.fusion or machine.fusion or "none",
        layout=unit.layout or machine.layout or "auto",
        host=machine.host if unit.host is None else unit.host,
        input=machine.input if unit.input is None else unit.input,
        batch=unit.batch_size,
        mode=unit.mode,
        trainings=unit.trainings_per_device or 1,
        sharing=unit.sharing or "in-turn",
        measurements=resolve_name(folder, machine.measurements) if machine.measurements else None,
        draws=study.draws,
        seed=study.seed,
    )


def _refuse_carried(estimated: Estimate) -> None:
    """Raise UnfitError where most of a step is the source's own time, and the plan does not say what the host does."""
    carried = carried_share(estimated.evidence)
    if carried > MUCH_CARRIED and estimated.plan.host is None and estimated.target != estimated.source:
        raise UnfitError(
            f"{100 * carried:.0f} % of the step on {estimated.target.name} is the source's own time (host and input), "
            "carried over; a figure of merit of that says little of the machine: write 'host: none' for kernels alone, "
            "'input: overlapped' where input is read ahead, or 'host: profile' or a factor to accept it"
        )
