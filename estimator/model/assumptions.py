"""What a prediction rests on that nobody has verified, in sentences for the report."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from estimator.core.schema import MATRIX, STREAMING
from estimator.core.types import ITEMSIZE, DeviceSpec, Sourced, Workload
from estimator.core.units import in_operations, show
from estimator.model.coefficients import shipped
from estimator.model.hardware import TYPICAL_YEAR, peak_of_op
from estimator.model.measured_rows import rows_for_ops

MODELLED = ("interpolated", "scaled", "transferred", "roofline")
USED = (*MATRIX, *STREAMING)  # classes whose measurements correct a model
NAMED = 5  # ops that a sentence names before it counts


def assumptions(
    ops: pd.DataFrame, target: DeviceSpec, measurements: pd.DataFrame, workload: Workload
) -> tuple[str, ...]:
    """Sentences on the unverified specifications, measurements, coefficients and carried time behind a PREDICTION."""
    return (
        *_specifications(ops, target),
        *_measurements(ops, target, measurements),
        *_coefficients(ops, target),
        *_power(ops, target),
        *_carried(ops),
        *_precisions(workload),
    )


def specifications(ops: pd.DataFrame, target: DeviceSpec) -> dict[str, Sourced]:
    """The catalogue's numbers that a PREDICTION rests on, by ``device: field``."""
    modelled = ops[["precision", "op_class"]][ops["method"].isin(MODELLED)]
    if modelled.empty:
        return {}
    kinds = sorted(set(modelled.itertuples(index=False, name=None)))
    used: dict[str, Sourced | None] = dict(peak_of_op(target, op_class, precision) for precision, op_class in kinds)
    used |= {"memory_bandwidth": target.memory_bandwidth, "launch_latency": target.launch_latency}
    if modelled["op_class"].isin(MATRIX).any():
        used |= {"power_limit": target.power_limit, "compute_units": target.compute_units}
    return {f"{target.name}: {field}": value for field, value in used.items() if value}


def _specifications(ops: pd.DataFrame, target: DeviceSpec) -> Iterator[str]:
    for field, value in specifications(ops, target).items():
        given = in_operations(f"{field} = {value}", field.partition("peak.")[2])
        if value.unverified:
            yield f"{given} is {value.unverified_reason}{f' ({value.source})' if value.source else ''}"
        if value.waiver:
            yield f"{given} breaks a check of the catalogue, which is waived: {value.waiver}"
        if value.note:
            yield f"{given}, of which is noted: {value.note}"


def _measurements(ops: pd.DataFrame, target: DeviceSpec, measurements: pd.DataFrame) -> Iterator[str]:
    corrected = ops.loc[ops["method"].isin(["measured", "interpolated", "scaled"]), ["op_class", "precision"]]
    rows = measurements[["op_class", "precision", "source"]]
    used = rows_for_ops(rows[rows["op_class"].isin(corrected["op_class"])], corrected)["source"]
    for source in used.fillna("no source given").unique():
        yield f"{target.name}: measured ops are those of {source}"
    unused = measurements.loc[~measurements["op_class"].isin(USED), "op_class"].unique()
    if len(unused):
        yield f"{target.name}: measured rows of {', '.join(unused)} are there but not used"
    if len(used):
        yield from (f"{target.name}: {note}" for note in target.notes)


def _coefficients(ops: pd.DataFrame, target: DeviceSpec) -> Iterator[str]:
    coefficients = shipped()
    modelled = ops.loc[ops["method"].isin(MODELLED), "op_class"]
    for op_classes, what, source in (
        (("gemm",), "matrix products", coefficients.gemm.source),
        (("convolution",), "convolutions", coefficients.convolution.source),
        (STREAMING, "memory-bound ops", coefficients.memory_bound.source),
    ):
        if modelled.isin(op_classes).any():
            yield f"{what} that were not measured take what a model says that was fitted to other devices ({source})"
    if len(modelled) and not target.launch_latency:
        launch = coefficients.launches.latency_s
        low, mid, high = (1e6 * end for end in (launch.low, launch.mid, launch.high))
        yield f"one launch takes {mid:g} us, {low:g} to {high:g} us ({launch.source})"


def _power(ops: pd.DataFrame, target: DeviceSpec) -> Iterator[str]:
    """On what the share of a peak that is sustained rests beside the fit."""
    matrix = ops.loc[ops["method"].isin(MODELLED) & ops["op_class"].isin(MATRIX), "precision"]
    if matrix.empty:
        return
    if target.power_limit is None:
        yield f"{target.name} gives no power_limit: its peaks are taken to be sustained as if power bound none"
    elif target.year is None:
        yield f"{target.name} gives no year: what power a FLOP needs is taken to be that of {TYPICAL_YEAR}"
    narrow = sorted({precision for precision in matrix if ITEMSIZE[precision] < 2})
    if narrow:
        yield f"the models are fitted to formats of 16 bits and more; {', '.join(narrow)} is taken to be like them"


def _carried(ops: pd.DataFrame) -> Iterator[str]:
    carried = ops.loc[(ops["method"] == "unchanged") & (ops["time_s"] > 0), ["op", "time_s"]]
    if len(carried):
        total = show(carried["time_s"].sum(), "s", 3)
        names = ", ".join(carried.nlargest(NAMED, "time_s")["op"])
        more = f", … {len(carried) - NAMED} more" if len(carried) > NAMED else ""
        yield f"{total} of {len(carried)} op(s) ({names}{more}) are carried from the source unchanged"


def _precisions(workload: Workload) -> Iterator[str]:
    if "precision" not in workload.model_fields_set:
        yield f"operands are taken to be {workload.precision} where the profile does not say; no workload file does"
