"""The op that each kind of event of an XPlane dump is, and the rows of OPS that ops make."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from estimator.core.attributes import HELPER, with_attribute
from estimator.core.number_formats import known_format
from estimator.core.types import Integers
from estimator.profiles import frameworks, phases
from estimator.profiles.events import Tally
from estimator.profiles.xplane import hlo
from estimator.profiles.xplane.instructions import strip_number
from estimator.profiles.xplane.space import PROGRAM_ID, EventMetadata, Line, Plane
from estimator.profiles.xplane.state import State

# TensorFlow's own rule for executor events: ParseTfOpFullname in tsl/profiler/utils/tf_op_utils.cc
TF_OP = re.compile(r"^([A-Za-z0-9.][\w./>-]*):([A-Z_][A-Za-z0-9_]*)$")
ANNOTATIONS = "::"  # between the nested annotations of a kernel, of which each may be ``name:Type#shape=(…)#``
REPLICA = re.compile(r"(^|/)replica_\d+/")  # the scope of one of tf.distribute's devices, which run the same ops
# ops that only call other ops
CALLS = re.compile(
    r"^(__inference_|(Stateful|Stateless)?PartitionedCall$|_?Xla(Run|Launch)|(Stateless)?(While|If|Case)$)"
)
CALLED = re.compile(r"^EagerLocalExecute: (__\w+)$")  # a call of a traced function by the host
EAGER_OP = re.compile(r"^EagerLocalExecute: (_?[A-Z]\w*)$")  # an op that the host ran by itself
PREPARES_INPUT = re.compile(r"Iterator|Dataset|^Optional")  # types of ops
WAITS_FOR_INPUT = ("IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute")  # also of eager code
INPUT = "IteratorGetNext"  # their op
INPUT_THREAD = re.compile(r"^tf_data")
# the host's own bookkeeping, which is neither an op nor a step
BOOKKEEPING = re.compile(r"::|^\$|^end: |^Memory(De)?[aA]llocation$|^Eager|^TFE_|^Thread")
TYPED_SHAPE = re.compile(r"(\w+)\[([\d,?-]*)\]")
PICO = 1e-12
SUMMED = ("calls", "time_s", "shared_s")  # over rows that are equal otherwise
DESCRIBED = ("op_type", "kernel", "shapes", "output_shapes", "attributes", "precision")
COLUMNS = ("op", "placement", *DESCRIBED, "launched")  # launched: the name of an accelerator's event


@dataclass(frozen=True)
class Kind:
    """One kind of op: its columns of OPS, its path in the framework's program, and its share of the events' work."""

    event: int
    columns: Mapping[str, str | None]
    path: str
    share: float = 1.0
    by_executor: bool = False  # whether TensorFlow's executor ran it
    state: State | None = None  # of the program that it is an instruction of
    loop: hlo.Turn | None = None  # of steps, in which it runs once a turn


def prepares_input(plane: Plane, line: Line) -> bool:
    """Whether a line is a thread that prepares input while a step runs, or on which a traced function waits for it."""
    return not plane.device and bool(INPUT_THREAD.match(line.name))


def may_be_op_or_step(name: str) -> bool:
    """Whether a host's event of that name may be an op or a step."""
    op = TF_OP.match(name)
    if op:
        return not CALLS.search(op[2])
    is_listed = name in WAITS_FOR_INPUT or bool(CALLED.match(name)) or eager_type(name) is not None
    return is_listed or not BOOKKEEPING.search(name)


def kinds(
    event: int, plane: Plane, metadata: EventMetadata, stats: Mapping[str, str], programs: Mapping[str, hlo.Program]
) -> list[Kind]:
    """The ops that an event with this metadata and these stats is: none, one, or the parts of a fused op."""
    stats = {**metadata.stats, **{name: text for name, text in stats.items() if text}}
    shapes, precision = typed_shapes(stats.get("shape") or stats.get("tensor_shapes") or "")
    launched = metadata.name if plane.device else None
    known = {"placement": plane.name, "shapes": shapes, "precision": precision, "launched": launched}
    base = dict.fromkeys(COLUMNS) | known
    instruction = stats.get("hlo_op") or (metadata.display_name if plane.device and PROGRAM_ID in stats else "")
    if instruction:
        programs_named = (stats.get(PROGRAM_ID, ""), stats.get("hlo_module", ""))
        program = next((programs[name] for name in programs_named if name in programs), hlo.NO_PROGRAM)
        return _instructions(event, instruction, program, base)
    op = _executed(plane, metadata.name, stats)
    if op is None:
        return []
    names = {"op": op.name, "op_type": op.op_type, "kernel": op.kernel}
    return [Kind(event, base | names, op.path, by_executor=op.by_executor)]


class _Op(NamedTuple):
    """An op that is no instruction of a program, as OPS and :class:`Kind` name it."""

    name: str
    op_type: str
    kernel: str
    path: str = ""
    by_executor: bool = False


def _executed(plane: Plane, event_name: str, stats: Mapping[str, str]) -> _Op | None:
    """The op that an event is by its name and stats, outside of XLA's programs; None where it is none."""
    if event_name in WAITS_FOR_INPUT:
        return _Op(INPUT, INPUT, INPUT, INPUT)
    op = TF_OP.match(stats.get("tf_op") or annotated_op(stats.get("annotation", "")) or event_name)
    if op and not CALLS.search(op[2]):
        name = REPLICA.sub(r"\1", op[1])
        return _Op(name, op[2], event_name if plane.device else op[2], name, by_executor=True)
    eager = eager_type(event_name)
    if eager and not plane.device:
        return _Op(eager, eager, eager, by_executor=True)
    return _Op(event_name, event_name, event_name) if plane.device and event_name else None


def eager_type(name: str) -> str | None:
    """The type of the op that the host ran without a traced function in events of that name; None of any other name.

    Input is made elsewhere, and the wait for it is an event of its own.
    """
    op = EAGER_OP.match(name)
    return op[1] if op and not CALLS.search(op[1]) and not PREPARES_INPUT.search(op[1]) else None


def _instructions(event: int, name: str, program: hlo.Program, base: Mapping[str, str | None]) -> list[Kind]:
    parts = program.instructions.get(name, ())
    if not parts:
        op_type = strip_number(name)
        return [Kind(event, {**base, "op": name, "op_type": op_type, "kernel": op_type}, "")]
    described = [{**base, "op": name, **{c: getattr(part, c) for c in DESCRIBED}} for part in parts]
    each = zip(described, parts, strict=True)
    loop = program.loops.get(name)
    return [Kind(event, columns, part.path, part.share, state=program.state, loop=loop) for columns, part in each]


def annotated_op(annotation: str) -> str:
    """The innermost op of TensorFlow in a kernel's annotation, as ``name:Type``; empty where it names none."""
    names = [part.partition("#")[0] for part in annotation.split(ANNOTATIONS)]
    return next((name for name in reversed(names) if TF_OP.match(name)), "")


def typed_shapes(text: str) -> tuple[str | None, str | None]:
    """Shapes and precision of ``(float[100,50];int32[];)``; a scalar is one element, an empty item is unknown."""
    if not text:
        return None, None
    matches = [TYPED_SHAPE.search(item) for item in text.strip("()").split(";")]
    shapes = [match[2].replace("?", "-1").replace(",", "x") or "1" if match else "unknown" for match in matches]
    precisions = (known_format(match[1]) for match in matches if match)
    return ";".join(shapes), next(filter(None, precisions), None)


def framework(op_kinds: Sequence[Kind], programs: Collection[str], version: str | None) -> str | None:
    """The framework whose version the dump states, whose programs ran, or whose executor; None where none of it."""
    if version is not None:
        return frameworks.JAX
    executed = any(kind.by_executor for kind in op_kinds)
    of_programs = frameworks.of_programs([*programs, *(kind.path for kind in op_kinds)])
    return of_programs or (frameworks.TENSORFLOW if executed else None)


def names_types_times(parts: Sequence[tuple[Sequence[Kind], Tally]]) -> tuple[pd.Series, pd.Series, pd.Series]:
    """Path in the framework's program (NA where it has none), type and time of each kind of op, of several devices."""
    kinds_of_parts = [(kind, total) for op_kinds, total in parts for kind in op_kinds]
    return (
        pd.Series([kind.path or None for kind, _ in kinds_of_parts], dtype="string[python]"),
        pd.Series([kind.columns["op_type"] for kind, _ in kinds_of_parts], dtype="string[python]"),
        pd.Series([total.self_ps[kind.event] * kind.share * PICO for kind, total in kinds_of_parts], dtype=float),
    )


def state_of_step(parts: Sequence[tuple[Sequence[Kind], Tally]]) -> State | None:
    """The state of the program that most of the time is of; None where that keeps nothing.

    The states behind the gradients that it gives are those of another program, which updates as many weights.
    """
    times: Counter[State | None] = Counter()
    for kind, total in ((kind, total) for op_kinds, total in parts for kind in op_kinds):
        times[kind.state] += int(total.self_ps[kind.event] * kind.share)
    state = max(times, key=times.__getitem__, default=None)
    if state is None or state.slots is not None:
        return state
    updates = (each for each in times if each and each.slots is not None and each.parameters == state.parameters)
    return max(updates, key=times.__getitem__, default=state)


def turns_of_steps(op_kinds: Sequence[Kind], total: Tally) -> int:
    """How many steps ran in loops, or several in a run of a program; 0 where none did."""
    turns: Counter[hlo.Turn] = Counter()
    for kind in op_kinds:
        if kind.loop is not None:
            turns[kind.loop] = max(turns[kind.loop], int(total.calls[kind.event]))
    return sum(loop.steps * count for loop, count in turns.items())


def rows(op_kinds: Sequence[Kind], total: Tally) -> tuple[pd.DataFrame, Integers]:
    """Rows of OPS in the order in which they first ran, and the row of each kind; kinds with equal columns are summed.

    ``total`` holds the calls and self times of every kind of event.
    """
    order = np.argsort([total.first_ps[kind.event] for kind in op_kinds], kind="stable")
    op_kinds = [op_kinds[number] for number in order]
    event = np.array([kind.event for kind in op_kinds], dtype=int)
    table = pd.DataFrame([kind.columns for kind in op_kinds], dtype="string[python]")
    paths = pd.Series([kind.path for kind in op_kinds], dtype="string[python]")
    nameless = (paths == "") & (table["op"] != table["op_type"])  # XLA made the instruction itself
    table["phase"] = phases.classify(paths, table["op_type"]).mask(nameless, "unknown")
    table["attributes"] = with_attribute(table["attributes"], phases.turns(paths))
    share = np.array([kind.share for kind in op_kinds])
    time = total.self_ps[event] * share * PICO
    table = table.assign(calls=total.calls[event].astype(float), time_s=time, shared_s=time * total.share[event])
    table, of_kind = _sum_equal_rows(table)
    table, of_row = _sum_equal_rows(_mark_helpers(table).drop(columns="launched"))
    row = np.empty_like(of_kind)
    row[order] = of_row[of_kind]
    return table, row


def _sum_equal_rows(table: pd.DataFrame) -> tuple[pd.DataFrame, Integers]:
    """The distinct rows, summed, and which of them each row is part of."""
    groups = table.groupby([name for name in table if name not in SUMMED], dropna=False, sort=False)
    return groups.sum().reset_index(), np.asarray(groups.ngroup(), dtype=np.int64)


def _mark_helpers(table: pd.DataFrame) -> pd.DataFrame:
    """Mark all but the longest of the kernels that an accelerator launched for one op as helpers."""
    op_columns = [name for name in table if name not in (*SUMMED, "launched", "kernel")]
    table = table.sort_values("time_s", ascending=False, kind="stable")
    helps = table["launched"].notna() & table.duplicated(op_columns)
    table.loc[helps, "kernel"] = table.loc[helps, "launched"]
    table.loc[helps, ["shapes", "output_shapes"]] = None
    table.loc[helps, "attributes"] = HELPER
    return table.sort_index()
