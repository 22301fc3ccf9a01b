"""Notes of a stage as data: a code for programs, a sentence, its subject, and its share of the time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["warning", "left-open", "assumption"]
WARNINGS = {  # codes of notes that may make a prediction wrong
    "ambiguous-product": "no single reading fits the shapes of a matrix product",
    "announced": "a device or system is announced: its numbers are promised ones",
    "batch-contradicted": "no size of the ops is a multiple of the stated batch",
    "carried-mostly": "most of the predicted step is the source's own host, input and idle time",
    "chain-order-unknown": "element-wise ops are not fused, as nothing tells their order",
    "convolution-unknown": "a convolution states no dimensions",
    "coverage-low": "little of the source's time is modelled on the target",
    "device-check": "the target's own file has faults, or the target is a module of several devices",
    "measurements-left-out": "measured rows of a device are not believed",
    "memory-tight": "the step may not fit the device's memory",
    "one-unit": "one of several units makes nearly all of a figure of merit",
    "op-type-unknown": "an op type with the dimensions of a product is the name of no op",
    "precision-unstated": "neither profile nor workload file states the format of operands",
    "product-booked-elsewhere": "matrix products never ran: a fused kernel books their time on another op",
    "product-unknown": "a matrix product states no shapes",
    "profile": "what the reader of the dump warns of",
    "rebatch-unknown": "nothing tells how ops go with the batch: they keep work and time",
    "samples-left-out": "whole steps leave out much of an epoch's samples, as its last batch is not full",
    "source-contradicted": "the profile names another device than the source that was given",
    "source-unknown": "the profiled device, or its rates, are not known",
    "speedup-below-one": "a definition of the figure of merit asks for speed-ups of at least 1",
    "step-coverage-low": "the ops explain little of the profiled step",
    "steps-rise": "a study says that a larger batch needs more steps to a quality",
    "time-unit": "a step or its products take so long, or so little time, that times are likely in another unit",
    "traffic-unknown": "memory-bound ops have no shapes that tell their traffic",
    "work-unbelievable": "an op's counted work is more than the source could do in its time",
}
LEFT_OPEN = {  # codes of assumptions that end where a user gives the number or the setting
    "batch-of-profile": "each of several devices trains the profile's batch",
    "cache-unknown": "the target states no last-level cache",
    "compute-unit-unknown": "the target does not say whether it is a processor, a GPU or another accelerator",
    "delivered-assumed": "a study says nothing of what a machine really delivers: all of it, at all times",
    "devices-per-node-assumed": "a machine of devices does not say how many a node has: one is taken",
    "dispatch-mostly": "most of the predicted step is the framework's launches, which are assumed",
    "gradients-unknown": "no op is known to make gradients of weights: when they are sent is drawn",
    "host-dispatch": "the framework's launches stand for the host",
    "link-assumed": "the target states no link: messages within a node pass its bus",
    "memory-unchecked": "nothing tells the parameters: whether the step fits is not checked",
    "memory-unknown": "the memory of the device is not known",
    "network-assumed": "nothing tells the network between nodes: a usual one is taken, and drawn",
    "optimizer-unknown": "nothing tells the optimizer's states",
    "pipeline-unfilled": "a pipeline has one micro-batch: each stage waits for all others",
    "power-limit-unknown": "the target states no power limit: power bounds no peak",
    "precision-by-default": "the framework would take another format on the target by default",
    "pue-assumed": "what the facility draws over its computers is not counted",
    "ranks-kept": "the profile is that of one of several ranks, and so is the step on the target",
    "run-nodes-assumed": "a study states how many nodes ran a unit on some machines alone: elsewhere one is taken",
    "transport-assumed": "how messages between nodes are sent follows from the network's name alone, or is not known",
    "units-unknown": "the target states no units or no clock: units of 128 lanes limit pools and some other kernels",
    "year-unknown": "the target states no year: its power for a FLOP is a typical one",
}
ASSUMPTIONS = {  # codes of all other notes
    "activations-by": "from what the activations in memory are known",
    "biases-separate": "biases of convolutions are kernels of their own on the target",
    "blocks-run-again": "checkpoints run blocks of the step again: what these keep in memory counts one at a time",
    "carried": "host and input time is carried from the source",
    "casts": "casts that another precision adds or removes",
    "convolution-of-layer": "sizes of a convolution are those of its layer's other passes",
    "device-note": "what the file of a measured device notes",
    "dispatch-slower": "the assumed launches of the framework make the step longer than the profile's idle time would",
    "fitted-model": "ops that were not measured go by a model fitted to other devices",
    "fewer-trainings": "a campaign has fewer units than trainings that may share its devices",
    "forward-pass": "inference is the forward pass of a profiled training step",
    "fused-trainings": "several trainings run as one program",
    "fusion": "element-wise ops are fused as a compiler does",
    "host-absent": "the dump holds no time of its host",
    "host-none": "kernels alone are predicted, without a host",
    "host-profile": "the host takes the processor's idle time",
    "input-none": "ops that read the input take no time",
    "input-overlapped": "the next step's input is read beside the step",
    "launch-latency-default": "the target states no launch latency: a fitted one is taken",
    "layers-apart": "layers stay op by op that the target's library would run as one op",
    "layers-joined": "layers that ran op by op in the profile run by a library on the target",
    "layout": "transposes between layouts of images",
    "measurements-unused": "measured rows of these classes are not used",
    "measurements-used": "where the measured rows of the target are from",
    "measurements-without-spread": "measured rows state no spread: a usual one is taken",
    "memory-of-stage": "the memory of a pipeline is that of its fuller end",
    "memory-without-device": "no device is named: its driver's reserve is left out",
    "narrow-format": "formats below 16 bits are taken to be like the wider ones",
    "normalization-merged": "ops of batch normalizations are one kernel of the target's library",
    "parallel": "how devices divide the step",
    "parameters-counted": "parameters are counted from the step's products",
    "power-listed": "the power limit is derived from what lists give for the system",
    "power-of-gpus": "the power of a processor goes by coefficients of GPUs",
    "precision-converted": "products and activations are in another format than the profile's",
    "precision-default": "memory-bound ops state no precision: the default is taken",
    "precision-kept": "what stays in fp32",
    "loss-scaling": "ops of loss scaling that another precision has removed",
    "proportional": "ops without usable shapes go by the devices' rates, or as the modelled ops do",
    "ranks-assumed": "nothing tells which ranks exchange messages: all of the run are taken",
    "ranks-replaced": "the profile's messages among copies of the model are those of another number of copies",
    "ranks-wait": "messages took longer on the source than its links need: their ranks waited for slower ones",
    "rebatch-ambiguous": "a size is both the batch's and a weight's: taken for the batch",
    "rebatch-unmodelled": "the time of ops without a model goes with the batch",
    "rebatched": "the step is that of another batch",
    "source-by-numbers": "the source is known by compute units and memory alone",
    "source-unused": "nothing ran, so that the source is left out",
    "specification-noted": "a number of a device is used, of which its file notes something",
    "specification-unverified": "a number of a device is used that nobody read again in its source",
    "specification-waived": "a number of a device is used that breaks a check of the catalogue, which is waived",
    "stragglers": "how far devices of one kind differ",
    "updates-joined": "an optimizer's update is launched for many tensors at once, as the framework does on the target",
    "weights-not-trained": "weights of the model that are not trained, such as those that adapters are added to",
}
CODES: dict[Kind, dict[str, str]] = {"warning": WARNINGS, "left-open": LEFT_OPEN, "assumption": ASSUMPTIONS}
MEANINGS = WARNINGS | LEFT_OPEN | ASSUMPTIONS
KIND_OF = {code: kind for kind, codes in CODES.items() for code in codes}


@dataclass(frozen=True)
class Note:
    """One note of a stage. ``share``: the share of the profiled step's time that it concerns, 0 for none.

    ``details``: how its text ends on this device or workload, where notes on others have the same beginning.

    Raises LookupError for a code without a meaning.
    """

    code: str
    text: str
    subject: str = ""
    share: float = 0.0
    details: str = ""

    def __post_init__(self) -> None:
        if self.code not in MEANINGS:
            raise LookupError(f"no note has the code '{self.code}'; enter it with its meaning in core/notes.py")

    @property
    def headline(self) -> str:
        """Its text without the details."""
        return self.text.removesuffix(self.details)

    @property
    def kind(self) -> Kind:
        """Whether it is a warning, an assumption that the user's input leaves open, or another one."""
        return KIND_OF[self.code]


def with_code(code: str, sentences: Iterable[str]) -> tuple[Note, ...]:
    """Notes with one code, one per sentence."""
    return tuple(Note(code, text) for text in sentences)


def ranked(notes: Iterable[Note]) -> tuple[Note, ...]:
    """The notes without repeated sentences: by kind, then by falling share of the time, then in their order."""
    by_text: dict[str, Note] = {}
    for note in notes:
        by_text.setdefault(note.text, note)
    order = list(CODES)
    return tuple(sorted(by_text.values(), key=lambda note: (order.index(note.kind), -note.share)))


def sentences(notes: Iterable[Note], *kinds: Kind) -> tuple[str, ...]:
    """The sentences of the notes of some kinds; without any, of all notes."""
    return tuple(note.text for note in notes if not kinds or note.kind in kinds)


def left_open(notes: Iterable[Note]) -> tuple[str, ...]:
    """The headlines of what the input leaves open."""
    return tuple(dict.fromkeys(note.headline for note in notes if note.kind == "left-open"))
