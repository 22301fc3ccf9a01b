"""Measured rows → a device file: peak by precision, bandwidth, launch latency, and what the machine tells of itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import yaml

from estimator.collect.measure.sweep import STREAMS
from estimator.core import units
from estimator.core.operators import LAUNCH
from estimator.core.physics import gemm_flop

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 4
SEVERAL = 4.0  # times the last-level cache from which on arrays tell of the memory
LEAST = 1e6  # bytes, below which a stream tells more of its launch than of any bandwidth
MOST_DOUBT = 3.0  # relative uncertainty; a row that varies by more was disturbed
NOTE = (
    "Measured, no data sheet: peak is the best rate of any product timed, bandwidth that of copies, additions and "
    "triads from a cold cache."
)
NO_PATH = "not faster than fp32 here, so without a path of their own; their rows stand in the table."
FASTER = {"fp64": 0.0, "fp32": 0.0, "tf32": 1.1}  # times fp32 from which on a precision has a path of its own; else 1
TENSOR = {"fp64": math.inf, "fp32": math.inf, "tf32": 0.0}  # beyond which it is a GPU's tensor units; else 2.2,
TWICE = 2.2  # as vector units may compute narrow formats at twice the rate of fp32
FIELDS = {"memory": ("memory_capacity", "B"), "max_clock": ("boost_clock", "Hz")}


def best(rows: pd.DataFrame, cache: float | None) -> dict[str, Any]:
    """The rows of the fastest product of each precision, of the fastest large stream, and of the launch.

    ``cache``: bytes of the last-level cache, None where unknown; where no stream is several times larger, smaller ones
    tell, from LEAST on. A key is absent where nothing tells of it.
    """
    found: dict[str, Any] = {"peak": {}}
    products = rows[rows["op_class"] == "gemm"]
    for precision, group in products.groupby("precision", sort=False):
        found["peak"][str(precision)] = group.loc[_rate(group).idxmax()]
    streams = rows[rows["kernel"].isin(STREAMS) & (rows["cache"] == "cold") & (rows["bytes"] >= LEAST)]
    large = streams[streams["bytes"] >= SEVERAL * (cache or 0)]
    if len(streams := large if len(large) else streams):
        found["memory_bandwidth"] = streams.loc[(streams["bytes"] / streams["time_s"]).idxmax()]
    launches = rows[rows["kernel"] == LAUNCH]
    if len(launches):
        found["launch_latency"] = launches.iloc[0]
    return found


def rates(found: Mapping[str, Any]) -> dict[str, Any]:
    """What the best rows say: FLOP/s by precision, B/s, s."""
    told: dict[str, Any] = {"peak_flop_per_s": {p: float(_rate(row)) for p, row in found["peak"].items()}}
    bandwidth, launch = found.get("memory_bandwidth"), found.get("launch_latency")
    told["memory_bandwidth_b_per_s"] = None if bandwidth is None else float(bandwidth["bytes"] / bandwidth["time_s"])
    told["launch_latency_s"] = None if launch is None else float(launch["time_s"])
    return told


def device_file(
    name: str, found: Mapping[str, Any], provenance: Mapping[str, Any], command: str, notes: Sequence[str] = ()
) -> str:
    """The text of the device file."""
    machine, told = provenance["device"], rates(found)
    source = f"{command}, {provenance['date']}, on {machine['name']} with {provenance['library']}"
    source += f", {provenance['threads']} threads" if not provenance["gpu"] else ""
    speeds = told["peak_flop_per_s"]
    times = {p: speed / speeds.get("fp32", speed) for p, speed in speeds.items()}
    own = {p: found["peak"][p] for p, faster in times.items() if faster >= FASTER.get(p, 1.0)}
    tensor = {p for p in own if provenance["gpu"] and times[p] > TENSOR.get(p, TWICE)}
    values = {p: _measured(speeds[p], "FLOP/s", row, source) for p, row in own.items()}
    peaks = {p: _peak(row, "tensor" if p in tensor else "vector", provenance, values[p]) for p, row in own.items()}
    data: dict[str, Any] = {"name": name}
    if not peaks or told["memory_bandwidth_b_per_s"] is None:
        data["specifications"] = "incomplete"
    data |= {"peak": peaks} if peaks else {}
    for key, unit, value in (
        ("memory_bandwidth", "B/s", told["memory_bandwidth_b_per_s"]),
        ("launch_latency", "s", told["launch_latency_s"]),
    ):
        if value is not None:
            data[key] = _measured(value, unit, found[key], source)
    data |= _cache(provenance, source)
    data |= _of_machine(machine, bool(provenance["gpu"]), f"the machine's own account, {provenance['date']}")
    data["source"] = f"{command} on {provenance['date']}: {provenance['processor']}, {provenance['system']}"
    slower = [p for p in found["peak"] if p not in own]
    data["notes"] = [NOTE, *([f"{', '.join(slower)}: {NO_PATH}"] if slower else []), *notes]
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)


def _peak(row: Any, path: str, provenance: Mapping[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    value = {"value": value.pop("value"), "path": path, **value}
    accumulate = {"accumulate": row["accumulate"]} if isinstance(row["accumulate"], str) else {}
    clock = provenance["clock"].partition(",")[0]
    return {**value, **accumulate, **({"clock": clock} if clock else {})}


def _cache(provenance: Mapping[str, Any], source: str) -> dict[str, Any]:
    """As named, unless arrays fill only a part of it, as in a virtual machine on a larger host."""
    named, filled = provenance["device"]["cache"], provenance["cache"]
    if not filled:
        return {}
    told = {"status": "read", "source": f"the machine's own account, {provenance['date']}"}
    if filled < named:
        shown = units.show(named, "B", DIGITS, binary=True)
        told = {"status": "measured", "source": f"{source}; the machine names {shown}, of which arrays fill no more"}
    return {"last_level_cache": {"value": units.show(filled, "B", DIGITS, binary=True), **told}}


def _of_machine(machine: Mapping[str, Any], gpu: bool, source: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, (field, unit) in FIELDS.items():
        if machine[key]:
            shown = units.show(machine[key], unit, DIGITS, binary=unit == "B")
            found[field] = {"value": shown, "status": "read", "source": source}
    if machine["units"]:
        found["compute_unit"] = "SM" if gpu else "core"
        found["compute_units"] = {"value": machine["units"], "status": "read", "source": source}
    return found


def _measured(value: float, unit: str, row: Any, source: str) -> dict[str, Any]:
    """A value with the spread of its row as uncertainty; a rate is rounded up, so that no row lies above its peak."""
    low, mid, high = row["time_low_s"], row["time_s"], row["time_high_s"]
    spread = max(high / mid, mid / low) - 1
    shown = f"{100 * min(max(spread, 0.001), MOST_DOUBT):.2g}"
    step = 10.0 ** (math.floor(math.log10(value)) + 1 - DIGITS)
    value = value if unit == "s" else math.ceil(value / step) * step
    return {"value": units.show(value, unit, DIGITS), "uncertainty": f"{float(shown):g} %", "status": "measured",
            "source": source}  # fmt: skip


def _rate(products: Any) -> Any:
    """FLOP/s of one product or of many."""
    return gemm_flop(*(1.0 * products[name] for name in ("batch", "m", "n", "k"))) / products["time_s"]
