"""The study file: units of work on machines, a baseline, a figure of merit (``study.yaml`` → Study)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from estimator.core import interval, library, quantities, yaml_files
from estimator.core.errors import EstimatorError, suggestion
from estimator.core.parallel import read_split
from estimator.core.scenarios import Host, Input
from estimator.core.types import (
    LARGEST_SEED,
    MOST_DRAWS,
    Dollars,
    File,
    Fusing,
    Layout,
    Mode,
    Network,
    PlannedPrecision,
    Positive,
    Pue,
    Seconds,
    Share,
    Sharing,
    Spread,
    Texts,
    Whole,
)
from estimator.core.yaml_files import Faults
from estimator.devices.specs.catalogue import DEVICE_FILES, SYSTEM_FILES, find
from estimator.rollup import fom
from estimator.studies.audit.table import Table, table_faults
from estimator.studies.places import resolve_name
from estimator.studies.terms import OF_GIVEN_TIMES, Amount, Terms, term_faults


def _parallel(written: object) -> object:
    """Accept a word of ``core/parallel.py``."""
    try:
        read_split(written)
    except EstimatorError as fault:
        raise ValueError(str(fault).removeprefix("parallel ")) from None
    return written


GIVEN = "study"  # where the faults of a study lie that no file holds
Draws = Annotated[
    int, BeforeValidator(quantities.no_flag), Field(ge=0, le=MOST_DRAWS), AfterValidator(interval.enough_draws)
]
Seed = Annotated[int, BeforeValidator(quantities.no_flag), Field(ge=0, le=LARGEST_SEED)]
Steps = Annotated[float, BeforeValidator(quantities.no_flag), Field(gt=0, le=1e15)]
StepsByBatch = Annotated[dict[Whole, Steps], Field(min_length=1)]  # global batch → steps
Parallel = Annotated[str, BeforeValidator(_parallel)]


def _interval(written: object) -> float | str:
    """Accept ``auto``, or a time above zero."""
    return "auto" if written == "auto" else quantities.seconds(written)


class Checkpoint(File):
    """How often trainings write checkpoints, and how long that takes."""

    #: training time between two; auto: the interval that loses least
    every: Annotated[float | Literal["auto"], BeforeValidator(_interval)] = "auto"
    write: Seconds  #: what writing one takes


class Machine(File):
    """A machine: a shipped system, or nodes of a device, or nodes alone where times per unit are given."""

    system: str | None = None  #: a shipped system, or a system file: its path, or its name in the study's folder
    device: str | None = None  #: in place of a system: a shipped device, or a device file likewise
    nodes: Whole | None = None  #: of a machine given by its device; of a system, in place of its own
    devices_per_node: Whole | None = None  #: likewise
    node_name: str | None = None  #: what a node is called in the report; as the system calls it, else "node"
    measurements: str | None = None  #: path of a table of measured ops of its device
    network: Network | None = None  #: of a machine given by its device; of a system, what is other than its file says
    host: Host = None  #: profile, none, or a factor, for units that say nothing
    input: Input = None  #: what becomes of the time in which input is read, for units that say nothing
    precision: PlannedPrecision | None = None  #: of products, for units that name none: auto, as a TPU has no fp32
    fusion: Fusing | None = None  #: what a compiler fuses, for units that say nothing
    layout: Layout | None = None  #: of images, for units that say nothing
    fraction: Share | None = None  #: share of its nodes that run these units
    availability: Share | None = None  #: share of the time in which it is up
    mtbf_node: Seconds | None = None  #: mean time between failures of one node
    checkpoint: Checkpoint | None = None  #: of each training; without it a failure sends a training to its beginning
    pue: Pue | None = None  #: what the facility draws over what its computers draw
    usd_per_node_hour: Dollars | None = None  #: price of a node for an hour
    usd_per_device_hour: Dollars | None = None  #: price of a device for an hour

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

    time_per_unit: dict[str, Seconds] | None = None  #: given time of one unit, by machine, in place of a profile
    profile: str | None = None  #: a dump, a folder, or a shipped workload
    precision: PlannedPrecision | None = None  #: number format of the products on every machine; auto: the framework's
    fusion: Fusing | None = None  #: what a compiler fuses; the machine's, else none
    layout: Layout | None = None  #: of images; the machine's, else auto
    host: Host = None  #: profile, none, or a factor; the machine's, else as suits it
    input: Input = None  #: what becomes of the time in which input is read; the machine's, else carried
    batch_size: Whole | None = None  #: where it is not the profile's, the profile is taken to it
    mode: Mode | None = None  #: inference: the forward pass of a training's profile
    samples: Whole | None = None  #: in one epoch; the workload's where missing
    validation_samples: Whole | None = None  #: held out; forward passes over them end each epoch
    epochs: Whole | None = None  #: in one unit; the workload's where missing
    #: whether the last, smaller batch of an epoch makes a step: floor leaves it out
    steps_rounding: Literal["floor", "ceil"] | None = None
    load_time: Seconds | None = None  #: before the first step, and at each restart
    devices: Whole | None = None  #: of each training; they exchange gradients in the machine's network
    #: how devices share a training: data by default; the words of `estimator scale --parallel`
    parallel: Parallel | None = None
    #: batch_size is that of each copy of the model (weak, the default) or of all (strong)
    scaling: Literal["weak", "strong"] | None = None
    trainings_per_device: Whole | None = None  #: that share each device
    #: how they do: one at a time (in-turn, the default), or as one program that runs them all (fused)
    sharing: Sharing | None = None
    steps_to_quality: StepsByBatch | None = None  #: steps by global batch, in place of epochs
    count: Whole | None = None  #: units of a campaign, whose phases are the units with a count, in their order
    #: how far units of a campaign differ: standard deviation of the logarithm of their times
    spread: Spread | None = None
    weight: Positive = 1.0  #: in the mean of the figure of merit

    @model_validator(mode="after")
    def _has_one_source(self) -> UnitOfWork:
        if self.profile == "":
            raise ValueError("has an empty 'profile'; name a dump, a folder or a shipped workload")
        given = [name for name in ("time_per_unit", "amount_per_s", "profile") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("needs either 'time_per_unit' or 'profile' (or 'amount_per_s'); give one of them")
        of_profiles = self.model_fields_set - {"time_per_unit", "weight", "count", "spread"} - Terms.model_fields.keys()
        unused = self.model_fields_set.intersection(OF_GIVEN_TIMES) if self.profile else of_profiles
        if unused:
            reason = "is timed as a whole" if self.profile else "stands for the whole run"
            raise ValueError(f"gives '{given[0]}', which {reason}; delete {', '.join(sorted(unused))}")
        return self

    @model_validator(mode="after")
    def _agrees(self) -> UnitOfWork:
        if self.epochs is not None and self.steps_to_quality is not None:
            raise ValueError("names both 'epochs' and 'steps_to_quality'; keep one")
        if self.count is None and self.spread is not None:
            raise ValueError("says how far units of a campaign differ, but not how many there are; add 'count: 1000'")
        if self.devices is None and (self.parallel or self.scaling):
            raise ValueError("says how devices share a training, but not how many; add 'devices: 8'")
        if self.trainings_per_device is None and self.sharing:
            raise ValueError("says how trainings share a device, but not how many; add 'trainings_per_device: 4'")
        if self.devices is not None and self.trainings_per_device is not None:
            raise ValueError("names both 'devices' and 'trainings_per_device'; keep one")
        if self.devices is not None and self.mode == "inference":
            raise ValueError("names 'devices' of one training, but is of inference, which each device does by itself")
        for key in ("steps_to_quality", "validation_samples") if self.mode == "inference" else ():
            if getattr(self, key) is not None:
                raise ValueError(f"names '{key}' of a training, but is of inference; delete it")
        return self

    @property
    def by_machine(self) -> dict[str, float] | None:
        """What the study gives of each machine, a time or a rate; None where the time is predicted."""
        return self.time_per_unit if self.time_per_unit is not None else self.amount_per_s


class Published(File):
    """A published figure to compare with ours; with the reason where they differ."""

    quantity: str  #: fom, or the name of a number of the chain of unit and machine
    printed: str | float  #: the figure as the source prints it
    unit: str | None = None  #: the unit of work that it is of
    machine: str | None = None  #: the machine that it is of
    device: str | None = None  #: or the device
    #: the rates that the source used, by machine and unit: of machines, nodes or workers, as the figure of merit
    units_per_day: dict[str, dict[str, Amount]] = Field(default={})
    source: str  #: document and place
    reason: str | None = None  #: why it differs from ours


class Study(File):
    """One study file: machines and units of work for a figure of merit, published tables to audit, or both."""

    title: str  #: heading of the report
    description: str | None = None  #: a paragraph below it
    baseline: str = ""  #: the machine that the figure of merit divides by
    figure_of_merit: fom.Definition = fom.Definition()  #: its definition
    machines: dict[str, Machine] = Field(default={})  #: that are compared
    units_of_work: dict[str, UnitOfWork] = Field(default={})  #: what is counted on them
    published: tuple[Published, ...] = ()  #: figures of others, set beside ours
    tables: dict[str, Table] = Field(default={})  #: published tables to audit
    notes: Texts = ()  #: for the report
    draws: Draws = 1000  #: of the uncertain inputs, behind each interval
    seed: Seed = 0  #: of these draws


def find_study(name: str | Path) -> Path:
    """The path of a study file, or that of a shipped study by its name. Raises EstimatorError for an unknown name."""
    path, shipped = Path(name), library.names("reports", "*")
    if path.is_file() or (path / "study.yaml").is_file():
        return path if path.is_file() else path / "study.yaml"
    if str(name) in shipped:
        return shipped[str(name)] / "study.yaml"
    if path.exists() or library.looks_like_path(str(name)):
        return path
    raise library.unknown("study", str(name), shipped)


def read_study(path: str | Path) -> Study:
    """Read and check one study file. Raises EstimatorError with every fault and its line."""
    return _check(yaml_files.read_yaml(Path(path)))


def study_of(content: Mapping[str, Any]) -> Study:
    """Check a study that is given as the content of its file. Raises EstimatorError with every fault."""
    return _check(yaml_files.Document(Path(GIVEN), yaml_files.plain(content), {}))


def _check(document: yaml_files.Document) -> Study:
    """The study of a document. Raises EstimatorError with every fault."""
    study = yaml_files.check(Study, document)
    faults = [
        f"{document.where(location)}: {sentence}"
        for location, sentence in (
            *_missing_parts(study),
            *_machine_faults(study),
            *_unknown_names(study, document.path.parent),
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
        there = f"are {len(study.machines)} machines" if len(study.machines) != 1 else "is 1 machine"
        yield ("machines",), f"there {there}; a figure of merit needs at least two"
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
        if not name.strip():
            yield ("machines", name), "a machine has an empty name; write one, as tables and figures show it"
        if machine.usd_per_device_hour and not (machine.system or machine.devices_per_node):
            yield ("machines", name), f"{name} has a price of a device, but no 'devices_per_node'; add it"


def _unknown_names(study: Study, folder: Path) -> Faults:
    """Faults: systems and devices of machines that neither the library nor the study's folder has."""
    patterns = {"system": SYSTEM_FILES, "device": DEVICE_FILES}
    named = ((name, kind, getattr(machine, kind)) for name, machine in study.machines.items() for kind in patterns)
    for name, kind, wanted in named:
        try:
            if wanted:
                find(kind, resolve_name(folder, wanted), patterns[kind])
        except EstimatorError as error:
            yield from ((("machines", name, kind), fault) for fault in error.faults)


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
            if study.machines and machine not in study.machines:
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
