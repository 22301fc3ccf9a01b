"""The types that stages exchange. All are frozen and in SI units; absence is None or NA.

Types that people write in YAML are pydantic models, so that one declaration validates and documents them; types that
the program computes are dataclasses. *Samples* are arrays whose first axis has 1 + draws entries: entry 0 is the value
at nominal inputs, each other entry is one seeded draw of the uncertain inputs.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from estimator.core import quantities, units
from estimator.core.errors import EstimatorError
from estimator.core.notes import Note, left_open, sentences
from estimator.core.number_formats import read_word
from estimator.core.scenarios import Host, Input, read_host, read_input

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Names = npt.NDArray[np.object_]  # words that many rows share
Status = Literal["read", "recall", "derived", "assumed", "measured"]
Confidence = Literal["high", "medium", "low"]
Fusing = Literal["none", "elementwise"]
Sharing = Literal["in-turn", "fused"]  # of a device by trainings: one at a time, or as one program
Layout = Literal[
    "auto", "none", "converted", "channels-first", "channels-last"
]  # of images in the target's library, where it differs from the profile's
Mode = Literal["training", "inference"]
Covers = Literal["inputs", "all"]  # declared uncertainties of the inputs; the models' own errors too
LARGEST_BATCH = 10**9  # samples in one step
LARGEST_SEED = 2**63 - 1
MOST_DRAWS = 100_000
GPU_UNITS = ("sm", "smm", "smx", "cu", "wgp")  # compute units of the GPUs whose libraries have images channels first
Format = Literal["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8", "int4"]
Precision = Annotated[Format, BeforeValidator(read_word)]
PlannedPrecision = Annotated[Literal[Format, "auto"], BeforeValidator(read_word)]  # auto: the framework's default

ITEMSIZE: dict[str, float] = {  # bytes of one element; tf32 is stored as fp32
    "fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1, "fp4": 0.5, "int4": 0.5,
}  # fmt: skip
STORED_AS = {  # format of products → format in which what they read and write is stored, where they differ
    "tf32": "fp32", "fp8": "bf16", "fp4": "bf16", "int8": "bf16", "int4": "bf16",
}  # fmt: skip


def stored_format(precision: str) -> str:
    """The format in which products of this format leave their results."""
    return STORED_AS.get(precision, precision)


def itemsizes(precision: pd.Series) -> Floats:
    """Bytes of one element in each row's precision."""
    each, names = precision.factorize()
    sizes = np.array([*(ITEMSIZE.get(name, np.nan) for name in names), np.nan])  # the last one where there is no name
    return np.asarray(sizes[each])


def stored_itemsizes(precision: pd.Series) -> Floats:
    """Bytes of one element of what products in each row's precision leave in memory."""
    return itemsizes(precision.replace(STORED_AS))


class File(BaseModel):
    """Base of all types read from YAML: unknown keys are faults, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Sourced(File):
    """A number with its origin. ``relative_uncertainty`` u: the 90 % interval of value v is [v/(1+u), v·(1+u)]."""

    value: float  #: a quantity, as text with its unit
    unit: str  #: follows from the value; no key of a file
    #: how it is known: read in its source, recalled, derived from numbers read, assumed, or measured
    status: Status | None = None
    confidence: Confidence | None = None  #: how far the source is to be trusted
    #: written `uncertainty: 3 %`: the 90 % interval of value v is [v/(1+u), v·(1+u)]
    relative_uncertainty: float | None = None
    source: str | None = None  #: document and place, such as a page or table
    note: str | None = None  #: what a reader of the number should know
    waiver: str | None = None  #: `lint-name: reason` silences one lint of the catalogue

    @property
    def unverified_reason(self) -> str:
        """Why the number is unverified, in words; empty where it is not."""
        unstated = "not said to have been read in its source" if self.source else "given without a source"
        return {"recall": "recalled, not re-read", "assumed": "assumed", None: unstated}.get(self.status, "")

    @property
    def unverified(self) -> bool:
        """Whether the number was not read in its source: it is recalled, assumed, or has no source."""
        return bool(self.unverified_reason)

    def __str__(self) -> str:
        shown = [units.show(self.value, self.unit, binary=binary) for binary in (False, self.unit == "B")]
        return min(shown, key=len)


class PeakRate(Sourced):
    """A dense arithmetic peak on one path, with its format of accumulation and its clock [Hz].

    ``flop_per_clock`` is that of one compute unit: peak = compute_units · flop_per_clock · clock.
    """

    accumulate: Precision | None = None  #: number format of the sums; without it, vector units sum in the factors' own
    clock: float | None = None  #: clock that the peak holds at
    #: FLOP of one compute unit in one cycle
    flop_per_clock: Annotated[float, BeforeValidator(quantities.no_flag), Field(gt=0)] | None = None


class Peak(File):
    """The peaks of one precision on the vector units and on the tensor (matrix) units."""

    vector: PeakRate | None = None  #: of the vector units
    tensor: PeakRate | None = None  #: of the tensor (matrix) units
    supported: bool = True  #: false: the hardware has no such path; written `fp8: unsupported`

    @property
    def rates(self) -> tuple[PeakRate, ...]:
        """Those that are known, that of the vector units first."""
        return tuple(rate for rate in (self.vector, self.tensor) if rate)

    @property
    def matrix(self) -> PeakRate | None:
        """The peak for matrix products: of tensor units where there are any, else of vector units."""
        return self.tensor or self.vector


def _whole(count: Sourced) -> Sourced:
    """Refuse a count with a fraction."""
    if count.value % 1:
        raise ValueError(f"is {count.value:g}; write a whole number such as 18688")
    return count


Seconds = Annotated[float, BeforeValidator(quantities.seconds)]
Dollars = Annotated[float, BeforeValidator(quantities.dollars)]
Pue = Annotated[float, BeforeValidator(quantities.pue)]
Share = Annotated[float, BeforeValidator(quantities.share)]
Spread = Annotated[float, BeforeValidator(quantities.spread)]  # standard deviation of a logarithm
Rate = Annotated[Sourced, quantities.sourced("B/s")]
Size = Annotated[Sourced, quantities.sourced("B")]
Frequency = Annotated[Sourced, quantities.sourced("Hz")]
Power = Annotated[Sourced, quantities.sourced("W")]
Time = Annotated[Sourced, quantities.sourced("s")]
Arithmetic = Annotated[Sourced, quantities.sourced("FLOP/s")]
Count = Annotated[Sourced, quantities.sourced("1"), AfterValidator(_whole)]
Positive = Annotated[float, BeforeValidator(quantities.no_flag), Field(gt=0, le=1e9)]
Whole = Annotated[int, BeforeValidator(quantities.no_flag), Field(gt=0, le=10**15)]
Year = Annotated[int, BeforeValidator(quantities.no_flag), Field(ge=1950, le=9999)]
Slots = Annotated[float, BeforeValidator(quantities.no_flag), Field(ge=0, le=16)]
Texts = Annotated[tuple[str, ...], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)]


class _PeakFile(Peak):
    """The peaks of one precision. In short a rate alone, or a rate with ``path: vector`` or ``tensor`` beside it."""

    vector: Annotated[PeakRate, quantities.sourced("FLOP/s")] | None = None  #: of the vector units
    tensor: Annotated[PeakRate, quantities.sourced("FLOP/s")] | None = None  #: of the tensor (matrix) units


class Link(File):
    """A device's links to other devices: per direction, of these to one neighbour, and both directions in all."""

    name: str | None = None  #: such as NVLink 4
    per_direction: Rate | None = None  #: of all links together, in one direction
    per_neighbour: Rate | None = None  #: in one direction, to one other device; the most where pairs differ
    slowest_neighbour: Rate | None = None  #: in one direction, to that of a node which it reaches slowest
    total: Rate | None = None  #: of all links together, both directions

    @model_validator(mode="after")
    def _says_something(self) -> Link:
        if not self.model_fields_set:
            raise ValueError("is empty; write its rate, such as {per_direction: 450 GB/s}, or leave it out")
        return self

    @property
    def one_way(self) -> Sourced | None:
        """Of all links together, in one direction: as the file states, else half of their total."""
        if self.per_direction or self.total is None:
            return self.per_direction
        return self.total.model_copy(update={"value": self.total.value / 2})


class MeasuredLink(File):
    """What timed collectives of one kind and size of group show: α of a short one, β of each byte; None where unknown.

    ``t = latency_s + seconds_per_byte · S``.
    """

    operator: str  #: the collective
    ranks: Whole  #: devices that take part
    ranks_per_node: Whole | None = None  #: of these, devices of one node
    latency_s: float | None = Field(default=None, gt=0)  #: time of a short message
    seconds_per_byte: float | None = Field(default=None, gt=0)  #: time of each further byte


Transport = Literal["rdma", "sockets"]


class Network(File):
    """How the devices of a machine reach each other: those that their own links join, and the network beyond."""

    #: devices that their own links join: of one node, or of more where the links reach further
    linked_devices: Whole | None = None
    interconnect: str | None = None  #: its name, which tells how a message is sent where 'transport' does not
    #: sockets: messages go through the operating system, as TCP; rdma: they bypass it
    transport: Transport | None = None
    injection_bandwidth: Rate | None = None  #: of one node, in one direction
    latency: Time | None = None  #: of a short message between two nodes
    topology: str | None = None  #: such as dragonfly; for readers
    taper: float = Field(default=1.0, ge=1.0)  #: bandwidth into a node over its share of the network's core
    in_network: bool = False  #: whether its switches reduce what passes through them
    measured: tuple[MeasuredLink, ...] = ()  #: what timed collectives show; the program fills it in
    devices_per_node: Whole | None = None  #: of its machine; the program fills it in

    @property
    def linked_nodes(self) -> float:
        """Nodes whose devices the links join; 1 where they reach no further than a node."""
        per_node = self.devices_per_node or 0
        return max(1.0, (self.linked_devices or per_node) / per_node) if per_node else 1.0


class Part(File):
    """A module or board with several equal parts, one of which is the device."""

    device: str  #: name of the module or board
    parts: Whole  #: equal parts that it has


class DeviceSpec(File):
    """One device as in its vendor's data sheet; every number has its source."""

    name: str  #: the file's name without `.yaml`
    aliases: tuple[str, ...] = ()  #: other names, in any case
    vendor: str | None = None  #: who makes it
    architecture: str | None = None  #: devices of one are left out together where accuracy is judged
    year: Year | None = None  #: in which it came to market
    announced: bool = Field(default=False, strict=True)  #: whether its numbers are an announcement's, not final
    part_of: Part | None = None  #: the module or board that it is a part of
    specifications: Literal["known", "incomplete", "unknown"] = "known"  #: unless known, it cannot be a target
    #: dense rates of arithmetic by precision; fp64 and fp32 are vector, all others tensor, unless said
    peak: Annotated[dict[Precision, _PeakFile], BeforeValidator(quantities.read_peaks)] = {}
    memory_bandwidth: Rate | None = None  #: of its main memory
    memory_capacity: Size | None = None  #: of its main memory
    memory_type: str | None = None  #: such as HBM3 or GDDR6
    #: what one is called: 'core' tells a processor; SM, SMM, SMX, CU and WGP a GPU, whose library has channels
    #: first; any other word another accelerator; no name a GPU
    compute_unit: str | None = None
    compute_units: Count | None = None  #: how many there are; tells how far small products fill it
    base_clock: Frequency | None = None  #: guaranteed clock
    boost_clock: Frequency | None = None  #: highest clock
    last_level_cache: Size | None = None  #: of all compute units together
    power_limit: Power | None = None  #: of the board or module; tells what share of its peaks it sustains
    launch_latency: Time | None = None  #: what launching a kernel takes
    link: Link | None = None  #: its own links to other devices
    pcie_generation: Whole | None = None  #: of its PCI Express bus
    pcie_lanes: Whole = 16  #: of its PCI Express bus
    network: Network | None = None  #: of the machine that it is built into
    source: str | None = None  #: where the words of the file are from, and numbers without a source of their own
    notes: tuple[str, ...] = ()  #: what a reader of the file should know

    @model_validator(mode="after")
    def _enough(self) -> DeviceSpec:
        if self.specifications == "known":
            if not any(peak.matrix for peak in self.peak.values()):
                raise ValueError("no peak is given; add one such as 'peak: {fp32: 60 TFLOP/s}'")
            if self.memory_bandwidth is None:
                raise ValueError("'memory_bandwidth' is missing; add a rate such as '900 GB/s'")
        return self

    @property
    def family(self) -> str:
        """What accuracy is judged without: all devices of its architecture; where that is unknown, it alone."""
        return self.architecture or self.name

    def __repr__(self) -> str:
        return f"DeviceSpec({self.name})"

    @property
    def is_processor(self) -> bool:
        """Whether its compute units are a processor's cores."""
        return self._unit_word == "core"

    @property
    def is_gpu(self) -> bool:
        """Whether its compute units are called as those of NVIDIA's or AMD's GPUs, or have no name."""
        return self.compute_unit is None or self._unit_word in GPU_UNITS

    @property
    def _unit_word(self) -> str:
        return (self.compute_unit or "").strip().casefold().removesuffix("s")

    @property
    def clock(self) -> float | None:
        """The boost clock [Hz], else the highest that a peak states; None where there is none."""
        if self.boost_clock:
            return self.boost_clock.value
        return max((rate.clock for peak in self.peak.values() for rate in peak.rates if rate.clock), default=None)

    def is_called(self, name: str) -> bool:
        """Whether it has this name or alias, in any case."""
        return name.lower() in {known.lower() for known in (self.name, *self.aliases)}

    def peak_of(self, precision: str) -> Peak:
        """The peaks of one precision; empty where nothing is known of it."""
        return self.peak.get(precision, Peak())  # type: ignore[call-overload,no-any-return]


class SystemSpec(File):
    """One machine: its nodes, their devices and the interconnect."""

    name: str  #: the file's name without `.yaml`
    aliases: tuple[str, ...] = ()  #: other names, in any case
    site: str | None = None  #: where it stands
    year: Year | None = None  #: of its installation
    announced: bool = Field(default=False, strict=True)  #: whether its numbers are an announcement's, not final
    nodes: Count  #: with devices, that one program can use
    node_name: str = "node"  #: what one is called in a report
    device: str  #: name of a device of the catalogue, or of a device file in this folder
    devices_per_node: Count  #: of that device
    linked_devices: Count | None = None  #: devices that their own links join; those of a node where none is given
    host: str | None = None  #: the nodes' processor; for readers
    interconnect: str | None = None  #: its network's name, which tells how a message is sent where 'transport' does not
    #: sockets: messages go through the operating system, as TCP; rdma: they bypass it
    transport: Transport | None = None
    topology: str | None = None  #: such as dragonfly; for readers
    injection_bandwidth: Rate | None = None  #: of one node, in one direction
    latency: Time | None = None  #: of a short message between two nodes
    taper: float = Field(default=1.0, ge=1.0)  #: bandwidth into a node over its share of the network's core
    in_network: bool = False  #: whether its switches reduce what passes through them
    power: Power | None = None  #: of the whole system, as the TOP500 prints it
    rpeak: Arithmetic | None = None  #: as the TOP500 prints it: never a device's peak times a count
    rmax: Arithmetic | None = None  #: as the TOP500 prints it: what Linpack reached
    source: str | None = None  #: where the words of the file are from, and numbers without a source of their own
    notes: tuple[str, ...] = ()  #: what a reader of the file should know

    def __repr__(self) -> str:
        return f"SystemSpec({self.name}: {int(self.nodes.value)} x {int(self.devices_per_node.value)} {self.device})"

    @property
    def network(self) -> Network:
        """The nodes and the network between them."""
        shared = {name: getattr(self, name) for name in Network.model_fields if name in type(self).model_fields}
        joined, per_node = self.linked_devices or self.devices_per_node, int(self.devices_per_node.value)
        known = {"linked_devices": int(joined.value), "devices_per_node": per_node}
        return Network().model_copy(update={**shared, **known})

    def of_nodes(self, count: int) -> SystemSpec:
        """A machine of so many such nodes: power grows with them, and no list has its Linpack."""
        ratio = count / self.nodes.value
        nodes = self.nodes.model_copy(update={"value": float(count), "status": None, "source": "as asked for"})
        power = self.power and self.power.model_copy(update={"value": ratio * self.power.value})
        return self.model_copy(update={"nodes": nodes, "power": power, "rpeak": None, "rmax": None})


class UpdateOp(File):
    """The work of one op type of an optimizer update for each variable: calls, and tensor passes per call."""

    calls: Whole  #: for each variable and update
    reads: int = Field(ge=0)  #: tensors that a call reads
    writes: int = Field(ge=0)  #: tensors that a call writes
    flop: int = Field(default=1, ge=0)  #: for each parameter and call


class Optimizer(File):
    """The optimizer rule: its name, and the ops that a framework without a fused update runs for each variable."""

    name: str  #: such as sgd, adam or rmsprop
    #: by type: ops that run for each variable, where the framework does not fuse the update
    update_ops: dict[str, UpdateOp] = {}


class Workload(File):
    """Facts about the profiled training run that its profile does not hold (``workload.yaml``)."""

    name: str  #: short name; by default that of its folder
    title: str | None = None  #: for readers
    mode: Mode = "training"  #: what the profiled run did
    model: str | None = None  #: what was trained, in words
    framework: str | None = None  #: such as TensorFlow 2.18
    precision: Precision = "fp32"  #: number format of the profiled products
    parameters: Whole | None = None  #: trained numbers
    frozen_parameters: Whole | None = None  #: numbers that are not trained, such as those that adapters are added to
    #: number format in which training keeps them, with gradients and states; fp32 or wider where nothing shows another
    parameter_precision: Precision | None = None
    variables: Whole | None = None  #: tensors that hold the parameters
    layer_outputs: tuple[Whole, ...] = ()  #: elements per sample that each layer writes, in order
    batch_size: Whole | None = None  #: samples in one step on one device
    samples: Whole | None = None  #: in one epoch
    epochs: Whole | None = None  #: in one run
    #: whether the last, smaller batch of an epoch makes a step: floor leaves it out
    steps_rounding: Literal["floor", "ceil"] = "floor"
    optimizer: Optimizer | None = None  #: its rule, for memory and added updates
    optimizer_slots: Slots | None = None  #: its states of the parameters' size, such as 2 for Adam
    #: whether the forward pass still holds the gradients of the last step, as they are set to nothing behind it
    gradients_in_forward: bool = False
    default_profile: str | None = None  #: of several dumps, the one that the workload's name alone means
    source: str | None = None  #: where these facts are from
    notes: tuple[str, ...] = ()  #: what a reader should know


class PowerCoefficients(File):
    """What devices draw between idle and their power limit, as shares of that range."""

    source: str
    idle_share: float = Field(gt=0, lt=1, description="of the power limit that a device draws without work")
    idle_gddr_w_per_byte: float = Field(ge=0, description="what graphics memory draws in addition [W/B]")
    idle_std: float = Field(ge=0, description="standard deviation (logarithm) of the idle power between devices")
    busy: float = Field(ge=0, lt=1, description="of the range, while kernels run that use neither peak nor bandwidth")
    compute: float = Field(gt=0, description="of the range, at peak arithmetic, beyond that")
    memory: float = Field(gt=0, description="of the range, at full bandwidth, beyond that")
    intensity_std: float = Field(ge=0, description="standard deviation (logarithm) of these between devices")
    clock_exponent: float = Field(gt=0, description="of the sustained clock by the power above idle")
    clock_exponent_std: float = Field(ge=0, description="standard deviation (logarithm) of that between devices")
    reading_std: float = Field(ge=0, description="standard deviation (logarithm) of a board's own reading")


@dataclass(frozen=True)
class StepTensors:
    """What a step holds in memory apart from its variables, at each of its moments [B].

    ``evidence`` tells how it is known: from the flow of tensors between ops; from that of a plan, of which nothing ran;
    from what each operator keeps for its gradient; from the sizes of the layers' outputs alone; or not at all, so that
    the activations are 0. ``kept``: the activations of the forward pass up to the last block's result. ``run_again``:
    how many blocks checkpoints run again.
    """

    activations: Floats
    gradients: Floats
    workspace: Floats
    evidence: Literal["flow", "plan", "rules", "layers", "none"]
    kept: float = 0.0
    run_again: int = 0


@dataclass(frozen=True)
class Variables:
    """What training keeps from step to step: parameters, the optimizer's states, and copies for products [B].

    Inference has neither states nor ``gradients``, which are those of all parameters. ``frozen``: weights that are not
    trained.
    """

    parameters: float
    optimizer: float
    slots: float  # states of the parameters' size
    gradients: float
    block: float = 0.0  # weights of the largest block, as products take them
    block_gradients: float = 0.0  # of the block that has most of them, as they travel
    frozen: float = 0.0
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class MemoryUse:
    """Memory of one training or inference on one device: samples of each part [B], which add up to the total."""

    parts: Mapping[str, Floats] = field(repr=False)
    capacity: float | None = None  # [B]
    batch: int | None = None
    largest_batch: int | None = None
    mode: Mode = "training"
    notes: tuple[Note, ...] = ()
    trainings: int = 1  # that the device holds, of which these are all parts
    parts_once: tuple[str, ...] = ()  # parts that all of them share

    @property
    def fits(self) -> bool | None:
        """Whether the nominal total is within the capacity; None where that is unknown."""
        return None if self.capacity is None else bool(self.total[0] <= self.capacity)

    @property
    def total(self) -> Floats:
        """Samples of the sum of the parts [B]."""
        return np.asarray(sum(self.parts.values()))


@dataclass(frozen=True)
class Timeline:
    """TIMELINE of one typical step, when its host goes on to the next one [s], and how long the step took [s]."""

    events: pd.DataFrame = field(repr=False)
    host_step_s: float
    step_s: float


@dataclass(frozen=True)
class DeviceNumbers:
    """What a profiler records of a device in addition to its name; NaN where it records nothing."""

    compute_units: int
    memory: float  # [B]
    clock: float = math.nan  # [Hz]
    bandwidth: float = math.nan  # [B/s]
    vendor: str | None = None


@dataclass(frozen=True, repr=False)
class Profile:
    """One profiled training run: OPS per step, and the times of the step as a whole."""

    ops: pd.DataFrame
    workload: Workload
    device: str | None
    format: str
    device_recorded: str | None = None  # what the profiler calls the device
    device_numbers: DeviceNumbers | None = None  # what it tells of the device beside that
    steps: int = 1
    updates: int | None = None  # by the optimizer in the dump, where these bound its steps
    turns: float = 0.0  # updates of the weights in each step, in a loop or one behind the other, where they tell
    ranks: int = 1  # processes or devices that the ops are the mean of
    world_size: int | None = None  # ranks of the run, of which the dump may hold a few; None where it does not tell
    recorded_s: tuple[float, float] | None = None  # start and end of the record, on a clock that its processes share
    wall_step_s: float | None = None  # without the profiler where that is known
    busy_step_s: float | None = None  # time in which any op ran
    profiled_step_s: float | None = None  # wall time under the profiler
    timeline: Timeline | None = None  # where the dump has the times of single events
    step_spread: float = 0.0  # standard deviation of the logarithm of its steps' wall time; 0 where unknown
    tool_version: str | None = None
    sha256: str = ""
    files: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        batch = f", batch {self.workload.batch_size}" if self.workload.batch_size else ""
        place = f" on {self.device}" if self.device else ""
        return f"Profile({self.workload.name}{place}{batch}: {len(self.ops)} ops, {self.format})"

    @property
    def ran(self) -> bool:
        """Whether any of its ops ran and took time; not where a workload is given as layers."""
        return bool((self.ops["time_s"] > 0).any())

    @property
    def where(self) -> str:
        """The place that errors about its ops name: the file, or the folder of several files."""
        if not self.files:
            return self.workload.name
        return str(self.files[0] if len(self.files) == 1 else self.files[0].parent)


def whole_number(given: object) -> int | None:
    """A whole number of Python or numpy; None for anything else."""
    try:
        return None if isinstance(given, bool) else operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        return None


def _whole_from(name: str, given: object, least: int, most: int) -> int:
    """A whole number in a range. Raises EstimatorError for anything else."""
    number = whole_number(given)
    if number is None or not least <= number <= most:
        raise EstimatorError(f"{name} {given!r} is out of range; expected a whole number from {least} to {most}")
    return number


@dataclass(frozen=True)
class RunPlan:
    """How a profile is to run on a target: device, precision of the matrix products, fusion, draws and seed.

    Where ``batch`` or ``mode`` is None, it is the profile's own. Target and source are names or paths of the catalogue,
    or names in ``given``.
    """

    target: str
    precision: str | None = None
    fusion: Fusing = "none"
    source: str | None = None
    measurements: str | None = None
    draws: int = 1000
    seed: int = 0
    batch: int | None = None
    mode: Mode | None = None
    layout: Layout = "auto"
    host: Host = None
    input: Input = None
    system: str | None = None  # the machine in whose network the target is
    network: Network | None = None  # that network, where no file of a machine gives it
    power_limit: Sourced | None = None  # of the target in its machine, where its own is not known
    trainings: int = 1  # that the target's memory must hold at once
    sharing: Sharing = "in-turn"  # how these share the target
    given: Mapping[str, DeviceSpec] = field(default_factory=dict, repr=False)  # devices that no file gives, by name

    @property
    def fused_trainings(self) -> int:
        """Trainings that one program runs."""
        return self.trainings if self.sharing == "fused" else 1

    def __post_init__(self) -> None:
        for name, read in (("host", read_host), ("input", read_input)):
            try:
                object.__setattr__(self, name, read(getattr(self, name)))
            except ValueError as error:
                raise EstimatorError(f"{name} {error}") from None
        if self.batch is not None:
            object.__setattr__(self, "batch", _whole_from("batch", self.batch, 1, LARGEST_BATCH))
        object.__setattr__(self, "seed", _whole_from("seed", self.seed, 0, LARGEST_SEED))
        object.__setattr__(self, "draws", _whole_from("draws", self.draws, 0, MOST_DRAWS))
        object.__setattr__(self, "precision", read_word(self.precision))
        if self.precision not in (None, "auto", *ITEMSIZE):
            known = ", ".join(["auto", *ITEMSIZE])
            raise EstimatorError(f"precision '{self.precision}' is not known; expected one of {known}")
        chosen = {"fusion": Fusing, "layout": Layout} | ({} if self.mode is None else {"mode": Mode})
        for name, words in chosen.items():
            if getattr(self, name) not in get_args(words):
                expected = " or ".join(get_args(words))
                raise EstimatorError(f"{name} '{getattr(self, name)}' is not known; expected {expected}")


@dataclass(frozen=True)
class Fusion:
    """A compiler's fusion in one step: its chains, their ops, and the saved traffic [B] and launches."""

    kind: Fusing = "none"
    chains: int = 0
    ops: int = 0
    saved_bytes: float = 0.0
    saved_launches: float = 0.0

    def describe(self) -> str:
        """A sentence on it for predictions that assume it."""
        if not self.ops:
            return "no known chain of element-wise ops could be fused by a compiler"
        saved = f"{units.show(self.saved_bytes, 'B', 4)} of traffic and {self.saved_launches:g} launches less a step"
        return (
            f"a compiler fuses {self.ops} element-wise ops into {self.chains} kernels: {saved}; "
            "each kernel's work is booked on its first op, and results that later ops need are computed again"
        )


@dataclass(frozen=True)
class Interval:
    """A value at nominal inputs, and the ends of the interval that holds ``level`` of the draws; None without ends."""

    low: float | None
    mid: float
    high: float | None
    level: float = 0.9
    covers: Covers = "inputs"


@dataclass(frozen=True)
class MeasuredDevice:
    """A device and its MEASUREMENTS."""

    device: DeviceSpec
    measurements: pd.DataFrame = field(repr=False)


@dataclass(frozen=True)
class Prediction:
    """PREDICTION: one row per op, and the samples (1 + draws × ops) of each op's time on the target [s/step]."""

    ops: pd.DataFrame = field(repr=False)
    samples: Floats = field(repr=False)
    launch: Floats = field(repr=False)  # samples of the part of each time that is launch latency
    floor_s: Floats = field(repr=False)
    ceiling_s: Floats = field(repr=False)
    run: Floats = field(repr=False)  # samples of the time of another run on the source / the profiled run's time
    covered_fraction: float
    coefficients: Mapping[str, Any] = field(repr=False)  # of the model, with their sources
    warnings: tuple[Note, ...] = ()


@dataclass(frozen=True)
class StepTime:
    """The parts of one step's time, each an array of samples [s]; they add up to the total."""

    compute: Floats
    memory: Floats
    latency: Floats
    communication_exposed: Floats
    input: Floats
    host: Floats
    unmodelled: Floats
    total: Floats

    def to(self, total_s: Floats) -> StepTime:
        """The step of this length [s], every part with its share."""
        return StepTime(**{name: part * (total_s / self.total) for name, part in vars(self).items()})

    def parts(self) -> dict[str, Floats]:
        """Every part by name, without the total."""
        return {name: value for name, value in vars(self).items() if name != "total"}


@dataclass(frozen=True, repr=False)
class Estimate:
    """The prediction of one profile on one target device: step time with its parts, evidence and bounds."""

    profile: Profile
    source: DeviceSpec | None
    target: DeviceSpec
    plan: RunPlan
    precision: str
    prediction: Prediction
    overlap: Floats  # share of each op's time by which it lengthens the step
    running_s: Floats  # sum of the times of the device's ops, concurrent or not
    step: StepTime
    kernels_s: Floats  # the step with neither the host's time nor input
    host: str  # the scenario of the host
    input: str  # the scenario of input
    matrix_step_s: Floats  # matrix products only: the lecture's own roll-up
    source_step_s: float  # without what the scenario leaves out; NaN where the source ran another batch, or nothing ran
    floor_s: float
    ceiling_s: float
    coverage: float  # share of the source's step in ops that are modelled; NaN where nothing ran
    evidence: Mapping[str, float]  # share of the step by method, the largest first
    fusion: Fusion = Fusion()
    memory: MemoryUse | None = None  # what the device must hold; None where nothing tells the parameters
    power_w: Floats | None = None  # mean over the step; None where that is unknown
    specifications: Mapping[str, Sourced] = field(default_factory=dict)  # the catalogue's numbers that it uses
    notes: tuple[Note, ...] = ()
    copies: int = 1  # of the model that train together
    of_group: bool = False  # whether the step is that of devices that train together, with their messages

    def __repr__(self) -> str:
        step = units.show(float(self.step.total[0]), "s", 4)
        return f"Estimate({self.profile.workload.name} on {self.target.name}, {self.precision}: {step} a step)"

    @property
    def energy_j(self) -> Floats | None:
        """Samples of the energy that the device takes for a step [J]."""
        return None if self.power_w is None else self.power_w * self.step.total

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Sentences on its unverified assumptions."""
        return sentences(self.notes, "left-open", "assumption")

    @property
    def left_open(self) -> tuple[str, ...]:
        """What of them ends where a user gives a number or a setting, without details."""
        return left_open(self.notes)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on possible causes of error."""
        return sentences(self.notes, "warning")


@dataclass(frozen=True)
class Number:
    """One number of a report with its derivation: samples, unit, level, formula, and the ids of its inputs."""

    id: str
    label: str
    samples: Floats = field(repr=False)
    unit: str
    level: str
    formula: str
    inputs: tuple[str, ...] = ()
    source: str | None = None


@dataclass(frozen=True)
class FigureOfMerit:
    """The figure of merit of one target over the baseline, and its values under other definitions."""

    target: str
    samples: Floats = field(repr=False)
    p_threshold: float | None
    dominant_unit: str
    other_definitions: Mapping[str, float]
    level: str = "system"  # whose rates are compared: the whole machines', or those of one node or worker
    means: Mapping[str, Floats] = field(default_factory=dict, repr=False)  # each machine's own, of a ratio of means
    means_unit: str = "1/day"
    groups: Mapping[str, float] = field(default_factory=dict)  # the figure of each class of units alone
    presets: Mapping[str, tuple[float, str]] = field(default_factory=dict)  # preset → its figure, dominant unit
    with_algorithm: Floats | None = field(default=None, repr=False)  # times the algorithmic factors of its units
    committed: Floats | None = field(default=None, repr=False)  # with what is committed in place of the projected
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """A published figure [SI] and ours, with the reason where they differ."""

    quantity: str
    unit: str | None
    on: str
    printed: float
    ours: Number
    source: str
    reason: str | None = None
    with_their_rates: float | None = None  # our figure with the source's rates
    implied_step_s: float | None = None  # the step time that a printed time per epoch implies
    estimate: Estimate | None = field(default=None, repr=False)  # made for this comparison alone
    numbers: tuple[Number, ...] = field(default=(), repr=False)  # and the chain derived from it


@dataclass(frozen=True)
class Appendix:
    """A part of a report beside the study's own figures: plain data with its numbers and estimates."""

    kind: str  # names the template that lays it out
    heading: str  # of a report that has nothing else
    title: str
    document: Mapping[str, Any] = field(repr=False)  # for programs, and for the template
    view: Mapping[str, Any] = field(repr=False)  # for the template alone
    numbers: tuple[Number, ...] = field(repr=False)
    estimates: Mapping[str, Estimate] = field(repr=False)


def pair_id(pair: tuple[str, ...]) -> str:
    """``machine/unit``, the start of the ids of a chain's numbers, unique whatever the names hold."""
    return "/".join(name.replace("%", "%25").replace("/", "%2F") for name in pair)


Chains = dict[tuple[str, str], dict[str, Number]]  # (machine, unit) → the numbers of its roll-up by name


@dataclass(frozen=True)
class Refusal:
    """Why a machine cannot run a unit of work; ``fits``: False where its devices lack the memory, else None."""

    why: str
    fits: bool | None = None


@dataclass(frozen=True, repr=False)
class StudyResult:
    """The content of a report: every number with its derivation, every estimate, every figure of merit."""

    title: str
    description: str | None
    notes: tuple[str, ...]
    baseline: str
    definition: str
    threshold: float | None
    draws: int
    seed: int
    pairs: tuple[tuple[str, str], ...]  # every machine and unit, in the order of the study
    chains: Chains
    foms: Mapping[str, FigureOfMerit]
    fom_numbers: Mapping[str, Number]  # the figures of merit and the units' weights, by id
    estimates: Mapping[tuple[str, str], Estimate]
    comparisons: tuple[Comparison, ...] = ()
    refusals: Mapping[tuple[str, str], Refusal] = field(default_factory=dict)  # (machine, unit) that have no chain
    campaigns: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)  # by machine that runs all phases
    without_fom: Mapping[str, str] = field(default_factory=dict)  # machines without a figure of merit, and why
    appendices: tuple[Appendix, ...] = ()
    machine_notes: tuple[Note, ...] = ()  # whose subject is a machine; those on devices are the estimates' own
    specifications: Mapping[str, Sourced] = field(default_factory=dict)  # the catalogue's numbers behind the figures
    inputs: Mapping[str, str] = field(default_factory=dict)  # SHA-256 by a name that holds on every machine
    level: str = "system"  # whose rates the figures of merit compare
    preset: Mapping[str, Any] | None = None  # the published definition of the figure of merit, with its sources

    def __repr__(self) -> str:
        return f"StudyResult({self.title}: {len(self.machines)} machines, {len(self.units)} units of work)"

    @property
    def machines(self) -> list[str]:
        """The machines that are compared, be it that a refused unit leaves them without a figure of merit."""
        return list(dict.fromkeys(machine for machine, _ in self.pairs))

    @property
    def units(self) -> list[str]:
        """The units of work."""
        return list(dict.fromkeys(unit for _, unit in self.pairs))

    def numbers(self) -> dict[str, Number]:
        """Every number of the roll-up by its id."""
        chained = [number for numbers in self.chains.values() for number in numbers.values()]
        phased = [number for numbers in self.campaigns.values() for number in numbers.values()]
        compared = [number for comparison in self.comparisons for number in comparison.numbers]
        appended = [number for appendix in self.appendices for number in appendix.numbers]
        return {number.id: number for number in (*chained, *phased, *self.fom_numbers.values(), *compared, *appended)}

    def predictions(self) -> list[tuple[str, Estimate]]:
        """Every estimate behind the figures, with its name in the report."""
        appended = (item for appendix in self.appendices for item in appendix.estimates.items())
        return [*((pair_id(pair), estimate) for pair, estimate in self.estimates.items()), *appended]

    def located_notes(self) -> list[tuple[Note, str]]:
        """Every note with the machine or the estimate that it concerns."""
        on_machines = [(note, note.subject) for note in self.machine_notes]
        on_units = [(note, pair) for pair, estimate in self.predictions() for note in estimate.notes]
        on_figures = [(note, merit.target) for merit in self.foms.values() for note in merit.notes]
        return [*on_machines, *on_units, *on_figures]
