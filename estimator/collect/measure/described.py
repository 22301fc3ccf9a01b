"""Measured rows → a device file: peak by precision, bandwidth, launch latency, and facts of the machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import yaml

from estimator.collect.measure.sweep import STREAMS
from estimator.core import units
from estimator.core.operators import LAUNCH
from estimator.core.physics import gemm_flop

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 4
CACHES = 4.0  # times the last-level cache; larger arrays measure memory bandwidth
MIN_BYTES = 1e6  # smallest stream for a bandwidth; below, time is mostly launch
MAX_UNCERTAINTY = 3.0  # relative; a row that varies more was disturbed
NOTE = (
    "Measured, no data sheet: peak is the best rate of any product timed, bandwidth that of copies, additions and "
    "triads from a cold cache."
)
NO_PATH = "not faster than fp32 here, so without a path of their own; their rows stand in the table."
MIN_RATIO = {"fp64": 0.0, "fp32": 0.0, "tf32": 1.1}  # least ratio to fp32 of a precision with its own path; else 1
TENSOR_RATIO = {"fp64": math.inf, "fp32": math.inf, "tf32": 0.0}  # least ratio to fp32 on tensor units of a GPU; else
DEFAULT_TENSOR_RATIO = 2.2  # as vector units may compute narrow formats at twice the rate of fp32
FIELDS = {"memory": ("memory_capacity", "B"), "max_clock": ("boost_clock", "Hz")}


def best(rows: pd.DataFrame, cache: float | None) -> dict[str, Any]:
    """The rows of the fastest product of each precision, of the fastest large stream, and of the launch.

    ``cache``: bytes of the last-level cache, None where unknown. Where no stream is several times larger, smaller ones
    from MIN_BYTES on are used. A key is absent where no row measures it.
    """
    best_rows: dict[str, Any] = {"peak": {}}
    products = rows[rows["op_class"] == "gemm"]
    for precision, group in products.groupby("precision", sort=False):
        best_rows["peak"][str(precision)] = group.loc[_rate(group).idxmax()]
    streams = rows[rows["kernel"].isin(STREAMS) & (rows["cache"] == "cold") & (rows["bytes"] >= MIN_BYTES)]
    large_streams = streams[streams["bytes"] >= CACHES * (cache or 0)]
    if len(streams := large_streams if len(large_streams) else streams):
        best_rows["memory_bandwidth"] = streams.loc[(streams["bytes"] / streams["time_s"]).idxmax()]
    launches = rows[rows["kernel"] == LAUNCH]
    if len(launches):
        best_rows["launch_latency"] = launches.iloc[0]
    return best_rows


def rates(best_rows: Mapping[str, Any]) -> dict[str, Any]:
    """The rates of the best rows: FLOP/s by precision, B/s, s."""
    rates: dict[str, Any] = {
        "peak_flop_per_s": {precision: float(_rate(row)) for precision, row in best_rows["peak"].items()}
    }
    bandwidth, launch = best_rows.get("memory_bandwidth"), best_rows.get("launch_latency")
    rates["memory_bandwidth_b_per_s"] = None if bandwidth is None else float(bandwidth["bytes"] / bandwidth["time_s"])
    rates["launch_latency_s"] = None if launch is None else float(launch["time_s"])
    return rates


def device_file(
    name: str, best_rows: Mapping[str, Any], provenance: Mapping[str, Any], command: str, notes: Sequence[str] = ()
) -> str:
    """The text of the device file."""
    measured_rates, machine = rates(best_rows), provenance["device"]
    source = f"{command}, {provenance['date']}, on {machine['name']} with {provenance['library']}"
    source += f", {provenance['threads']} threads" if not provenance["gpu"] else ""
    peaks = dict(_peaks(best_rows["peak"], measured_rates["peak_flop_per_s"], provenance, source))
    data: dict[str, Any] = {"name": name}
    if not peaks or measured_rates["memory_bandwidth_b_per_s"] is None:
        data["specifications"] = "incomplete"
    data |= {"peak": peaks} if peaks else {}
    for key, unit, value in (
        ("memory_bandwidth", "B/s", measured_rates["memory_bandwidth_b_per_s"]),
        ("launch_latency", "s", measured_rates["launch_latency_s"]),
    ):
        if value is not None:
            data[key] = _measured_value(value, unit, best_rows[key], source)
    data |= _cache(provenance, source)
    data |= _machine_fields(machine, bool(provenance["gpu"]), f"the machine's own account, {provenance['date']}")
    data["source"] = f"{command} on {provenance['date']}: {provenance['processor']}, {provenance['system']}"
    without_path = [precision for precision in best_rows["peak"] if precision not in peaks]
    data["notes"] = [NOTE, *([f"{', '.join(without_path)}: {NO_PATH}"] if without_path else []), *notes]
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)


def _peaks(
    best_rows: Mapping[str, Any], rates: Mapping[str, float], provenance: Mapping[str, Any], source: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the peak of each precision that has a path of its own, by its ratio to fp32."""
    clock = provenance["clock"].partition(",")[0]
    for precision, rate in rates.items():
        row, ratio = best_rows[precision], rate / rates.get("fp32", rate)
        if ratio >= MIN_RATIO.get(precision, 1.0):
            on_tensor_units = provenance["gpu"] and ratio > TENSOR_RATIO.get(precision, DEFAULT_TENSOR_RATIO)
            value = _measured_value(rate, "FLOP/s", row, source)
            peak = {"value": value.pop("value"), "path": "tensor" if on_tensor_units else "vector", **value}
            peak |= {"accumulate": row["accumulate"]} if isinstance(row["accumulate"], str) else {}
            yield precision, peak | ({"clock": clock} if clock else {})


def _cache(provenance: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The last-level cache: as stated, or the part that arrays reach, as in a virtual machine."""
    stated, reached = provenance["device"]["cache"], provenance["cache"]
    if not reached:
        return {}
    origin = {"status": "read", "source": f"the machine's own account, {provenance['date']}"}
    if reached < stated:
        shown = units.show(stated, "B", DIGITS, binary=True)
        origin = {"status": "measured", "source": f"{source}; the machine names {shown}, of which arrays fill no more"}
    return {"last_level_cache": {"value": _written(reached, "B"), **origin}}


def _written(value: float, unit: str) -> str:
    """A quantity as files write it."""
    return units.write(value, unit, DIGITS, binary=unit == "B")


def _machine_fields(machine: Mapping[str, Any], gpu: bool, source: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, (field, unit) in FIELDS.items():
        if machine[key]:
            text = _written(machine[key], unit)
            fields[field] = {"value": text, "status": "read", "source": source}
    if machine["units"]:
        fields["compute_unit"] = "SM" if gpu else "core"
        fields["compute_units"] = {"value": machine["units"], "status": "read", "source": source}
    return fields


def _measured_value(value: float, unit: str, row: Any, source: str) -> dict[str, Any]:
    """A value with the spread of its row as uncertainty; a rate is rounded up, so that no row lies above its peak."""
    low, mid, high = row["time_low_s"], row["time_s"], row["time_high_s"]
    spread = max(high / mid, mid / low) - 1
    percent = f"{100 * min(max(spread, 0.001), MAX_UNCERTAINTY):.2g}"
    step = 10.0 ** (math.floor(math.log10(value)) + 1 - DIGITS)
    value = value if unit == "s" else math.ceil(value / step) * step
    return {"value": _written(value, unit), "uncertainty": f"{float(percent):g} %", "status": "measured",
            "source": source}  # fmt: skip


def _rate(products: Any) -> Any:
    """The rates of products [FLOP/s]."""
    return gemm_flop(*(1.0 * products[name] for name in ("batch", "m", "n", "k"))) / products["time_s"]
