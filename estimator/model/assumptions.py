"""The unverified assumptions of a prediction, as notes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from estimator.core.conv_shape import is_depthwise
from estimator.core.interval import Z
from estimator.core.notes import Note, with_code
from estimator.core.schema import MATRIX, MODELLED, STREAMING
from estimator.core.types import ITEMSIZE, DeviceSpec, Sourced
from estimator.core.units import in_operations, percent, show
from estimator.model.coefficients import shipped
from estimator.model.gemm import DEFAULT_UNITS
from estimator.model.hardware import TYPICAL_YEAR, peak_of_op
from estimator.model.isolated import UNIT_FIELDS
from estimator.model.measured_rows import rows_for_ops
from estimator.model.measured_times import USUAL_STD
from estimator.model.memory_bound import takes_units
from estimator.model.proportional import has_rates, path_class
from estimator.model.recorded_messages import TYPICAL_RANKS

CALIBRATING = (*MATRIX, *STREAMING)  # classes whose measurements correct a model
OPS_NAMED = 5  # in a sentence; the others are counted


def assumptions(
    ops: pd.DataFrame, target: DeviceSpec, measurements: pd.DataFrame, source: DeviceSpec | None = None
) -> tuple[Note, ...]:
    """Notes on the unverified specifications, measurements, coefficients and source times behind a PREDICTION."""
    return (
        *_specification_notes(ops, target),
        *_measurement_notes(ops, target, measurements),
        *_resemblance_notes(ops, target),
        *_coefficient_notes(ops, target),
        *_cache_notes(ops, target),
        *_power_notes(ops, target),
        *_unit_notes(ops, target),
        *_proportional_notes(ops, target, source),
        *_carried_notes(ops),
    )


def specifications(ops: pd.DataFrame, target: DeviceSpec) -> dict[str, Sourced]:
    """The catalogue's numbers behind a PREDICTION, by ``device: field``."""
    used = ops["method"].isin((*MODELLED, "proportional"))
    op_class = ops["op_class"].mask(ops["method"] == "proportional", path_class(ops["op_class"]))
    modelled = ops.assign(op_class=op_class).loc[used, ["precision", "op_class"]]
    if modelled.empty:
        return {}
    kinds = sorted(modelled.drop_duplicates().itertuples(index=False, name=None))
    values: dict[str, Sourced | None] = dict(peak_of_op(target, op_class, precision) for precision, op_class in kinds)
    values |= {"memory_bandwidth": target.memory_bandwidth, "launch_latency": target.launch_latency}
    if modelled["op_class"].isin(MATRIX).any():
        values |= {"power_limit": target.power_limit, "compute_units": target.compute_units}
    if _any_by_units(ops, target):
        values |= {"compute_units": target.compute_units, "boost_clock": target.boost_clock}
    if target.link and ops["op_class"].eq("collective").any():
        values["link.per_direction"] = target.link.one_way
    return {f"{target.name}: {field}": value for field, value in values.items() if value}


def _specification_notes(ops: pd.DataFrame, target: DeviceSpec) -> Iterator[Note]:
    for field, value in specifications(ops, target).items():
        text = in_operations(f"{field} = {value}", field.partition("peak.")[2])
        if value.unverified:
            source = f" ({value.source})" if value.source else ""
            unverified = f"{text} is {value.unverified_reason}{source}"
            if value.status == "assumed" and field.endswith(UNIT_FIELDS):
                yield Note("units-unknown", unverified, field)
            else:
                yield Note("specification-unverified", unverified, field)
        if value.waiver:
            waiver = f"{text} fails a check of the catalogue; the check is waived: {value.waiver}"
            yield Note("specification-waived", waiver, field)
        if value.note:
            yield Note("specification-noted", f"{text}; its file notes: {value.note}", field)


def _measurement_notes(ops: pd.DataFrame, target: DeviceSpec, measurements: pd.DataFrame) -> Iterator[Note]:
    corrected = ops.loc[ops["method"].isin(["measured", "interpolated", "scaled"]), ["op_class", "precision"]]
    rows = measurements[["op_class", "precision", "source"]]
    sources = rows_for_ops(rows[rows["op_class"].isin(corrected["op_class"])], corrected)["source"]
    for source in sources.fillna("no source given").unique():
        yield Note("measurements-used", f"{target.name}: measured times are from {source}", target.name)
    if ops["method"].eq("measured").any() and (spreadless := _without_spread(measurements, corrected)):
        share = percent(np.expm1(Z * USUAL_STD), 1)
        text = f"{target.name}: {spreadless} measured rows state no interval: each time is taken within ± {share}"
        yield Note("measurements-without-spread", text, target.name)
    unused_classes = measurements.loc[~measurements["op_class"].isin(CALIBRATING), "op_class"].unique()
    if len(unused_classes):
        text = f"{target.name}: measured rows of {', '.join(unused_classes)} are not used"
        yield Note("measurements-unused", text, target.name)
    if len(sources):
        yield from with_code("device-note", (f"{target.name}: {note}" for note in target.notes))


def _resemblance_notes(ops: pd.DataFrame, target: DeviceSpec) -> Iterator[Note]:
    """Notes on products that follow those of another device, or in another format."""
    sized = ops["method"].isin(MODELLED)
    products = ops.assign(sized=sized).loc[ops["resembling"].notna(), ["precision", "resembling", "sized"]]
    for precision, whose, has_sizes in products.drop_duplicates().itertuples(index=False, name=None):
        text = (
            f"{target.name}: no products in {precision} were measured; they follow those measured on {whose}"
            if has_sizes
            else f"{target.name}: products in {precision} without shapes go by the rates of those measured on {whose}"
        )
        yield Note("measurements-resembling", text, target.name)


def _without_spread(measurements: pd.DataFrame, corrected: pd.DataFrame) -> int:
    """How many measured rows of the corrected op classes state neither end of their interval."""
    rows = measurements[measurements["op_class"].isin(corrected["op_class"])]
    return int((rows["time_low_s"].isna() & rows["time_high_s"].isna()).sum())


def _coefficient_notes(ops: pd.DataFrame, target: DeviceSpec) -> Iterator[Note]:
    coefficients = shipped()
    kinds = ops["op_class"].mask(is_depthwise(ops) & target.is_gpu, "depthwise")
    modelled = kinds[ops["method"].isin(MODELLED)]
    for op_classes, ops_text, source in (
        (("gemm",), "matrix products", coefficients.gemm.source),
        (("convolution",), "convolutions", coefficients.convolution.source),
        (("depthwise",), "depthwise convolutions", coefficients.kernel_priors.depthwise.source),
        (("recurrent",), "recurrent layers", coefficients.kernel_priors.recurrent.source),
        (STREAMING, "memory-bound ops", coefficients.memory_bound.source),
    ):
        if modelled.isin(op_classes).any():
            text = f"{ops_text} that were not measured are predicted by a model fitted to other devices ({source})"
            yield Note("fitted-model", text, ops_text)
    if len(modelled) and not target.launch_latency:
        launch = coefficients.launches.latency_s
        low, mid, high = (1e6 * end for end in (launch.low, launch.mid, launch.high))
        text = f"no launch_latency is given: a launch takes {mid:g} us, {low:g} to {high:g} us ({launch.source})"
        yield Note("launch-latency-default", text, target.name)


def _cache_notes(ops: pd.DataFrame, target: DeviceSpec) -> Iterator[Note]:
    """A note where the cache is unknown and a model asks for it: products, softmax and normalization."""
    asking = ("gemm", "normalization")
    if target.last_level_cache is None and ops.loc[ops["method"].isin(MODELLED), "op_class"].isin(asking).any():
        text = f"{target.name} gives no last_level_cache: matrix products are taken to read all from memory, and "
        yield Note("cache-unknown", f"{text}normalizations half of their repeated reads", target.name)


def _power_notes(ops: pd.DataFrame, target: DeviceSpec) -> Iterator[Note]:
    """Notes on the sustained share of a peak: unknown power limit or year, and narrow formats."""
    matrix = ops.loc[ops["method"].isin(MODELLED) & ops["op_class"].isin(MATRIX), "precision"]
    if matrix.empty:
        return
    if target.power_limit is None:
        text = f"{target.name} gives no power_limit: power is taken not to lower its peaks; the interval includes both"
        yield Note("power-limit-unknown", text, target.name)
    elif target.year is None:
        text = (
            f"{target.name} gives no year: a FLOP takes the energy of {TYPICAL_YEAR}; the interval covers other years"
        )
        yield Note("year-unknown", text, target.name)
    narrow_formats = sorted({precision for precision in matrix if ITEMSIZE[precision] < 2})
    if narrow_formats:
        formats = ", ".join(narrow_formats)
        text = f"the models are fitted to formats of 16 bits and more; {formats} is taken to be like them"
        yield Note("narrow-format", text, formats)


def _unit_notes(ops: pd.DataFrame, target: DeviceSpec) -> Iterator[Note]:
    """A note where the units of a device that is no GPU are unknown, and some product asks for them."""
    is_matrix = ops["method"].isin(MODELLED) & ops["op_class"].isin(MATRIX)
    if target.compute_units is None and is_matrix.any():
        text = f"{target.name} gives no compute_units: {DEFAULT_UNITS} are taken for matrix products and convolutions"
        yield Note("units-unknown", text, target.name)


def _any_by_units(ops: pd.DataFrame, target: DeviceSpec) -> bool:
    """Whether the units of a GPU limit some modelled op."""
    by_units = ops["method"].isin(MODELLED) & (takes_units(ops) | is_depthwise(ops))
    return target.is_gpu and bool(by_units.any())


def _proportional_notes(ops: pd.DataFrame, target: DeviceSpec, source: DeviceSpec | None) -> Iterator[Note]:
    goes = (
        "like the modelled ops of their class; where these are few, like all modelled ops, with an interval from "
        "near zero to the source's time or more"
    )
    if source and has_rates(source):
        devices = f"{source.name}'s and {target.name}'s"
        goes = f"by the ratio of {devices} bandwidths or peaks, whichever the op's name suggests"
    proportional = ops["method"] == "proportional"
    sent = (ops["op_class"] == "collective") & (source is not None)
    for ops_text, names, share in _source_times(ops, proportional & ~sent):
        text = f"{ops_text} have no known kind or no usable shapes: their time is scaled {goes}"
        yield Note("proportional", text, names, share)
    for ops_text, names, share in _source_times(ops, proportional & sent):
        text = (
            f"{ops_text} are messages of unknown bytes or ranks: their bytes are taken from their time on the source, "
            f"among {TYPICAL_RANKS} ranks where nothing tells how many; they may be short and have waited instead"
        )
        yield Note("message-unsized", text, names, share)


def _carried_notes(ops: pd.DataFrame) -> Iterator[Note]:
    for method, how in (("unchanged", ""), ("carried", ", with an interval for another host")):
        for ops_text, names, share in _source_times(ops, ops["method"] == method):
            yield Note("carried", f"{ops_text} are host or input time: the source's time is kept{how}", names, share)


def _source_times(ops: pd.DataFrame, chosen: pd.Series) -> Iterator[tuple[str, str, float]]:
    """The chosen ops with their time on the source in words, the longest by name, and their share of the step."""
    rows = ops.loc[chosen & (ops["time_s"] > 0), ["op", "time_s"]]
    if len(rows):
        total_s, names = rows["time_s"].sum(), ", ".join(rows.nlargest(OPS_NAMED, "time_s")["op"])
        share = float(total_s / ops["time_s"].sum())
        more_text = f", … {len(rows) - OPS_NAMED} more" if len(rows) > OPS_NAMED else ""
        share_text = f"{show(total_s, 's', 3)}, {percent(share)} of the source's time"
        yield f"{len(rows)} op(s) ({names}{more_text}; {share_text})", names, share
