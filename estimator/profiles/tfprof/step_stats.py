"""Reader of RunMetadata, TensorFlow's binary trace of one session step, or of several steps in one file.

Each op's ``timeline_label``, "[memory] name = kernel(inputs)", names the kernel that ran and the nodes of its operands;
the operands' shapes are those of their last outputs before it ran, as nodes of several functions may have one name.
"""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, Workload
from estimator.profiles import canonical, events, messages, phases, steps, wire
from estimator.profiles.dump import HEAD, Dump
from estimator.profiles.tfprof import graph_nodes, names, node_text

FORMAT = "RunMetadata (TensorFlow step stats)"
VIEWS = False
FIXED = 8  # bytes of a fixed length before each message
STEP_STATS_DEVICE = (0x0A, 0x0A, 0x0A)  # RunMetadata.step_stats.dev_stats.device
LONGEST = 10**15  # of a step [ns]; int64 holds its picoseconds
CALLS = re.compile(r"^(Stateful|Stateless)?(PartitionedCall|While|If|Case)$|^(RemoteCall|SymbolicGradient)$")
BY_NAME = re.compile(r"[a-z]|__(inference|forward|backward)_|[A-Z]\w*_[A-Za-z0-9]{11}$")  # a function's, as an op type
CALL = "PartitionedCall"
NOT_A_KERNEL = re.compile(r"^(regs:|MEMCPY|Memcpy)|^\s*$")
DEVICE = re.compile(rb"/[\w:/.\-]*(?i:device:|cpu:|gpu:)[\w:/.\-]*")

Shape = tuple[int, ...] | None
Key = tuple[str, int]  # node and output slot


@dataclass(frozen=True)
class Event:
    """One run of an op on one device: start, duration and end [ns], and the content of its label."""

    op: str
    device: str
    start: int
    duration: int
    end: int  # of the op and its bookkeeping
    op_type: str | None
    kernel: str | None
    inputs: tuple[str, ...]
    outputs: tuple[Shape, ...]


def recognises(head: bytes) -> bool:
    """Whether the content starts with a device's step stats, with or without a length prefix."""
    varint = next((i + 1 for i, byte in enumerate(head[:10]) if byte < 0x80), 0)
    return any(_starts_with_device(head[skip:]) for skip in (0, FIXED, varint))


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read one dump; op times are means over its steps. Raises EstimatorError where it cannot be read."""
    where = str(dumps[0])
    traced = [_Step(message, f"{where}: step {i + 1}") for i, message in enumerate(_split(dumps[0]))]
    rows = [row | {"step": i} for i, step in enumerate(traced) for row in step.rows()]
    if not rows:
        raise EstimatorError(f"{where}: no op ran in it; expected step stats, so capture it with FULL_TRACE")
    ops = phases.fill(canonical.to_ops(steps.mean(pd.DataFrame(rows), len(traced)), where))
    warnings = dict.fromkeys(warning for step in traced for warning in step.warnings())
    return Profile(
        ops=ops,
        workload=names.as_profiled(workload, ops),
        device=None,
        format="RunMetadata",
        steps=len(traced),
        wall_step_s=float(np.mean([step.wall_s for step in traced])),
        busy_step_s=float(np.mean([step.busy_s() for step in traced])),
        warnings=tuple(warnings),
    )


@dataclass(frozen=True)
class Output:
    """One result of one run of a node, and when it was made [ns]."""

    made: int
    shape: Shape
    precision: str | None


class _Step:
    """One traced step: its events, the nodes that may have run, and the outputs of every run of a node."""

    def __init__(self, metadata: Any, where: str) -> None:
        self.nodes = graph_nodes.read_nodes(metadata)
        self.outputs: dict[Key, list[Output]] = defaultdict(list)
        self.events = [self._event(d, stats, where) for d in metadata.step_stats.dev_stats for stats in d.node_stats]
        for outputs in self.outputs.values():
            outputs.sort(key=lambda output: output.made)
        devices = {event.device for event in self.events}
        counted = names.select_counted(devices)
        in_order = sorted(self.events, key=lambda event: event.start)
        self.counted = [event for event in in_order if event.device in counted]
        self.start = min((event.start for event in self.events), default=0)
        span = max((event.end for event in self.events), default=0) - self.start
        if not 0 <= span <= LONGEST:
            raise EstimatorError(f"{where}: its ops span {span / 1e9:.3g} s; the dump is damaged, so capture it again")
        self.wall_s = span / 1e9

    def rows(self) -> Iterator[dict[str, object]]:
        """Yield one row per run of an op; the kernels of a GPU's op are one run, named after the longest."""
        launched, ran = defaultdict(list), defaultdict(list)
        for event in self.events:
            if names.is_launch_device(event.device):
                launched[event.op].append(event)
        for event in self.counted:
            ran[event.op, event.device].append(event)
        for (op, device), group in ran.items():
            if names.GPU.search(device) and not names.is_launch_device(device):
                yield self._row(op, group, launched.get(op, ()))
            else:
                yield from (self._row(op, [event], [event]) for event in group)

    def busy_s(self) -> float:
        """Time during which any op ran [s]."""
        return _busy_ns(self.counted) / 1e9

    def warnings(self) -> Iterator[str]:
        """Yield warnings about times of launching kernels."""
        bare = {event.device for event in self.counted if names.is_launch_device(event.device)}
        if bare:
            yield names.NO_STREAM.format(device=min(bare))
        elif len(self.counted) < len(self.events):
            yield names.LAUNCHES_LEFT_OUT

    def _row(self, op: str, ran: Sequence[Event], runs: Sequence[Event]) -> dict[str, object]:
        longest = max(ran, key=lambda event: event.duration)
        labelled = runs[0] if runs else longest
        operands = [self._operand(name, labelled) for name in labelled.inputs]
        nodes = graph_nodes.find_nodes(self.nodes, op, labelled.inputs)
        op_type = labelled.op_type or graph_nodes.only(node.op for node in nodes)
        stated = graph_nodes.only(node_text.attributes(node.op, node.attr) for node in nodes)
        return {
            "op": op,
            "op_type": op_type,
            "kernel": longest.kernel or labelled.kernel,
            "placement": longest.device,
            "precision": self._precision(labelled, operands),
            "shapes": node_text.shapes_text([operand.shape if operand else None for operand in operands]),
            "output_shapes": node_text.shapes_text(labelled.outputs),
            "attributes": stated or node_text.attributes(op_type or "", {}),
            "calls": len(runs) or len(ran),
            "time_s": sum(self._own_time(event) for event in ran) / 1e9,
        }

    def _own_time(self, event: Event) -> int:
        """The time of an op without the ops that it calls [ns]."""
        if not CALLS.match(event.op_type or ""):
            return event.duration
        last = event.start + event.duration
        inside = [e for e in self.counted if event.start <= e.start < last and e.duration < event.duration]
        return event.duration - min(_busy_ns(inside), event.duration)

    def _precision(self, event: Event, operands: Sequence[Output | None]) -> str | None:
        """The precision of the first operand that has one, or of the result."""
        results = [_last_made(self.outputs.get((event.op, 0), ()), event.start + event.duration)]
        return next((each.precision for each in (*operands, *results) if each and each.precision), None)

    def _operand(self, name: str, event: Event) -> Output | None:
        """The operand of an event that its label writes ``node`` or ``node:slot``."""
        node, _, slot = name.rpartition(":")
        has_slot = node and slot.isdecimal() and len(slot) < 9
        return _last_made(self.outputs.get((node, int(slot)) if has_slot else (name, 0), ()), event.start)

    def _event(self, device: Any, stats: Any, where: str) -> Event:
        start, op_start, op_end, end = _times(stats)
        op, op_type, kernel, inputs = _label(stats)
        if op_end < op_start or op_start < 0:
            raise EstimatorError(
                f"{where}: '{op}' runs from {op_start} to {op_end} ns of its start; expected an end after its beginning"
            )
        shapes: dict[int, Shape] = {}
        for output in stats.output:
            slot, tensor = output.slot, output.tensor_description
            shapes[slot] = node_text.shape_of(tensor.shape)
            self.outputs[op, slot].append(Output(start + op_end, shapes[slot], node_text.PRECISION.get(tensor.dtype)))
        results = tuple(shapes[slot] for slot in sorted(shapes))
        last = start + max(op_end, end)
        return Event(op, device.device, start + op_start, op_end - op_start, last, op_type, kernel, inputs, results)


def _times(stats: Any) -> tuple[int, int, int, int]:
    """The start; and relative to it the op's start, the op's end and the end of all [ns]. Older dumps hold µs."""
    if stats.all_start_nanos:
        return stats.all_start_nanos, stats.op_start_rel_nanos, stats.op_end_rel_nanos, stats.all_end_rel_nanos
    micros = stats.all_start_micros, stats.op_start_rel_micros, stats.op_end_rel_micros, stats.all_end_rel_micros
    return tuple(1000 * value for value in micros)


def _label(stats: Any) -> tuple[str, str | None, str | None, tuple[str, ...]]:
    """Op, type, kernel and data inputs of a label; an input at which the label is cut off is unknown."""
    label = stats.timeline_label
    _, is_call, call = label.partition(" = ")
    if is_call:
        kernel, _, inputs = call.partition("(")
        operands = inputs.removesuffix(")").split(", ") if inputs.removesuffix(")") else []
        if operands and not inputs.endswith(")"):
            operands[-1] = ""
        kernel = kernel.strip()
        op_type = CALL if BY_NAME.match(kernel) else kernel
        return stats.node_name, op_type, kernel, tuple(name for name in operands if not name.startswith("^"))
    detail, _, annotation = label.partition("@@")
    name, _, op_type = (annotation.partition("#")[0] or stats.node_name).partition(":")
    kernel = re.split(r" regs:", detail)[0].strip()
    return name, op_type or None, (op_type if NOT_A_KERNEL.match(kernel) else kernel) or None, ()


def _last_made(outputs: Sequence[Output], until: int) -> Output | None:
    """The last output up to a time; where all are later, as clocks differ, the first if all have equal shapes."""
    place = bisect.bisect_right(outputs, until, key=lambda output: output.made)
    if place:
        return outputs[place - 1]
    return outputs[0] if len({(output.shape, output.precision) for output in outputs}) == 1 else None


def _busy_ns(ran: Sequence[Event]) -> int:
    return events.covered([(event.start, event.duration) for event in ran])


def _split(dump: Dump) -> Iterator[Any]:
    """Yield the messages of one file: a single one, or several with their length before each (8 bytes or a varint)."""
    content, where = bytes(dump.content), str(dump)
    if _starts_with_device(content):
        yield messages.parse("RunMetadata", content, where)
        return
    fixed = _starts_with_device(content[FIXED : FIXED + HEAD])
    at = 0
    while at < len(content):
        size, begin = _length(content, at, fixed, where)
        if begin + size > len(content):
            raise EstimatorError(f"{where}: it ends within the step that starts at byte {at}; copy the dump again")
        yield messages.parse("RunMetadata", content[begin : begin + size], f"{where}: the step at byte {at}")
        at = begin + size


def _length(content: bytes, at: int, fixed: bool, where: str) -> tuple[int, int]:
    """The message length at a place, and the place where the message begins."""
    if fixed:
        return int.from_bytes(content[at : at + FIXED], "little"), at + FIXED
    try:
        return wire.varint(content, at, len(content))
    except EstimatorError:
        raise EstimatorError(f"{where}: no length of a step stands at byte {at}; copy the dump again") from None


def _starts_with_device(content: bytes) -> bool:
    """Whether the content is step stats that begin with a device's name."""
    name = messages.opening(content[:HEAD], STEP_STATS_DEVICE)
    return name is not None and DEVICE.fullmatch(name) is not None
