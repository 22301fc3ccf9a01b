"""Reader of tfprof's text views: op lines (time, bytes, occurrence in any selection) and input-shape lines.

It reads TensorFlow's printed layout, and the lecture's, which lost the ``|`` and ``input_type:``. Several files of one
folder are views of the same run: shape lines refine the aggregate that they add up to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, Workload
from estimator.profiles import canonical, phases
from estimator.profiles.dump import Dump, decode_head
from estimator.profiles.modes import UNLISTED
from estimator.profiles.tfprof import fused, names
from estimator.profiles.tfprof.names import BYTES, COUNT, SECONDS

FORMAT = "tfprof text (op view, input shapes)"
VIEWS = True

TABLE_OF_AVERAGES = re.compile(rb"(?m)^\s*Name .*Self CPU.*# of Calls")  # of PyTorch's profiler
TIME = re.compile(r"(-?\d+(?:\.\d+)?)(us|ms|sec)\b(?:\s*\((\d+(?:\.\d+)?)%,\s*(\d+(?:\.\d+)?)%\))?")
SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?B)\b")
OP_LINE = re.compile(r"^([A-Za-z_][\w.:/]*)\s+(?=[-\d])")
FLOAT_OPS = re.compile(r"(\d+(?:\.\d+)?)([kmb]?) float_ops\b")
OCCURRENCE = re.compile(r"(\d+)\|(\d+)\s*$")
SHAPE_LINE = re.compile(
    r"^\s*(?:input_type:)?\s*(?P<shapes>(?:0:.*?)?)\s*\(run\*(?P<run>\d+)[|\s]+defined\*(?P<defined>\d+)\)\s*"
    r"exec_time:\s*(?P<time>.*?)\s*$"
)
OPERAND = re.compile(r"^\d+:(-?\d+(?:x-?\d+)*|unknown)$")
TOLERANCE = 0.01  # relative difference within which shape lines add up to an aggregate


@dataclass
class Aggregate:
    """One op line, and the shape lines below it."""

    op_type: str
    time_s: float
    share: float | None
    bytes: float | None
    calls: float | None
    flop: float | None = None
    shapes: list[dict[str, object]] = field(default_factory=list)


def recognises(head: bytes) -> bool:
    """Whether any of the first lines is an op line with a time, or a shape line, and none is PyTorch's."""
    if TABLE_OF_AVERAGES.search(head):
        return False
    lines = (decode_head(head) or "").splitlines()[:200]
    return any(SHAPE_LINE.match(line) or (OP_LINE.match(line) and TIME.search(line)) for line in lines)


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read the views of one run as one profile. Raises EstimatorError that names the line at fault."""
    where = str(dumps[0] if len(dumps) == 1 else dumps[0].path.parent)
    aggregates = _merge([aggregate for dump in dumps for aggregate in _parse(dump)], where)
    rows, fusion_warnings = fused.name_fused_kernels([row for aggregate in aggregates for row in _rows(aggregate)])
    rows += _unlisted(aggregates)
    ops = canonical.to_ops(pd.DataFrame(rows).drop(columns="defined", errors="ignore"), where)
    warnings = (*_mismatch_warnings(aggregates), *fusion_warnings)
    return Profile(
        ops=phases.fill(ops),
        workload=names.as_profiled(workload, ops),
        device=None,
        format="tfprof text",
        warnings=warnings,
    )


def _parse(dump: Dump) -> Iterator[Aggregate]:
    """Yield the op lines of one file; shape lines before any op line belong to a nameless aggregate."""
    current = Aggregate("", 0.0, None, None, None)
    for number, line in enumerate(dump.text().splitlines(), start=1):
        where = f"{dump}:{number}"
        if "exec_time:" in line:
            current.shapes.append(_shape_row(line, where))
        elif match := OP_LINE.match(line):
            times = TIME.findall(line)
            if not times:
                raise EstimatorError(f"{where}: no time can be read for '{match[1]}'; expected one such as '73.65ms'")
            if current.op_type or current.shapes:
                yield current
            current = _aggregate(match[1], line, times, where)
    if current.op_type or current.shapes:
        yield current


def _aggregate(op_type: str, line: str, times: list[tuple[str, ...]], where: str) -> Aggregate:
    size, occurrence, float_ops = SIZE.search(line), OCCURRENCE.search(line), FLOAT_OPS.search(line)
    share = float(times[0][3]) / 100 if times[0][3] else None
    if share and not float(times[0][0]):
        raise EstimatorError(f"{where}: '{op_type}' has {times[0][3]} % of the time but 0{times[0][1]}; mend the line")
    return Aggregate(
        op_type,
        _seconds(times[0], where),
        share,
        float(size[1]) * BYTES[size[2]] if size else None,
        float(occurrence[1]) if occurrence else None,
        (float_ops and float(float_ops[1]) * COUNT[float_ops[2]]) or None,  # 0: tfprof knows no rule for the op
    )


def _shape_row(line: str, where: str) -> dict[str, object]:
    match = SHAPE_LINE.match(line)
    time = TIME.match(match["time"]) if match else None
    if not match or not time:
        raise EstimatorError(
            f"{where}: this shape line cannot be read; expected '0:100x50, 1:50x1 (run*1|defined*1) exec_time: 22us'"
        )
    operands = [part.strip() for part in match["shapes"].split(",") if part.strip()]
    shapes = [OPERAND.match(part) for part in operands]
    if not all(shapes):
        bad = next(part for part, shape in zip(operands, shapes, strict=True) if not shape)
        raise EstimatorError(f"{where}: the shape '{bad}' cannot be read; expected one such as '0:100x50'")
    return {
        "shapes": ";".join(shape[1] for shape in shapes if shape),
        "calls": float(match["run"]),
        "defined": float(match["defined"]),
        "time_s": _seconds(time.groups(), where),
    }


def _seconds(time: tuple[str | None, ...], where: str) -> float:
    seconds = float(time[0] or 0) * SECONDS[time[1] or "us"]
    if seconds < 0:
        raise EstimatorError(f"{where}: the time is {time[0]}{time[1]}, below zero; capture the profile again")
    return seconds


def _merge(aggregates: list[Aggregate], where: str) -> list[Aggregate]:
    """One aggregate per op type; nameless shape lines go to the aggregate whose time they add up to."""
    by_type: dict[str, Aggregate] = {}
    for aggregate in (a for a in aggregates if a.op_type):
        first = by_type.setdefault(aggregate.op_type, aggregate)
        if first.time_s != aggregate.time_s:
            times = f"{1e3 * first.time_s:.4g} and {1e3 * aggregate.time_s:.4g} ms"
            raise EstimatorError(f"{where}: '{aggregate.op_type}' has times {times}; expected views of one run")
        first.shapes = first.shapes or aggregate.shapes
    for nameless in (a for a in aggregates if not a.op_type):
        total = _shape_time_s(nameless)
        owners = [a for a in by_type.values() if not a.shapes and abs(a.time_s - total) <= TOLERANCE * total]
        if len(owners) != 1:
            fitting = " or ".join(a.op_type for a in owners) or "no op line"
            raise EstimatorError(
                f"{where}: the shape lines add up to {1e3 * total:.4g} ms, which is {fitting}; put them below their op"
            )
        owners[0].shapes = nameless.shapes
    return list(by_type.values())


def _shape_time_s(aggregate: Aggregate) -> float:
    return sum(float(str(row["time_s"])) for row in aggregate.shapes)


def _rows(aggregate: Aggregate) -> Iterator[dict[str, object]]:
    """Yield the shape lines of an op where they add up to its time, or its aggregate where they do not."""
    base = {"op": aggregate.op_type, "op_type": aggregate.op_type}
    if aggregate.shapes and _adds_up(aggregate):
        for row in aggregate.shapes:
            yield base | row | {"op": f"{aggregate.op_type} {row['shapes']}"}
    else:
        count = aggregate.calls if aggregate.time_s else 0.0  # an op without time did not run
        calls = {"calls": count} if count is not None else {}
        yield (
            base
            | calls
            | {"time_s": aggregate.time_s, "reported_bytes": aggregate.bytes, "reported_flop": aggregate.flop}
        )


def _adds_up(aggregate: Aggregate) -> bool:
    rounding = len(aggregate.shapes) * 1e-6  # times are printed to the microsecond
    return abs(_shape_time_s(aggregate) - aggregate.time_s) <= TOLERANCE * aggregate.time_s + rounding


def _mismatch_warnings(aggregates: list[Aggregate]) -> Iterator[str]:
    for aggregate in aggregates:
        if aggregate.shapes and not _adds_up(aggregate):
            times = f"{1e3 * _shape_time_s(aggregate):.4g} ms of {1e3 * aggregate.time_s:.4g} ms"
            yield f"the shape lines of {aggregate.op_type} add up to {times}; the aggregate is used"


def _unlisted(aggregates: list[Aggregate]) -> list[dict[str, object]]:
    """One row for the time that the printed shares imply but no line lists.

    The largest share gives the total with the least rounding (shares are printed to 0.01 %).
    """
    shares = [(a.share, a.time_s) for a in aggregates if a.share]
    if not shares:
        return []
    share, time_s = max(shares)
    total = time_s / share
    rounding = total * 0.5e-4 / share
    missing = total - sum(a.time_s for a in aggregates)
    return [{"op": UNLISTED, "op_type": UNLISTED, "time_s": missing}] if missing > 2 * rounding else []
