"""Reader of XPlane dumps (``*.xplane.pb``): TensorFlow's and JAX's profiler on any device, plain or under XLA.

Ops are the events of accelerators, or of the host's threads where there is no accelerator. An event is a kernel with
the op that launched it, ``name:Kernel`` of a TensorFlow executor, or an instruction of an XLA program in the dump.
Message: tsl/profiler/protobuf/xplane.proto of OpenXLA.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from estimator.core.errors import EstimatorError, within
from estimator.core.types import Integers, Profile, Timeline, Workload
from estimator.profiles import modes, ranks, wire
from estimator.profiles.columns import UNKNOWN
from estimator.profiles.device_steps import non_empty, outside_warnings, wall_ps
from estimator.profiles.dump import Dump, decode_head
from estimator.profiles.events import Tally, crossing_warnings
from estimator.profiles.frameworks import JAX, with_framework
from estimator.profiles.steps import NOTHING_IN_STEPS
from estimator.profiles.xplane import devices, ops, space
from estimator.profiles.xplane.planes import read_planes
from estimator.profiles.xplane.reading import Part, Reading
from estimator.profiles.xplane.step_timeline import device_timeline

FORMAT = "XPlane (TensorFlow's or JAX's *.xplane.pb)"
VIEWS = False
COMPANIONS = ("*trace.json.gz", "*trace.json", "*.hlo_proto.pb", "*stats.pb", "*.input_pipeline.pb", "*_page.pb")

REPLACED = "\ufffd"  # stands for bytes that are no text
NO_OP_RECORDED = "no op was recorded; expected ops of TensorFlow or XLA, so profile some training steps"


def recognises(head: bytes) -> bool:
    """Whether the content starts with a plane: an optional number, and a printable name."""
    try:
        tag, at = wire.varint(head, 0, len(head))
        _, at = wire.varint(head, at, len(head))
        number, value, next_at = wire.field(head, at, len(head))
        if number == space.PLANE_ID and isinstance(value, int):
            number, value, next_at = wire.field(head, next_at, len(head))
        name = wire.text(head, value)
    except EstimatorError:
        return False
    return (
        tag == space.SPACE_PLANE << 3 | wire.BYTES
        and number == space.PLANE_NAME
        and len(name) > 1
        and name.isprintable()
    )


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read the dump of one host. Raises EstimatorError where it is damaged or holds no op that took time."""
    dump = dumps[0]
    with within(str(dump)), dump.piecewise() as content:
        _refuse_saved_as_text(dump)
        reading = read_planes(content)
        workers = reading.workers()
        if not workers:
            raise EstimatorError(NOTHING_IN_STEPS if any(part.outside_ps for part in reading.parts) else NO_OP_RECORDED)
    steps = _steps(reading, workers)
    counts = devices.step_counts([part.steps for part in workers], len(steps))
    on_host = max(len(workers[0].ordinals), 1)
    each = zip(workers, counts, strict=True)
    tables, rows = zip(*(part.ops(on_host * count, str(dump)) for part, count in each), strict=True)
    busy_s = [part.busy_ps() * ops.PICO / count for part, count in zip(workers, counts, strict=True)]
    row = ranks.merged_rows(tables[0])[rows[0]] if len(tables) > 1 else rows[0]
    return Profile(
        ops=ranks.mean_ops(tables) if len(tables) > 1 else tables[0],
        timeline=_timeline(reading, workers[0], steps, row),
        ranks=on_host * len(workers),
        steps=max(counts),
        turns=ops.turns_of_steps(workers[0].kinds, workers[0].total) / (on_host * counts[0]),
        workload=_as_profiled(workload, reading, workers),
        device=None,
        device_recorded=workers[0].device_recorded,
        device_numbers=workers[0].device_numbers,
        format="XPlane",
        wall_step_s=devices.mean_step_s([part.steps for part in workers]) or _wall_step_s(reading, workers, steps),
        busy_step_s=float(np.mean(busy_s)),
        tool_version=reading.tool_version,
        warnings=tuple(_warnings(reading, workers)),
    )


def _as_profiled(workload: Workload, reading: Reading, workers: list[Part]) -> Workload:
    """The workload with its framework, and as inference where the names that this one gave to ops tell so."""
    framework, parts = reading.framework(), [(part.kinds, part.total) for part in workers]
    is_inference = modes.is_inference(*ops.names_types_times(parts))
    workload = modes.with_mode(with_framework(workload, framework), framework is not None and is_inference)
    state = ops.state_of_step(parts)
    if framework != JAX or workload.mode != "training" or state is None:
        return workload
    states_given = workload.optimizer is not None or workload.optimizer_slots is not None
    slots = workload.optimizer_slots if states_given else state.slots
    precision = workload.parameter_precision or state.precision
    kept = {"optimizer_slots": slots, "parameter_precision": precision}
    if not workload.parameters:
        kept |= {
            "parameters": state.parameters,
            "frozen_parameters": workload.frozen_parameters or state.frozen or None,
        }
    return workload.model_copy(update=kept)


def _steps(reading: Reading, workers: list[Part]) -> Integers:
    """Start and end of each step that events mark, in which any accelerator was given work."""
    steps = reading.steps.find()
    given = [part.completed != UNKNOWN for part in workers if part.completed is not None]
    return non_empty(steps, np.any(given, axis=0)) if given else steps


def _wall_step_s(reading: Reading, workers: list[Part], steps: Integers) -> float | None:
    """The time of a step that events mark [s], the mean over the workers; None where none is marked."""
    if not len(steps):
        return None
    completed = [_completed(reading, part, steps) for part in workers]
    walls = [wall_ps(steps, ends, part.total.busy_ps) for part, ends in zip(workers, completed, strict=True)]
    return float(np.mean(walls)) * ops.PICO / len(steps)


def _completed(reading: Reading, part: Part, steps: Integers) -> Integers | None:
    """When a part had done the work of each step; None where that is not known."""
    if part.completed is None:
        return reading.steps.completed()
    return part.completed[np.isin(reading.steps.find()[:, 0], steps[:, 0])]


def _timeline(reading: Reading, part: Part, steps: Integers, row: Integers) -> Timeline | None:
    """The timeline of a typical step of one part; ``row`` is the row of OPS of each of its kinds."""
    own = part.steps if len(part.steps) else steps
    return device_timeline(part.record, reading.host, own, part.completed is not None, part.kinds, row)


def _refuse_saved_as_text(dump: Dump) -> None:
    """Raise EstimatorError where a program read the dump as UTF-8 text: what was none became U+FFFD."""
    text = decode_head(dump.head)
    if text is not None and REPLACED in text:
        raise EstimatorError(
            f"the file is damaged: a program saved it as UTF-8 text, and {text.count(REPLACED)} bytes or more of its "
            "beginning became U+FFFD; expected the bytes as the profiler wrote them, so copy the dump again"
        )


def _warnings(reading: Reading, workers: list[Part]) -> Iterator[str]:
    if not any(len(part.steps) for part in workers):
        yield from reading.steps.warnings()
    idle = [part.name for part in reading.parts if part.kinds and part not in workers]
    yield from ranks.device_warnings(len(workers), idle)
    yield from ranks.host_warnings(len(workers[0].ordinals))
    outside, total = sum(part.outside_ps for part in workers), sum(part.total.sum_ps for part in workers)
    yield from outside_warnings(outside, outside + total)
    yield from crossing_warnings(Tally(crossing=sum(part.total.crossing for part in workers)))
