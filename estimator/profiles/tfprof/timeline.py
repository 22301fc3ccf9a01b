"""Reader of TensorFlow's Chrome traces: ``timeline.json`` of a session step, and tfprof's timelines.

In the first an event's name is the kernel that ran and ``args.name`` the node; tfprof's show its tree, where scopes
hold ops. Neither has shapes.
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

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, Workload
from estimator.profiles import canonical, events, phases
from estimator.profiles.dump import Dump, decode_head
from estimator.profiles.tfprof import names

FORMAT = "TensorFlow timeline (Chrome trace)"
VIEWS = False
IS_OP = re.compile(r'"cat"\s*:\s*"Op"')
TRACE = re.compile(r'\s*(\[\s*)?\{\s*("traceEvents"\s*:|"[^"]*"\s*:)')
SCOPE, CODE = re.compile(r"Scope:\d+"), re.compile(r"\.py:\d+:")
LONGEST = 10**12  # of a trace [us]; int64 holds its picoseconds
ROOT = "_TFProfRoot"
NO_SHAPES = "a timeline has no shapes: matrix products stay unknown unless graph.csv beside it tells them"


@dataclass(frozen=True)
class Event:
    """One op or scope on one lane: start and duration [us]."""

    op: str
    op_type: str | None
    place: str
    lane: tuple[str, str]
    start: float
    duration: float


def recognises(head: bytes) -> bool:
    """Whether the content is a Chrome trace whose events are of category Op."""
    text = decode_head(head) or ""
    return TRACE.match(text) is not None and IS_OP.search(text) is not None


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read the trace of one step. Raises EstimatorError naming the event that cannot be read."""
    where = str(dumps[0])
    found = list(_events(_load(dumps[0]), where))
    if not found:
        raise EstimatorError(f"{where}: no event in it is an op; expected a timeline of a session step or of tfprof")
    tree = all(SCOPE.fullmatch(event.place) for event in found)
    if tree and any(CODE.search(event.op) for event in found):
        raise EstimatorError(f"{where}: this timeline shows lines of code, not ops; make tfprof's scope timeline")
    return _tree(found, workload, where) if tree else _step(found, workload, where)


def _step(found: list[Event], workload: Workload, where: str) -> Profile:
    """A session step: each event is one run of an op."""
    devices = names.counted(event.place for event in found)
    ran = [event for event in found if event.place in devices]
    table, tally = _self_times(ran, where)
    launched = Counter(event.op for event in found if event.place not in devices and names.launches(event.place))
    table["calls"] = table["op"].map(launched).fillna(0).where(lambda count: count > 0, table["calls"])
    ops = table.assign(
        kernel=table["op_type"],
        op_type=table["op_type"].fillna(names.op_types(table["op"])),
        placement=table["place"],
    )
    ops = phases.fill(canonical.to_ops(ops.drop(columns="place"), where))
    start, end = min(event.start for event in found), max(event.start + event.duration for event in found)
    launches = ("the host's time of launching kernels is left out: it runs beside them",)
    return Profile(
        ops=ops,
        workload=workload,
        device=None,
        format="TensorFlow timeline",
        wall_step_s=(end - start) / 1e6,
        busy_step_s=tally.busy_ps / 1e12,
        warnings=(NO_SHAPES, *(launches if len(ran) < len(found) else ())),
    )


def _tree(found: list[Event], workload: Workload, where: str) -> Profile:
    """tfprof's tree: an op's time is what its event holds beyond those below it."""
    deepest_last = sorted(found, key=lambda event: int(event.place.removeprefix("Scope:")))
    table, _ = _self_times([Event(e.op, None, "", ("", ""), e.start, e.duration) for e in deepest_last], where)
    scopes = {event.op.rsplit("/", 1)[0] for event in found if "/" in event.op} | {ROOT}
    ops = table[(table["time_s"] > 0) | ~table["op"].isin(scopes)].copy()
    ops["op_type"] = names.op_types(ops["op"])
    ops = ops.replace({"op": {ROOT: "unlisted"}, "op_type": {ROOT: "unlisted"}})
    ops = phases.fill(canonical.to_ops(ops, where))
    warnings = (NO_SHAPES, names.TYPES_FROM_NAMES, *names.no_updates(ops))
    return Profile(ops=ops, workload=workload, device=None, format="tfprof timeline", warnings=warnings)


def _self_times(found: list[Event], where: str) -> tuple[pd.DataFrame, events.Tally]:
    """Calls and self time of each kind of event, and the tally; events of one lane nest."""
    table = pd.DataFrame([vars(event) for event in found])
    if (table["start"] + table["duration"]).max() - table["start"].min() > LONGEST:
        raise EstimatorError(f"{where}: its ops span more than {LONGEST / 1e6:g} s; the timeline is damaged")
    kinds = table.groupby(["op", "op_type", "place"], dropna=False, sort=False)
    table["kind"] = kinds.ngroup()
    first = table["start"].min()
    table["start"] = ((table["start"] - first) * 1e6).round().astype("int64")
    table["duration"] = (table["duration"] * 1e6).round().astype("int64")
    columns = ["kind", "start", "duration"]
    lanes = [lane[columns].to_numpy(dtype=np.int64).T for _, lane in table.groupby("lane", sort=False)]
    tally = events.tally([[events.Batch(*lane).sorted()] for lane in lanes])
    rows = table.drop_duplicates("kind").sort_values("kind")[["op", "op_type", "place"]]
    return rows.assign(calls=tally.calls, time_s=tally.self_ps / 1e12).reset_index(drop=True), tally


def _load(dump: Dump) -> list[Any]:
    """The trace's events."""
    try:
        trace = json.loads(dump.text(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError, MemoryError) as error:
        problem = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise EstimatorError(f"{dump}: this JSON cannot be read ({problem}); capture the timeline again") from None
    found = trace.get("traceEvents") if isinstance(trace, dict) else trace
    if not isinstance(found, list):
        raise EstimatorError(f"{dump}: expected a list of traceEvents, found none; check what this file is")
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _events(trace: list[Any], where: str) -> Iterator[Event]:
    """The ops of a trace: complete events, and begins with their ends."""
    places = dict(_processes(trace))
    open_: dict[tuple[str, str], list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for number, event in enumerate(trace):
        place = f"{where}: event {number}"
        if not isinstance(event, dict):
            raise EstimatorError(f"{place} is {str(event)[:40]!r}; expected an object with ph, ts and args")
        lane = str(event.get("pid")), str(event.get("tid"))
        if event.get("ph") == "X" and event.get("cat") == "Op":
            yield _event(event, places, event.get("dur"), place)
        elif event.get("ph") == "B":
            open_[lane].append((number, event))
        elif event.get("ph") == "E":
            if not open_[lane]:
                raise EstimatorError(f"{place} ends '{event.get('name')}', which never began; capture it again")
            begun = open_[lane].pop()[1]
            if begun.get("cat") == "Op":
                start, end = (_number(e.get("ts"), "ts", place) for e in (begun, event))
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
    op_type = args.get("op")
    start, lasting = _number(event.get("ts"), "ts", where), _number(duration, "dur", where)
    if not 0 <= lasting <= LONGEST:
        raise EstimatorError(f"{where}: '{node}' lasts {lasting:.6g} us; expected a duration of at least 0")
    known = op_type if isinstance(op_type, str) and op_type else None
    return Event(node, known, places.get(process, process), (process, str(event.get("tid"))), start, lasting)


def _number(value: object, key: str, where: str) -> float:
    try:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise EstimatorError(f"{where}: its {key} is {str(value)[:40]}; expected a number of microseconds")
    return number


def _processes(trace: list[Any]) -> Iterator[tuple[str, str]]:
    """What each pid stands for: a device, or a depth of tfprof's tree."""
    for event in trace:
        if isinstance(event, dict) and event.get("name") == "process_name" and isinstance(event.get("args"), dict):
            yield str(event.get("pid")), str(event["args"].get("name")).removesuffix(" Compute")
