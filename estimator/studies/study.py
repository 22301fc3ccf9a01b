"""The study file: units of work on machines, a baseline, a figure of merit (``study.yaml`` → Study)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from estimator.core import library, quantities, yaml_files
from estimator.core.errors import EstimatorError, suggestion
from estimator.core.parallel import WRITTEN, read_split
from estimator.core.scenarios import Host, Input
from estimator.core.types import (
    Dollars,
    File,
    Fusing,
    Layout,
    Mode,
    Network,
    Precision,
    Pue,
    Seconds,
    Share,
    Texts,
    Whole,
)
from estimator.core.yaml_files import Faults
from estimator.rollup import fom
from estimator.studies.audit.table import Table, table_faults
from estimator.studies.terms import OF_GIVEN_TIMES, Terms, term_faults


def _parallel(written: object) -> object:
    """Accept a word of ``core/parallel.py``."""
    try:
        read_split(str(written))
    except EstimatorError:
        raise ValueError(f"is {written!r}; write {WRITTEN}") from None
    return written


Steps = Annotated[float, BeforeValidator(quantities.no_flag), Field(gt=0, le=1e15)]
StepsByBatch = Annotated[dict[Whole, Steps], Field(min_length=1)]  # global batch → steps
Parallel = Annotated[str, BeforeValidator(_parallel)]


def _interval(written: object) -> float | str:
    """Accept ``auto``, or a time above zero."""
    return "auto" if written == "auto" else quantities.seconds(written)


class Checkpoint(File):
    """How often trainings write checkpoints, and how long that takes."""

    every: Annotated[float | Literal["auto"], BeforeValidator(_interval)] = "auto"  # training time between two
    write: Seconds


class Machine(File):
    """A machine: a shipped system, or nodes of a device, or nodes alone where times per unit are given."""

    system: str | None = None
    device: str | None = None
    nodes: Whole | None = None
    devices_per_node: Whole | None = None
    node_name: str = "node"
    measurements: str | None = None
    network: Network | None = None  # of a machine given by its device; of a system, what is other than its file says
    host: Host = None
    input: Input = None
    precision: Precision | None = None  # of products on it, for units that name none: a TPU has no fp32
    fusion: Fusing | None = None  # for units that say nothing
    layout: Layout | None = None  # likewise
    fraction: Share | None = None  # of its nodes that run these units
    availability: Share | None = None  # share of the time in which it is up
    mtbf_node: Seconds | None = None  # mean time between failures of one node
    checkpoint: Checkpoint | None = None  # of each training; without it a failure sends a training to its beginning
    pue: Pue | None = None  # what the facility draws over what its computers do
    usd_per_node_hour: Dollars | None = None
    usd_per_device_hour: Dollars | None = None

    @model_validator(mode="after")
    def _has_size(self) -> Machine:
        if self.system is None and self.nodes is None:
            raise ValueError("names neither 'system' nor 'nodes'; add 'system: summit' or 'nodes: 18688'")
        if self.system and self.device:
            raise ValueError("names both 'system' and 'device'; keep one")
        if self.checkpoint and self.mtbf_node is None:
            raise ValueError("names 'checkpoint', but not what it is against; add 'mtbf_node: 5 years'")
        if self.usd_per_node_hour and self.usd_per_device_hour:
            raise ValueError("names both 'usd_per_node_hour' and 'usd_per_device_hour'; keep one")
        return self


class UnitOfWork(Terms):
    """What "units per day" counts: a training run, by its given time per machine or by its profile."""

    time_per_unit: dict[str, Seconds] | None = None
    profile: str | None = None
    precision: Precision | None = None
    fusion: Fusing | None = None  # the machine's, else none
    layout: Layout | None = None  # the machine's, else auto
    host: Host = None
    input: Input = None
    batch_size: Whole | None = None  # where it is not the profile's, the profile is taken to it
    mode: Mode | None = None  # inference: the forward pass of a training's profile
    samples: Whole | None = None
    validation_samples: Whole | None = None  # held out; forward passes over them end each epoch
    epochs: Whole | None = None
    steps_rounding: Literal["floor", "ceil"] | None = None
    load_time: Seconds | None = None
    devices: Whole | None = None  # of each training; they exchange gradients in the machine's network
    parallel: Parallel | None = None  # how they share it; data by default
    scaling: Literal["weak", "strong"] | None = None  # batch_size is of each copy (weak, the default) or of all
    trainings_per_device: Whole | None = None  # that share each device in turn
    steps_to_quality: StepsByBatch | None = None  # by global batch, in place of epochs
    count: Whole | None = None  # units of a campaign, whose phases are the units with a count, in their order
    weight: float = Field(default=1.0, gt=0)

    @model_validator(mode="after")
    def _has_one_source(self) -> UnitOfWork:
        given = [name for name in ("time_per_unit", "amount_per_s", "profile") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("needs either 'time_per_unit' or 'profile' (or 'amount_per_s'); give one of them")
        of_profiles = self.model_fields_set - {"time_per_unit", "weight", "count"} - Terms.model_fields.keys()
        unused = self.model_fields_set.intersection(OF_GIVEN_TIMES) if self.profile else of_profiles
        if unused:
            reason = "is timed as a whole" if self.profile else "stands for the whole run"
            raise ValueError(f"gives '{given[0]}', which {reason}; delete {', '.join(sorted(unused))}")
        return self

    @model_validator(mode="after")
    def _agrees(self) -> UnitOfWork:
        if self.epochs is not None and self.steps_to_quality is not None:
            raise ValueError("names both 'epochs' and 'steps_to_quality'; keep one")
        if self.devices is None and (self.parallel or self.scaling):
            raise ValueError("says how devices share a training, but not how many; add 'devices: 8'")
        if self.devices is not None and self.trainings_per_device is not None:
            raise ValueError("names both 'devices' and 'trainings_per_device'; keep one")
        if self.devices is not None and self.mode == "inference":
            raise ValueError("names 'devices' of one training, but is of inference, which each device does by itself")
        return self

    @property
    def by_machine(self) -> dict[str, float] | None:
        """What the study gives of each machine, a time or a rate; None where the time is predicted."""
        return self.time_per_unit if self.time_per_unit is not None else self.amount_per_s


class Published(File):
    """A published figure to compare with ours; with the reason where they differ."""

    quantity: str
    printed: str | float
    unit: str | None = None
    machine: str | None = None
    device: str | None = None
    units_per_day: dict[str, dict[str, float]] = Field(default={})  # the rates the source used, by machine and unit
    source: str
    reason: str | None = None


class Study(File):
    """One study file: machines and units of work for a figure of merit, published tables to audit, or both."""

    title: str
    description: str | None = None
    baseline: str = ""
    figure_of_merit: fom.Definition = fom.Definition()
    machines: dict[str, Machine] = Field(default={})
    units_of_work: dict[str, UnitOfWork] = Field(default={})
    published: tuple[Published, ...] = ()
    tables: dict[str, Table] = Field(default={})
    notes: Texts = ()
    draws: int = Field(default=1000, ge=0, le=100_000)
    seed: int = Field(default=0, ge=0)


def find_study(name: str | Path) -> Path:
    """The path of a study file, or that of a shipped study by its name."""
    shipped = library.names("reports", "*").get(str(name))
    return Path(name) if Path(name).is_file() or shipped is None else shipped / "study.yaml"


def read_study(path: str | Path) -> Study:
    """Read and check one study file. Raises EstimatorError with every fault and its line."""
    document = yaml_files.read_yaml(Path(path))
    study = yaml_files.check(Study, document)
    faults = [
        f"{document.where(location)}: {sentence}"
        for location, sentence in (
            *_missing_parts(study),
            *_machine_faults(study),
            *_time_faults(study),
            *term_faults(study.units_of_work, study.machines, study.baseline, study.figure_of_merit.weights),
            *_published_faults(study),
            *(fault for name, table in study.tables.items() for fault in table_faults(table, ("tables", name))),
        )
    ]
    if faults:
        raise EstimatorError(*faults)
    return study


def _missing_parts(study: Study) -> Faults:
    """Faults: missing parts of a figure of merit; a study of tables alone has none."""
    if study.tables and not study.machines and not study.units_of_work:
        return
    if len(study.machines) < 2:
        yield ("machines",), f"there are {len(study.machines)} machines; a figure of merit needs at least two"
    if not study.units_of_work:
        yield ("units_of_work",), "'units_of_work' is missing or empty; add at least one"


def _machine_faults(study: Study) -> Faults:
    if study.machines and not study.baseline:
        threshold = study.figure_of_merit.threshold
        why = f"the threshold of {threshold:g} is a multiple of it" if threshold else "a figure of merit divides by it"
        yield ("baseline",), f"'baseline' is missing, and {why}; name one of {', '.join(study.machines)}"
    elif study.machines and study.baseline not in study.machines:
        yield ("baseline",), _unknown_machine(study.baseline, study)
    if any(unit.profile for unit in study.units_of_work.values()):
        for name, machine in study.machines.items():
            if not (machine.device or machine.system):
                yield ("machines", name), f"{name} has no device to estimate on; add 'device: …' or 'system: …'"
    for name, machine in study.machines.items():
        if machine.usd_per_device_hour and not (machine.system or machine.devices_per_node):
            yield ("machines", name), f"{name} has a price of a device, but no 'devices_per_node'; add it"


def _time_faults(study: Study) -> Faults:
    for name, unit in study.units_of_work.items():
        key, times = "time_per_unit" if unit.time_per_unit is not None else "amount_per_s", unit.by_machine
        if times is None:
            continue
        location, what = ("units_of_work", name, key), ("time", "4 h") if key == "time_per_unit" else ("rate", "1000")
        for machine in study.machines:
            if machine not in times:
                yield location, f"{name} has no {what[0]} on {machine}; add '{machine}: {what[1]}'"
        for machine in times if key == "time_per_unit" else ():
            if machine not in study.machines:
                yield (*location, machine), _unknown_machine(machine, study)


def _published_faults(study: Study) -> Faults:
    for i, entry in enumerate(study.published):
        location, unit = ("published", i), study.units_of_work.get(entry.unit or "")
        if (entry.machine is None) == (entry.device is None):
            yield location, "a published figure needs either 'machine' or 'device'; give one of them"
        if entry.machine is not None and entry.machine not in study.machines:
            yield location, _unknown_machine(entry.machine, study)
        if entry.quantity != "fom" and unit is None:
            known = study.units_of_work
            yield (
                location,
                f"'{entry.unit}' is not one of the units {', '.join(known)}.{suggestion(entry.unit or '', known)}",
            )
        if entry.device is not None and unit is not None and unit.profile is None:
            yield location, f"'{entry.unit}' has no profile to estimate on {entry.device}; name a machine"


def _unknown_machine(name: str, study: Study) -> str:
    return f"'{name}' is not one of the machines {', '.join(study.machines)}.{suggestion(name, study.machines)}"
