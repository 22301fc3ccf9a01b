"""Memory of one training on one device: the parts of :data:`MEMORY_PARTS`.

All parts add up to what a device must hold at the step's fullest moment. Each is linear in the batch, so that the
largest batch that fits has a closed form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np

from estimator.core import yaml_files
from estimator.core.frameworks import framework_of
from estimator.core.interval import draw
from estimator.core.notes import Note
from estimator.core.parallel import DIVIDED, KEPT_GRADIENTS, DeviceShare
from estimator.core.types import (
    DeviceSpec,
    File,
    Floats,
    MemoryUse,
    RunPlan,
    Sharing,
    Status,
    StepTensors,
    Variables,
    Workload,
)

Value = TypeVar("Value")
GB, GIB = 1e9, 2.0**30
LARGEST = 1e9  # batch, where memory does not grow with it
MEMORY_PARTS = ("parameters", "gradients", "optimizer", "activations", "workspace", "buckets", "allocator", "reserve")
ADDS_ONLY = ("sgd", "gradient_descent", "momentum", "sgd_momentum", "nesterov")  # updates without temporaries
BLOCKS_AT_ONCE = 2  # of weights or gradients: one travels, the other is used or filled


class Range(File):
    """A number with its 90 % interval and its source."""

    low: float
    mid: float
    high: float
    status: Status
    source: str


class Stated(File):
    """A number with its source."""

    value: float
    status: Status
    source: str


class Numbers(File):
    """The numbers of memory.yaml."""

    reserve: dict[str, Range]
    convolution_libraries: dict[str, Range]
    buckets: dict[str, Range]
    block: Range
    allocator: dict[str, Range]
    allocator_with_convolutions: dict[str, Range]
    evidence: dict[str, Range]
    update: dict[str, Stated]


@cache
def numbers() -> Numbers:
    """The shipped numbers, each with its source."""
    return yaml_files.check(Numbers, yaml_files.read_yaml(Path(__file__).with_suffix(".yaml")))


def sample(name: str, given: Range, plan: RunPlan) -> Floats:
    """Samples (1 + draws) of a number; ends of 0 are drawn as a share of 1 % of the high end."""
    least = 0.01 * max(given.high, 1e-9)
    low, mid, high = (max(value, least) for value in (given.low, given.mid, given.high))
    drawn = draw(f"memory {name}", low, mid, high, plan.draws, plan.seed)
    return np.where(np.arange(1 + plan.draws) == 0, given.mid, drawn)


def reserve(device: DeviceSpec | None) -> Range:
    """What the driver and the libraries take on a device [GiB]: by its vendor, or as a processor."""
    given = numbers().reserve
    if device is not None and device.is_processor:
        return given["processor"]
    return given.get(str(device.vendor) if device else "other", given["other"])


def allocator(workload: Workload, convolves: bool) -> Range:
    """What a framework's allocator takes / what the tensors of a step need; more where it has convolutions."""
    given = numbers()
    alone = by_framework(given.allocator, workload)
    if not convolves:
        return alone
    return given.allocator_with_convolutions.get(framework_of(workload.framework), alone)


def by_framework(given: Mapping[str, Value], workload: Workload) -> Value:
    """The number of a workload's framework."""
    return given.get(framework_of(workload.framework), given["other"])


def memory_use(
    at_batches: Sequence[tuple[int, StepTensors]], variables: Variables, workload: Workload,
    device: DeviceSpec | None, plan: RunPlan, share: DeviceShare, *, convolves: bool = False,
) -> MemoryUse:  # fmt: skip
    """The parts of memory at the first of two batches, and the largest batch.

    Args:
        at_batches: the step's tensors at two batches; at one, the largest batch stays unknown.
        variables: parameters and states of the whole model, or of a stage of it.
        workload: of the run.
        device: whose memory and reserve count; None for the tensors alone.
        plan: draws and seed.
        share: what one of several devices holds.
        convolves: whether the step has convolutions, whose libraries take memory of an accelerator too.
    """
    convolves = convolves and not (device and device.is_processor)
    own = own_variables(variables, share.divisors)
    tensors_at = [(batch, own_tensors(tensors, variables, workload, share)) for batch, tensors in at_batches]
    batch, tensors = tensors_at[0]
    exchanged = buckets(variables, workload, share, plan)
    parts = parts_of(tensors, own, exchanged, workload, device, plan, convolves=convolves)
    capacity = device.memory_capacity.value if device and device.memory_capacity else None
    largest = None
    if capacity is not None and len(tensors_at) == 2 and tensors.evidence != "none":
        left = capacity - float(parts["reserve"][0])
        fixed = own.parameters + own.frozen + own.optimizer + float(exchanged[0])
        largest = largest_batch(tensors_at, fixed, allocator(workload, convolves).mid, left)
    notes = (*variables.notes, *_notes(tensors, device))
    return MemoryUse(parts, capacity, batch or None, largest, workload.mode, notes)


def _notes(tensors: StepTensors, device: DeviceSpec | None) -> Iterator[Note]:
    if tensors.evidence != "flow":
        yield Note("activations-by", ACTIVATIONS[tensors.evidence])
    if tensors.run_again:
        yield Note("blocks-run-again", RUN_AGAIN.format(count=tensors.run_again))
    if device is None:
        yield Note("memory-without-device", "no device is named: the reserve of its driver and libraries is left out")
    elif device.memory_capacity is None:
        yield Note("memory-unknown", f"the memory of {device.name} is not known")


RUN_AGAIN = "checkpoints recompute {count} block(s) of the step: their activations count for one block at a time"
ACTIVATIONS = {  # by evidence
    "plan": "nothing ran: each op is taken to write tensors of its own; a framework that fuses ops needs fewer",
    "rules": "the profile does not tell which op reads which tensor: activations are what each operator usually keeps",
    "layers": "the profile has no shapes: activations are the outputs of the layers that its workload.yaml lists",
    "none": "the profile tells nothing of the activations: they are not counted, and the total is too small",
}


def own_tensors(tensors: StepTensors, variables: Variables, workload: Workload, share: DeviceShare) -> StepTensors:
    """One device's share of the tensors of a step, where a parallel training divides each part by its number."""
    whole = with_rules(with_passes(tensors, share.kept_passes), variables, workload)
    return replace(whole, gradients=whole.gradients / share.divisors.get("gradients", 1.0))


def own_variables(variables: Variables, divisors: Mapping[str, float]) -> Variables:
    """One device's share of the variables, where a parallel training divides each part by its number.

    Gradients that are kept, as they were not sent, are a state more (Lin et al., Deep Gradient Compression, 2018).
    """
    kept = variables.gradients / divisors[KEPT_GRADIENTS] if KEPT_GRADIENTS in divisors else 0.0
    of_parameters = divisors.get("parameters", 1.0)
    return replace(
        variables,
        parameters=variables.parameters / of_parameters,
        optimizer=variables.optimizer / divisors.get("optimizer", 1.0) + kept,
        frozen=variables.frozen / of_parameters,
    )


def with_rules(tensors: StepTensors, variables: Variables, workload: Workload) -> StepTensors:
    """The tensors of a step whose flow is not known, with two more moments.

    At the turn to the backward pass there are the last step's gradients, where they are dropped behind the forward
    pass: of an op's result and operands one is not kept. At the update there are the gradients of all parameters and
    its own temporaries, in place of narrow copies of the parameters; an allocator that caches its blocks (PyTorch's)
    still holds those of the activations. Gradients of weights that many ops use, as the steps of a recurrent layer do,
    are summed as they are made: there are never more than those of all parameters.
    """
    if tensors.evidence in ("flow", "plan") or workload.mode != "training":
        return tensors
    activations, _, workspace = largest_moment(tensors)
    temporaries = _temporaries(variables, workload) * variables.gradients
    copies = variables.parameters - variables.gradients
    before = variables.gradients if workload.gradients_in_forward else 0.0
    return replace(
        tensors,
        activations=np.append(tensors.activations, [activations, tensors.activations.max()]),
        gradients=np.minimum(np.append(tensors.gradients, [before, variables.gradients]), variables.gradients),
        workspace=np.append(tensors.workspace, [workspace / 2, max(temporaries - copies, 0.0)]),
    )


def _temporaries(variables: Variables, workload: Workload) -> float:
    """Temporaries of an update, in states of the parameters' size; an update that only adds has none."""
    name = workload.optimizer.name.lower() if workload.optimizer else ""
    adds_only = name in ADDS_ONLY or not variables.slots
    return 0.0 if adds_only else by_framework(numbers().update, workload).value


def with_passes(tensors: StepTensors, at_once: float) -> StepTensors:
    """The tensors of a micro-batch on a stage of a pipeline that keeps those of so many at once.

    Of each other one there is what its forward pass keeps without the head, which a gradient's pass follows at once.
    """
    return replace(tensors, activations=tensors.activations + (at_once - 1.0) * tensors.kept)


def with_accumulated(tensors: StepTensors, variables: Variables) -> StepTensors:
    """The tensors of a micro-batch that is not the first: the gradients of all parameters are there at each moment."""
    return replace(tensors, gradients=np.maximum(tensors.gradients, variables.gradients))


def largest_moment(tensors: StepTensors) -> tuple[float, float, float]:
    """Activations, gradients and workspace [B] at the moment at which they add up to most."""
    total = tensors.activations + tensors.gradients + tensors.workspace
    moment = int(total.argmax())
    return float(tensors.activations[moment]), float(tensors.gradients[moment]), float(tensors.workspace[moment])


def buckets(variables: Variables, workload: Workload, share: DeviceShare, plan: RunPlan) -> Floats:
    """Samples (1 + draws) of what copies of a model hold to exchange gradients and weights [B].

    All-reduced gradients are copied into buckets: β · g, with g the gradients of all parameters. Where copies share
    states, two blocks of gradients are held: 2 · υ · b, with b those of the largest block [B]; where they share the
    weights too, two blocks of gathered weights (Zhao et al., PyTorch FSDP, VLDB 2023, section 3). β, υ: memory.yaml.
    """
    if share.exchanged in DIVIDED:
        block = variables.block_gradients + (variables.block if share.exchanged == "zero3" else 0.0)
        return BLOCKS_AT_ONCE * block * sample("block", numbers().block, plan)
    if share.exchanged != "data":
        return np.zeros(1 + plan.draws)
    return variables.gradients * sample("buckets", by_framework(numbers().buckets, workload), plan)


def parts_of(
    tensors: StepTensors, variables: Variables, exchanged: Floats, workload: Workload, device: DeviceSpec | None,
    plan: RunPlan, *, convolves: bool = False,
) -> dict[str, Floats]:  # fmt: skip
    """Samples (1 + draws) of each part [B]; ``exchanged``: those of :func:`buckets`.

    allocator = (a - 1) · (parameters + gradients + states + activations + workspace + buckets), a: memory.yaml, larger
    where a step ``convolves``.
    """
    activations, gradients, workspace = largest_moment(tensors)
    share = sample("activations", numbers().evidence[tensors.evidence], plan)
    factor = sample("allocator", allocator(workload, convolves), plan)
    ones = np.ones(1 + plan.draws)
    parts = {
        "parameters": (variables.parameters + variables.frozen) * ones,
        "gradients": gradients * ones,
        "optimizer": variables.optimizer * ones,
        "activations": activations * share,
        "workspace": workspace * (share if tensors.evidence == "plan" else ones),
        "buckets": exchanged,
    }
    held = np.asarray(sum(parts.values()))
    return {
        **parts,
        "allocator": (factor - 1.0) * held,
        "reserve": ones * 0.0 if device is None else _reserved(device, convolves, plan),
    }


def _reserved(device: DeviceSpec, convolves: bool, plan: RunPlan) -> Floats:
    """Samples (1 + draws) of what the driver and the libraries take [B]."""
    reserved = sample("reserve", reserve(device), plan)
    libraries = numbers().convolution_libraries.get(str(device.vendor))
    if convolves and libraries:
        reserved = reserved + sample("convolution libraries", libraries, plan)
    return GIB * reserved


def largest_batch(at_batches: Sequence[tuple[int, StepTensors]], fixed: float, factor: float, capacity: float) -> int:
    """The largest batch whose fullest moment fits: min over moments of (C/a - fixed - F) / V, rounded down.

    F + V·batch is what a moment holds, from the same step at two batches. ``fixed`` are the variables, ``capacity``
    what the reserve leaves [B], and ``factor`` a is the allocator's. 0 where not even one sample fits.
    """
    (first, one), (second, other) = at_batches
    held = [t.activations + t.gradients + t.workspace for t in (one, other)]
    per_sample = (held[1] - held[0]) / (second - first)
    constant = held[0] - per_sample * first
    room = capacity / factor - fixed - constant
    if (room < 0).any():
        return 0
    grows = per_sample > 0
    return math.floor(float((room[grows] / per_sample[grows]).min(initial=LARGEST)))


def shared_by(use: MemoryUse, trainings: int, sharing: Sharing) -> MemoryUse:
    """Memory of several like trainings on one device.

    In turn, each has a process with a reserve of its own; fused, one program has one reserve.
    """
    if trainings == 1:
        return use
    once = ("reserve",) if sharing == "fused" else ()
    parts = {name: samples if name in once else trainings * samples for name, samples in use.parts.items()}
    return replace(use, parts=parts, largest_batch=None, trainings=trainings, parts_once=once)
