"""Reader of TensorFlow's Chrome traces: ``timeline.json`` of a session step, and tfprof's timelines.

In ``timeline.json``, an event's name is the kernel that ran and ``args.name`` the node; tfprof's timelines show a tree
in which scopes hold ops. Neither has shapes.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from estimator.core.attributes import HELPER
from estimator.core.errors import EstimatorError, kind_of_value
from estimator.core.types import Profile, Workload
from estimator.profiles import canonical, events, phases, trace_times
from estimator.profiles.dump import Dump, decode_head
from estimator.profiles.modes import UNLISTED
from estimator.profiles.tfprof import names
from estimator.profiles.tfprof.names import ROOT

FORMAT = "TensorFlow timeline (Chrome trace)"
VIEWS = False
CATEGORY = re.compile(r'"cat"\s*:\s*"(Op|Tensor|DataFlow)"')  # tensors come first where their memory is shown
TRACE = re.compile(r'\s*(\[\s*)?\{\s*("traceEvents"\s*:|"[^"]*"\s*:)')
SCOPE, CODE = re.compile(r"Scope:\d{1,9}"), re.compile(r"\.py:\d+:")
OP_TYPE = re.compile(r"_?[A-Z][A-Za-z0-9]*|unknown")  # TensorFlow's rule for op types; kernels' names differ
LONGEST = 10**12  # of a trace [us]; int64 holds its picoseconds
KIND = ["op", "op_type", "kernel", "place"]  # events with equal values are summed
NO_SHAPES = "a timeline has no shapes: matrix products stay unknown unless graph.csv beside it has them"


@dataclass(frozen=True)
class Event:
    """One op or scope on one lane: start and duration [us]."""

    op: str
    op_type: str | None
    kernel: str | None
    place: str
    lane: tuple[str, str]
    start: float
    duration: float


def recognises(head: bytes) -> bool:
    """Whether the content is a Chrome trace with events of the categories of TensorFlow's timelines."""
    text = decode_head(head) or ""
    return TRACE.match(text) is not None and CATEGORY.search(text) is not None


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read the trace of one step. Raises EstimatorError that names the event that cannot be read."""
    where = str(dumps[0])
    ops = list(_events(_load(dumps[0]), where))
    if not ops:
        raise EstimatorError(f"{where}: no event in it is an op; expected a timeline of a session step or of tfprof")
    tree = all(SCOPE.fullmatch(event.place) for event in ops)
    if tree and any(CODE.search(event.op) for event in ops):
        raise EstimatorError(f"{where}: this timeline shows lines of code, not ops; make tfprof's scope timeline")
    return _tree(ops, workload, where) if tree else _step(ops, workload, where)


def _step(op_events: list[Event], workload: Workload, where: str) -> Profile:
    """A session step: each event is one run of an op."""
    devices = names.select_counted(event.place for event in op_events)
    ran = [event for event in op_events if event.place in devices]
    table, tally = _self_times(ran, where)
    table = table.iloc[np.argsort(tally.first_ps, kind="stable")].reset_index(drop=True)  # the order of the program
    launches = [event for event in op_events if event.place not in devices and names.is_launch_device(event.place)]
    launch_count = table["op"].map(Counter(event.op for event in launches)).fillna(0)
    table["calls"] = launch_count.where(launch_count > 0, table["calls"])
    helpers = _helpers(table)
    ops = table.assign(
        op_type=table["op_type"].where(table["kernel"].notna(), names.op_types(table["op"])),
        attributes=[HELPER if row in helpers else None for row in table.index],
        placement=table["place"],
    )
    ops = phases.fill(canonical.to_ops(ops.drop(columns="place"), where))
    start, end = min(event.start for event in op_events), max(event.start + event.duration for event in op_events)
    left_out = [names.LAUNCHES_LEFT_OUT] if len(ran) < len(op_events) else []
    return Profile(
        ops=ops,
        workload=names.as_profiled(workload, ops),
        device=None,
        format="TensorFlow timeline",
        wall_step_s=(end - start) / 1e6,
        busy_step_s=tally.busy_ps / 1e12,
        warnings=(NO_SHAPES, *left_out, *events.crossing_warnings(tally)),
    )


def _helpers(table: pd.DataFrame) -> set[int]:
    """The rows of a GPU's kernels except the longest kernel of each op."""
    kernels = table[table["op_type"].isna() & table["kernel"].notna()]
    longest = kernels.groupby(["op", "place"])["time_s"].idxmax()
    return {*kernels.index} - {*longest}


def _tree(op_events: list[Event], workload: Workload, where: str) -> Profile:
    """tfprof's tree: an op's time is the self time of its event."""
    deepest_last = sorted(op_events, key=lambda event: int(event.place.removeprefix("Scope:")))
    one_lane = [Event(e.op, None, None, "", ("", ""), e.start, e.duration) for e in deepest_last]
    table, tally = _self_times(one_lane, where)
    scopes = {event.op.rsplit("/", 1)[0] for event in op_events if "/" in event.op} | {ROOT}
    ops = table[(table["time_s"] > 0) | ~table["op"].isin(scopes)].copy()
    ops["op_type"] = names.op_types(ops["op"])
    ops = ops.replace({"op": {ROOT: UNLISTED}, "op_type": {ROOT: UNLISTED}})
    ops = phases.fill(canonical.to_ops(ops, where))
    warnings = (NO_SHAPES, names.TYPES_FROM_NAMES, *names.warn_missing_updates(ops), *events.crossing_warnings(tally))
    return Profile(
        ops=ops, workload=names.as_profiled(workload, ops), device=None, format="tfprof timeline", warnings=warnings
    )


def _self_times(op_events: list[Event], where: str) -> tuple[pd.DataFrame, events.Tally]:
    """Calls and self time by kind of event, and the tally; events of one lane nest."""
    table = pd.DataFrame([vars(event) for event in op_events])
    if (table["start"] + table["duration"]).max() - table["start"].min() > LONGEST:
        raise EstimatorError(f"{where}: its ops span more than {LONGEST / 1e6:g} s; the timeline is damaged")
    kinds = table.groupby(KIND, dropna=False, sort=False)
    table["kind"] = kinds.ngroup()
    first = table["start"].min()
    end = ((table["start"] - first + table["duration"]) * 1e6).round().astype("int64")
    table["start"] = ((table["start"] - first) * 1e6).round().astype("int64")
    table["duration"] = end - table["start"]
    trace_times.refuse_overflow(table["duration"].to_numpy(), where)
    columns = ["kind", "start", "duration"]
    lanes = [lane[columns].to_numpy(dtype=np.int64).T for _, lane in table.groupby("lane", sort=False)]
    tally = events.tally([[events.Batch(*lane).sorted()] for lane in lanes])
    rows = table.drop_duplicates("kind").sort_values("kind")[KIND]
    time = tally.self_ps / 1e12
    return rows.assign(calls=tally.calls, time_s=time, shared_s=time * tally.share).reset_index(drop=True), tally


def _load(dump: Dump) -> list[Any]:
    """The trace's events."""
    try:
        trace = json.loads(dump.text(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError, MemoryError) as error:
        problem = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise EstimatorError(f"{dump}: this JSON cannot be read ({problem}); capture the timeline again") from None
    loaded = trace.get("traceEvents") if isinstance(trace, dict) else trace
    if not isinstance(loaded, list):
        raise EstimatorError(f"{dump}: expected a list of traceEvents, found none; check what this file is")
    return loaded


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _events(trace: list[Any], where: str) -> Iterator[Event]:
    """Yield the ops of a trace: complete events, and pairs of begin and end."""
    places = dict(_processes(trace))
    open_: dict[tuple[str, str], list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for number, event in enumerate(trace):
        place = f"{where}: event {number}"
        if not isinstance(event, dict):
            raise EstimatorError(f"{place} is {kind_of_value(event)}; expected an object with ph, ts and args")
        of_lane = open_[str(event.get("pid")), str(event.get("tid"))]
        match event.get("ph"):
            case "X" if event.get("cat") == "Op":
                yield _event(event, places, event.get("dur"), place)
            case "B":
                of_lane.append((number, event))
            case "E" if not of_lane:
                raise EstimatorError(f"{place} ends '{event.get('name')}', which never began; capture it again")
            case "E":
                _, begun = of_lane.pop()
                if begun.get("cat") == "Op":
                    start, end = (_number(each.get("ts"), "ts", place) for each in (begun, event))
                    yield _event(begun, places, end - start, place)
    unclosed = next((begun[-1] for begun in open_.values() if begun), None)
    if unclosed:
        number, event = unclosed
        raise EstimatorError(
            f"{where}: event {number} begins '{event.get('name')}', which never ends; capture it again"
        )


def _event(event: dict[str, Any], places: dict[str, str], duration: object, where: str) -> Event:
    args, name = event.get("args"), event.get("name")
    node = args.get("name") if isinstance(args, dict) else None
    if not isinstance(args, dict) or not isinstance(node, str) or not isinstance(name, str) or not node:
        raise EstimatorError(f"{where} is of category Op but has no name and args.name; expected TensorFlow's timeline")
    process = str(event.get("pid"))
    place = places.get(process, process)
    start, duration_us = _number(event.get("ts"), "ts", where), _number(duration, "dur", where)
    if not 0 <= duration_us <= LONGEST:
        raise EstimatorError(f"{where}: '{node}' lasts {duration_us:.6g} us; expected a duration of at least 0")
    return Event(node, *_op_type_and_kernel(args, place), place, (process, str(event.get("tid"))), start, duration_us)


def _op_type_and_kernel(args: dict[str, Any], place: str) -> tuple[str | None, str | None]:
    """Op type and kernel of an event; on a GPU, ``args.op`` can hold the kernel's name instead of the type."""
    op_type, kernel = (text if isinstance(text, str) and text else None for text in map(args.get, ("op", "kernel")))
    on_stream = names.GPU.search(place) and not names.is_launch_device(place)
    is_kernel = op_type and on_stream and not OP_TYPE.fullmatch(op_type)
    return None if is_kernel else op_type, kernel or op_type


def _number(value: object, key: str, where: str) -> float:
    try:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        shown = value if isinstance(value, int | float) else kind_of_value(value)
        raise EstimatorError(f"{where}: its {key} is {shown}; expected a number of microseconds")
    return number


def _processes(trace: list[Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of each pid: a device, or a depth of tfprof's tree."""
    for event in trace:
        if isinstance(event, dict) and event.get("name") == "process_name" and isinstance(event.get("args"), dict):
            yield str(event.get("pid")), str(event["args"].get("name")).removesuffix(" Compute")
