"""Notes of a stage as data: a code for programs, a sentence, its subject, and its share of the time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["warning", "left-open", "assumption"]
WARNINGS = {  # codes of notes that may make a prediction wrong
    "ambiguous-product": "the shapes of a matrix product give no unique m, n, k",
    "announced": "a device or system is announced, not delivered: its numbers may change",
    "batch-contradicted": "no dimension of any op is a multiple of the stated batch",
    "carried-mostly": "most of the predicted step is the source's own host, input and idle time",
    "chain-order-unknown": "element-wise ops are not fused, as nothing tells their order",
    "convolution-unknown": "a convolution states no dimensions",
    "coverage-low": "little of the source's time is modelled on the target",
    "device-check": "the target's own file has faults, or the target is a module of several devices",
    "measurements-left-out": "measured rows of a device are implausible, and are left out",
    "memory-tight": "the step may not fit the device's memory",
    "one-unit": "one of several units determines nearly all of a figure of merit",
    "op-type-unknown": "an op type is not known, though it has the dimensions of a product",
    "precision-unstated": "neither profile nor workload file states the format of operands",
    "product-booked-elsewhere": "matrix products have no time of their own: the profiler booked it on another op",
    "product-unknown": "a matrix product states no shapes",
    "profile": "what the reader of the dump warns of",
    "rebatch-unknown": "how ops depend on the batch is not known: they keep their work and time",
    "samples-left-out": "whole steps leave out much of an epoch's samples, as its last batch is not full",
    "source-contradicted": "the profile names another device than the source that was given",
    "source-unknown": "the profiled device, or its rates, are not known",
    "speedup-below-one": "a speed-up is below 1, and the definition of the figure of merit asks for at least 1",
    "step-coverage-low": "the ops explain little of the profiled step",
    "steps-rise": "a study says that a larger batch needs more steps to a quality",
    "system-check": "numbers of a system lie where those of no other machine do",
    "time-unit": "a step or its products take so long, or so little time, that times are likely in another unit",
    "traffic-unknown": "memory-bound ops have no shapes that tell their traffic",
    "work-unbelievable": "an op's counted work is more than the source could do in its time",
}
LEFT_OPEN = {  # codes of assumptions that end where a user gives the number or the setting
    "batch-of-profile": "each of several devices trains the profile's batch",
    "cache-unknown": "the target states no last-level cache",
    "compute-unit-unknown": "the target's file does not say whether it is a processor, a GPU or another accelerator",
    "delivered-assumed": "a study gives neither availability nor failures of a machine: its nodes are up at all times",
    "devices-per-node-assumed": "a study does not say how many devices a node of a machine has: one is taken",
    "dispatch-mostly": "most of the predicted step is the framework's launches, which are assumed",
    "gradients-unknown": "no op is known to compute gradients of weights: the time at which they are sent is drawn",
    "host-dispatch": "the host is taken to launch ops at the framework's usual pace",
    "link-assumed": "the target states no link: messages within a node pass its bus",
    "memory-unchecked": "the number of parameters is not known: whether the step fits is not checked",
    "memory-unknown": "the memory of the device is not known",
    "network-assumed": "the network between nodes is not known: a usual bandwidth is taken, in a wide interval",
    "optimizer-unknown": "the number of the optimizer's states is not known",
    "micro-batch": "the split names no micro-batch: a pipeline takes that of the layers, or the fastest that fits",
    "power-limit-unknown": "the target states no power limit: power is taken not to lower its peaks",
    "precision-by-default": "the framework would take another format on the target by default",
    "pue-assumed": "power that the facility draws beyond its computers, such as for cooling, is not counted",
    "ranks-kept": "the profile is of one of several ranks, and the step on the target is of one of as many",
    "run-nodes-assumed": "a study states the nodes that ran a unit for some machines only: one is taken for the others",
    "states-shared-by-many": "many copies share the states of training, and messages among fewer would take less time",
    "steps-extrapolated": "the batch of a unit lies beyond its table of steps to a quality",
    "transport-assumed": "whether messages between nodes bypass the operating system is not stated, and guessed",
    "units-unknown": "nothing tells the compute units of the target, which small kernels do not fill",
    "year-unknown": "the target states no year: a typical energy for a FLOP is taken",
}
ASSUMPTIONS = {  # codes of all other notes
    "activations-by": "what the activations in memory are counted from",
    "biases-separate": "biases of convolutions are separate kernels on the target",
    "blocks-run-again": "checkpoints recompute blocks of the step: their activations count for one block at a time",
    "carried": "host and input time is carried from the source",
    "casts": "casts that another precision adds or removes",
    "convolution-of-layer": "a convolution does not state all its sizes: the other passes of its layer give them",
    "device-note": "what the file of a measured device notes",
    "dispatch-slower": "the assumed launches of the framework make the step longer than the profile's idle time would",
    "fitted-model": "ops that were not measured are predicted by a model fitted to other devices",
    "fewer-trainings": "a campaign has too few units for 'trainings_per_device' on each device",
    "forward-pass": "inference is the forward pass of a profiled training step",
    "fused-trainings": "several trainings run as one program",
    "fusion": "element-wise ops are fused as a compiler does",
    "host-absent": "the dump holds no time of its host",
    "host-none": "kernels alone are predicted, without a host",
    "host-profile": "the host takes as long as the profiled processor was idle",
    "input-none": "ops that read the input take no time",
    "input-overlapped": "the next step's input is read beside the step",
    "launch-latency-default": "the target states no launch latency: a fitted one is taken",
    "layers-apart": "layers stay op by op, though the target's library would run each as one op",
    "layers-joined": "layers ran op by op in the profile, and run as one op of a library on the target",
    "layout": "transposes between layouts of images",
    "measurements-resembling": "products follow those measured on a device of the architecture, or in another format",
    "measurements-unused": "measured rows of these classes are not used",
    "measurements-used": "the source of the target's measured rows",
    "measurements-without-spread": "measured rows state no spread: a usual one is taken",
    "memory-of-stage": "the memory of a pipeline is that of its first or last stage, whichever needs more",
    "memory-without-device": "no device is named: its driver's reserve is left out",
    "narrow-format": "formats below 16 bits are taken to be like the wider ones",
    "message-unsized": "bytes or ranks of a message are not known: its time on the source tells its bytes",
    "normalization-merged": "ops of batch normalizations are one kernel of the target's library",
    "parallel": "how devices divide the step",
    "parameters-counted": "parameters are counted from the step's products",
    "parameters-narrow": "training keeps parameters, gradients and states in a format narrower than fp32",
    "power-listed": "the power limit is derived from the listed power of the system",
    "power-of-gpus": "the power of a processor is computed with coefficients of GPUs",
    "precision-converted": "products and activations are in another format than the profile's",
    "precision-default": "memory-bound ops state no precision: the default is taken",
    "precision-kept": "what stays in fp32",
    "tf32-replaced": "products that may run in TF32 run in fp32, as the target has no TF32",
    "loss-scaling": "ops of loss scaling that another precision removes, or that it needs and are not added",
    "product-of-layer": "sizes of a gradient's product in a loop are those of its forward product",
    "proportional": "ops without usable shapes are scaled by a ratio of the devices' rates, or like the modelled ops",
    "ranks-assumed": "which ranks exchange a message is not known: all ranks of the run are taken",
    "ranks-replaced": "the profile's messages among copies of the model are timed for another number of copies",
    "ranks-wait": "messages took longer on the source than its links need: ranks waited for slower ones",
    "rebatch-ambiguous": "a size may be the batch or a dimension of a weight: it is taken for the batch",
    "rebatch-unmodelled": "the time of ops without a model is scaled with the batch",
    "rebatched": "the step is that of another batch",
    "source-by-numbers": "the source is known by compute units and memory alone",
    "source-unused": "nothing ran in the profile: the source is left out",
    "specification-noted": "a number of a device is used, and its file has a note on it",
    "specification-unverified": "a number of a device is used that nobody has verified in its source",
    "specification-waived": "a number of a device is used that fails a check of the catalogue; the check is waived",
    "stragglers": "how far devices of one kind differ",
    "updates-joined": "an optimizer's update is launched for many tensors at once, as the framework does on the target",
    "weights-not-trained": "some weights of the model are not trained, such as those under adapters",
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
