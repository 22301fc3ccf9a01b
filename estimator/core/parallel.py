"""How one training is divided over devices, as plans, files and command lines write it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, get_args

from estimator.core.errors import EstimatorError, suggestion

DataWord = Literal["data", "zero1", "zero2", "zero3", "parameter-server"]
WORDS: dict[str, DataWord] = {**{word: word for word in get_args(DataWord)}, "fsdp": "zero3", "ps": "parameter-server"}
NUMBERS = {  # as written → field
    "tensor": "tensor", "context": "context", "pipeline": "pipeline", "micro": "micro_batch",
    "interleave": "interleave", "experts": "experts", "shard": "shard",
}  # fmt: skip
SEQUENCE, OVERLAP, GRADIENTS, TOP = "sequence", "overlap", "gradients", "top"  # as written, and fields
WITHOUT_VALUE = (SEQUENCE, OVERLAP)
SHORT = {  # as others write it → as written here
    "dp": "data", "ddp": "data", "tp": "tensor", "cp": "context", "pp": "pipeline", "ep": "experts", "sp": "sequence",
    "mbs": "micro",
}  # fmt: skip
End = Literal["first", "last"]  # stage of a pipeline
Narrow = Literal["fp16", "bf16"]
NARROW: tuple[Narrow, ...] = get_args(Narrow)
LARGEST = 10**6
ASKED = {  # values of each word, as a message asks for them
    **dict.fromkeys(NUMBERS, f"N, a whole number from 1 to {LARGEST}"),
    GRADIENTS: " or ".join(NARROW), TOP: "SHARE, above 0 and below 1, such as 1%",
}  # fmt: skip
MEANINGS: dict[DataWord, str] = {
    "data": "each copy holds all states; gradients are all-reduced in buckets while others are computed",
    "zero1": "the optimizer's state is divided: gradients are reduced to their owners, new weights gathered from them",
    "zero2": "gradients are divided too; their traffic is that of zero1",
    "zero3": "weights are divided too, and gathered for each pass (fsdp)",
    "parameter-server": "gradients go to servers that spread over the nodes, and weights come back",
}
# parts of memory, of which each device keeps its share (Rajbhandari et al., ZeRO, 2020, figure 1)
DIVIDED: dict[DataWord, tuple[str, ...]] = {
    "zero1": ("optimizer",), "zero2": ("optimizer", "gradients"), "zero3": ("optimizer", "gradients", "parameters"),
}  # fmt: skip
KEPT_GRADIENTS = "kept_gradients"  # what is not sent of them: a part of memory that is there where it is named
WRITTEN = (
    f"one of {', '.join(WORDS)}, and {'=N, '.join(NUMBERS)}=N, {', '.join(WITHOUT_VALUE)}, "
    f"{GRADIENTS}={' or '.join(NARROW)}, {TOP}=SHARE, such as zero1,tensor=8,{SEQUENCE},pipeline=4"
)
USUAL_COPIES = 8  # assumed, as many as a node has devices


@dataclass(frozen=True)
class DeviceShare:
    """What one of several devices holds of a training; the defaults are those of a single device."""

    divisors: Mapping[str, float] = field(default_factory=dict)  # of each part of memory; 1 where one is missing
    micro_batches: int = 1  # of a step, whose gradients are added up
    exchanged: DataWord | None = None  # how copies of the model exchange gradients and weights; None where one trains
    end: End | None = None  # stage of a pipeline; None where there is none
    kept_passes: float = 1.0  # micro-batches whose activations it keeps at once


@dataclass(frozen=True)
class Split:
    """How a training is divided: among copies of the model (``data``), the parts of each product (``tensor``), and the
    stages of its blocks (``pipeline``), which pass batches of ``micro_batch`` on.

    Each stage may have several runs of blocks (``interleave``), and each part of a product its part of the tokens
    elsewhere (``sequence``); messages of these may ``overlap`` with the products. Gradients may travel in another
    format (``gradients``), or but a share of them (``top``). So many copies may share the ``experts`` of a mixture.
    ``shard`` copies share the states of training where not all do. ``context`` devices share the tokens of each
    sequence.
    """

    data: DataWord = "data"
    tensor: int = 1
    pipeline: int = 1
    micro_batch: int | None = None
    interleave: int = 1
    sequence: bool = False
    overlap: bool = False
    gradients: Narrow | None = None
    top: float | None = None
    experts: int = 1
    shard: int | None = None
    context: int = 1

    def __str__(self) -> str:
        usual = Split()
        values = {name: getattr(self, field) for name, field in _FIELDS.items()}
        chosen = {name: value for name, value in values.items() if value != getattr(usual, _FIELDS[name])}
        written = [name if value is True else f"{name}={value}" for name, value in chosen.items()]
        return ",".join([self.data, *written])

    @property
    def model_devices(self) -> int:
        """Devices that hold one copy of the model together."""
        return self.stage_devices * self.pipeline

    @property
    def stage_devices(self) -> int:
        """Devices that hold one stage of a copy together."""
        return self.tensor * self.context

    @property
    def tokens_shared(self) -> int:
        """Devices that share the tokens of a sequence outside attention and feed-forward layers."""
        return self.tensor if self.sequence else 1

    @property
    def least_devices(self) -> int:
        """Devices of as many copies as share experts."""
        return self.model_devices * self.experts

    @property
    def written_devices(self) -> str:
        """What makes the least devices, as a product of words."""
        return f"{self.written_copy} × experts" if self.experts > 1 else self.written_copy

    @property
    def written_copy(self) -> str:
        """What makes the devices of one copy, as a product of words."""
        return "tensor × context × pipeline" if self.context > 1 else "tensor × pipeline"

    @property
    def least_batch(self) -> int:
        """Samples that a copy computes a multiple of: a micro-batch, or a round of them in an interleaved pipeline."""
        return (self.micro_batch or 1) * (self.pipeline if self.interleave > 1 else 1)

    @property
    def leaves_micro_batch(self) -> bool:
        """Whether the samples that a stage of a pipeline computes at once are left open."""
        return self.pipeline > 1 and self.micro_batch is None

    @property
    def divides_update(self) -> bool:
        """Whether each copy of the model updates its share of the weights."""
        return "optimizer" in DIVIDED.get(self.data, ())

    @property
    def gathers_weights(self) -> bool:
        """Whether each copy of the model gathers the weights of others for each pass."""
        return "parameters" in DIVIDED.get(self.data, ())

    @property
    def usual_devices(self) -> int:
        """Devices, where nothing says how many: of one copy of the model, or of 8 or more that share its states."""
        if not self.divides_update:
            return self.least_devices
        return self.model_devices * (self.shard or math.ceil(USUAL_COPIES / self.experts) * self.experts)

    @property
    def meaning(self) -> str:
        """What it does, in words."""
        sentences = {
            f"each product is divided among {self.tensor} devices": self.tensor > 1,
            f"tokens of each sequence are divided among {self.context} devices, which pass keys and values around": (
                self.context > 1
            ),
            "norms, dropouts and sums are divided by the tokens of a sequence": self.sequence,
            "these tokens travel while products run": self.overlap,
            f"blocks are divided among {self.pipeline} stages, which run one forward and one backward pass in turn": (
                self.pipeline > 1
            ),
            f"each stage has {self.interleave} runs of blocks": self.interleave > 1,
            f"a copy of the model computes {self.micro_batch} sample(s) at once": self.micro_batch,
            f"experts are divided among {self.experts} copies, which send each other their tokens": self.experts > 1,
            f"groups of {self.shard} copies share the states, and add up gradients with other groups": self.shard,
            f"gradients travel as {self.gradients}": self.gradients,
            f"the largest {100 * (self.top or 0):g} % of gradients travel, with their places": self.top,
        }
        return "; ".join([MEANINGS[self.data], *(text for text, there in sentences.items() if there)])

    @property
    def ends(self) -> tuple[End | None, ...]:
        """The stages of which one needs the most memory: both ends of a pipeline; None where there is none."""
        return ("first", "last") if self.pipeline > 1 else (None,)

    def copies(self, devices: int) -> int:
        """Copies of the model on so many devices.

        Raises EstimatorError where they make no whole number, or cannot share experts or states.
        """
        if devices % self.model_devices:
            raise EstimatorError(
                f"devices {devices}: a copy of the model takes {self.model_devices} ({self.written_copy}); expected a "
                f"multiple of {self.model_devices}"
            )
        copies = devices // self.model_devices
        if copies % self.experts:
            raise EstimatorError(
                f"experts={self.experts}: it does not divide the {copies} copies of the model on {devices} devices; "
                f"expected a multiple of {self.least_devices} devices"
            )
        if copies % self.sharing(copies):
            raise EstimatorError(
                f"shard={self.shard}: it does not divide the {copies} copies of the model on {devices} devices; "
                f"expected a divisor of {copies}"
            )
        return copies

    def weight_holders(self, copies: int) -> int:
        """Devices that hold the same weights, of so many copies: in each of these all that share its tokens."""
        return copies * self.context

    def sharing(self, copies: int) -> int:
        """Copies of the model that share the states of training: all of so many, or ``shard`` of them."""
        return min(self.shard or copies, copies)

    def divisors(self, devices: int, of_experts: float = 0.0) -> dict[str, float]:
        """By how much each part of a device's memory is divided among so many devices.

        ``of_experts``: share of a copy's parameters that are its experts'.
        """
        owners = self.owners(self.copies(devices), of_experts)
        parts = {name: owners for name in DIVIDED.get(self.data, ()) if owners != 1}
        return parts if self.top is None else {**parts, KEPT_GRADIENTS: 1.0}

    def share(
        self, devices: int, micro_batches: int = 1, of_experts: float = 0.0, end: End | None = None
    ) -> DeviceShare:
        """What each of so many devices holds, of a stage at this end; ``of_experts`` as for :meth:`divisors`."""
        exchanged = self.data if self.weight_holders(self.copies(devices)) > 1 else None
        kept_passes = self.kept_passes(end, micro_batches)
        return DeviceShare(self.divisors(devices, of_experts), micro_batches, exchanged, end, kept_passes)

    def owners(self, copies: int, of_experts: float = 0.0) -> float:
        """Devices that share the update of each one's parameters: those of all of so many copies, or of ``shard`` of
        them, which share the tokens, but of experts the copies that have the same:
        ``copies · context / (1 + s · (experts − 1))``, s being the experts' share of a copy's parameters.
        """
        return self.weight_holders(self.sharing(copies)) / (1.0 + of_experts * (self.experts - 1))

    def kept_passes(self, end: End | None, micro_batches: int) -> float:
        """Activations that a stage keeps at once, in those of one micro-batch through all its runs of blocks.

        Of p stages with v runs each, the first has ``p · v + p − 1`` runs under way, or p where it has one run, and the
        last ``1 + (v − 1) · p``. They are at most all runs of a step's m micro-batches, ``m · v``.

        Source: Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, 2021, section 2.2;
        for v > 1, Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, 2022, section
        4.2.3, and Megatron-LM, schedules.py, from memory.
        """
        stages, runs = self.pipeline, self.interleave
        beyond = stages - 1 if runs > 1 else 0
        at_once = stages * runs + beyond if end == "first" else 1 + (runs - 1) * stages
        return min(at_once / runs, float(micro_batches))


_FIELDS = {**NUMBERS, **{name: name for name in (*WITHOUT_VALUE, GRADIENTS, TOP)}}  # as written, in this order → field
WHOLE = Split()  # every device has the whole model
ALONE = DeviceShare()  # of a device by itself


def read_split(written: object) -> Split:
    """The split that a text such as ``zero1,tensor=8,pipeline=4`` names.

    Raises EstimatorError for another text or no text, and for parts that do not go together.
    """
    if not isinstance(written, str):
        raise EstimatorError(f"parallel is {written!r}; expected {WRITTEN}")
    fields: dict[str, str | int | float | bool] = {}
    for part in (each.strip() for each in written.split(",")):
        if not part and "," in written:
            raise EstimatorError(f"parallel '{written}': a word is missing beside a comma; delete the comma")
        field, value = _read_part(part)
        if field in fields:
            raise EstimatorError(f"parallel '{written}': '{part}' is the second of its kind; keep one of them")
        fields[field] = value
    split = Split(**fields)  # type: ignore[arg-type]
    for fault, is_there in _faults(split).items():
        if is_there:
            raise EstimatorError(f"parallel '{written}': {fault}")
    return split


def _read_part(part: str) -> tuple[str, str | int | float | bool]:
    """The field that one part of a split names, and its value. Raises EstimatorError for another text."""
    name, _, value = part.partition("=")
    if part in WORDS:
        return "data", WORDS[part]
    if part in WITHOUT_VALUE:
        return part, True
    number = _number(value) if name in NUMBERS else None
    if number is not None:
        return NUMBERS[name], number
    if name == GRADIENTS and value in NARROW:
        return GRADIENTS, value
    share = _share(value) if name == TOP else None
    if share is not None:
        return TOP, share
    if name in ASKED:
        raise EstimatorError(f"parallel '{part}': expected {name}={ASKED[name]}")
    hint = suggestion(name, [*WORDS, *_FIELDS, *SHORT], SHORT)
    raise EstimatorError(f"parallel '{part}' is not known; expected {WRITTEN}.{hint}")


def _number(written: str) -> int | None:
    """A whole number from 1 to the largest; None for another text."""
    is_short = written.isascii() and written.isdigit() and len(written) <= len(str(LARGEST))
    return int(written) if is_short and 1 <= int(written) <= LARGEST else None


def _share(written: str) -> float | None:
    """A share above 0 and below 1, such as 0.01 or 1%; None for another text."""
    digits = written.removesuffix("%")
    if "_" in digits:  # which float() takes
        return None
    try:
        share = float(digits) / (100 if digits != written else 1)
    except ValueError:
        return None
    return share if math.isfinite(share) and 0 < share < 1 else None


def _faults(split: Split) -> dict[str, bool]:
    """What does not go together, in words, and whether it is there."""
    sends_weights = split.data == "parameter-server"
    alone = {"context": split.context > 1, "shard": split.shard is not None, "experts": split.experts > 1}
    chosen = [name for name, is_there in alone.items() if is_there]  # each of which goes with none of the others
    return {
        f"{SEQUENCE} divides what tensor=N leaves whole; expected tensor=N of 2 or more with it": (
            split.sequence and split.tensor == 1
        ),
        f"{OVERLAP} sends the tokens that {SEQUENCE} divides; expected {SEQUENCE} with it": (
            split.overlap and not split.sequence
        ),
        f"interleave={split.interleave} gives each stage of a pipeline several runs of blocks; expected pipeline=N of "
        "2 or more with it": split.interleave > 1 and split.pipeline == 1,
        f"{GRADIENTS}={split.gradients} with {split.data}: not supported, as servers send weights back; expected data, "
        "zero1, zero2 or zero3": split.gradients is not None and sends_weights,
        f"{TOP}={split.top} with {split.data}: not supported, as each copy must add up what all others chose; expected "
        "data": split.top is not None and split.data != "data",
        f"experts={split.experts} with {split.data}: not supported, as servers have all weights; expected data, zero1, "
        "zero2 or zero3": split.experts > 1 and sends_weights,
        f"shard={split.shard} with {split.data}: not supported, as it is of what zero1, zero2 or zero3 divide; "
        "expected one of them": split.shard is not None and not split.divides_update,
        **{
            f"{first}={getattr(split, first)} with {second}={getattr(split, second)}: not supported; expected one of "
            "them": True
            for first, second in combinations(chosen, 2)
        },
    }
