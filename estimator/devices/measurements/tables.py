"""Measured operation times of a device → MEASUREMENTS. Rows of unlike conditions never merge silently."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from estimator.core import csv_files
from estimator.core.errors import EstimatorError
from estimator.core.operators import LAUNCH, with_operators
from estimator.core.schema import MEASUREMENTS, SHAPED_BY, complete
from estimator.core.types import DeviceSpec, Flags, Sourced
from estimator.devices.measurements import bounds
from estimator.devices.measurements.conditions import Conditions, op_kernel
from estimator.devices.measurements.suspicious_rows import SuspiciousRows, and_more
from estimator.devices.specs.catalogue import measurements_paths

MOST_ROWS = 100_000  # that evidence for a prediction may have; a DeepBench table has about a thousand
NEEDED = {
    **SHAPED_BY,
    "recurrent": ("cell", "hidden", "sequences", "timesteps"),
    "collective": ("ranks", "bytes"),
}


def load_measurements(
    device: DeviceSpec, path: str | Path | None = None, named: str | Path | None = None
) -> pd.DataFrame:
    """The rows that :func:`read_measurements` finds."""
    return read_measurements(device, path, named)[0]


def read_measurements(
    device: DeviceSpec, path: str | Path | None = None, named: str | Path | None = None, *, alone: bool = False
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """MEASUREMENTS of a device, from a CSV, from beside the file that names it, or from the library; and sentences on
    what was left out of them or looks wrong. ``flag`` is computed anew from the device.

    Of two tables one tells of an op class in a precision, of memory-bound ops of a kernel: a framework's, in which a
    profile's ops ran as well; of ops ``alone`` that of a loop over a library's calls. Raises EstimatorError for
    unreadable rows, rows of another device, products above the device's peak, unlike conditions, and more rows than a
    prediction can use.
    """
    places = measurements_paths(device.name, path, named)
    if not places:
        return MEASUREMENTS.empty(), ()
    first, *others = reversed(places) if alone else places
    rows, notes = _read(device, first)
    for count, place in enumerate(others):
        more, said = _read(device, place)
        kinds = _kinds(more)
        outranked = kinds.isin(_kinds(rows))
        before = " and ".join(path.name for path in (first, *others[:count]))
        notes = (*notes, *said, *_outranked(kinds[outranked], f"{device.name}: {place.name}", before))
        rows = pd.concat([rows, more[~outranked]], ignore_index=True)
    return rows, notes


def _kinds(rows: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(rows[["op_class", "precision"]].assign(kernel=op_kernel(rows).fillna("")))


def _read(device: DeviceSpec, place: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The rows of one table, and sentences on what was left out of it or looks wrong."""
    rows = with_operators(MEASUREMENTS.conform(pd.concat(list(_bounded(place))), str(place)))
    _refuse_other_devices(rows, device, place)
    rows = check_rows(rows, device, str(place))
    conditions, odd, where = Conditions(), SuspiciousRows(), f"{device.name}: {place.name}"
    conditions.add(rows, str(place))
    conditions.finish(str(place))
    odd.add(rows, device, where)
    impossible = (rows["flag"] == "above_peak").to_numpy(dtype=bool, na_value=False)
    left_out = rows[impossible] if impossible.any() else rows[:0]
    notes = (*_left_out(left_out, where), *odd.sentences(), *conditions.apart(where))
    return (rows[~impossible] if len(left_out) else rows).reset_index(drop=True), notes


def with_launch(device: DeviceSpec, measurements: pd.DataFrame) -> DeviceSpec:
    """The device, with its launch latency as MEASUREMENTS of it have it, if they do."""
    rows = measurements[["time_s", "source"]][measurements["operator"].eq(LAUNCH).fillna(False)]
    if rows.empty:
        return device
    row = rows.loc[rows["time_s"].idxmin()]
    source = "its measurements" if pd.isna(row["source"]) else str(row["source"])
    launch = Sourced(value=float(row["time_s"]), unit="s", status="measured", source=source)
    return device.model_copy(update={"launch_latency": launch})


def check_rows(
    rows: pd.DataFrame, device: DeviceSpec | None, where: str, *, keep_impossible: bool = False
) -> pd.DataFrame:
    """MEASUREMENTS with ``flag`` as the device's data sheet has it, and a product's missing batch as 1.

    Raises EstimatorError for rows that lack what their op class needs, and for products above the peak, unless those
    are flagged already or ``keep_impossible`` asks to flag them.
    """
    rows = rows.assign(batch=rows["batch"].mask(rows["op_class"].eq("gemm") & rows["batch"].isna(), 1))
    _refuse_incomplete(rows, where)
    if device is None:
        return rows
    limits, above = bounds.physical(device), bounds.above_peak(rows, device)
    told = above & ~(rows["flag"] == "above_peak").to_numpy(dtype=bool, na_value=False)
    if told.any() and not keep_impossible:
        first = rows[told].head(1)
        rate, peak = (float(values[0]) for values in (bounds.product_rates(first), bounds.peaks(first, limits)))
        raise EstimatorError(
            f"{where}: row {first.index[0] + 1}: {rate / 1e12:.4g} TFLOP/s is above {bounds.ABOVE_PEAK} x "
            f"the peak of {device.name} ({peak / 1e12:.4g} TFLOP/s); check the time's unit, the precision, and "
            "what it accumulates in"
        )
    flags = np.select([above, rows["time_s"] < bounds.least_times(rows, limits)], ["above_peak", "beats_bound"], "")
    return rows.assign(flag=pd.Series(flags, rows.index, dtype="string[python]").replace("", pd.NA))


def _bounded(place: Path) -> Iterator[pd.DataFrame]:
    """The frames of a CSV, as long as it does not hold more than MOST_ROWS."""
    for frame in csv_files.csv_frames(place):
        if len(frame) and frame.index[-1] >= MOST_ROWS:
            raise EstimatorError(
                f"{place}: found more than {MOST_ROWS} rows, expected fewer; keep those of the shapes that matter"
            )
        yield frame


def _refuse_other_devices(rows: pd.DataFrame, device: DeviceSpec, place: Path) -> None:
    names = {name.lower() for name in (device.name, *device.aliases)}
    others = {name for name in rows["device"].dropna() if name.lower() not in names}
    if others:
        raise EstimatorError(
            f"{place}: holds rows of device '{min(others)}'; expected '{device.name}', so keep one file per device"
        )


def _refuse_incomplete(rows: pd.DataFrame, where: str) -> None:
    for bad, sentence in _incomplete(rows):
        if bad.any():
            raise EstimatorError(f"{where}: row {rows.index[int(bad.argmax())] + 1}: {sentence}")


def _incomplete(rows: pd.DataFrame) -> Iterator[tuple[Flags, str]]:
    for op_class, needed in NEEDED.items():
        lacking = (rows["op_class"] == op_class) & ~complete(rows, needed)
        names = f"{', '.join(needed[:-1])} and {needed[-1]}"
        yield lacking.to_numpy(dtype=bool), f"a {op_class} needs {names}; add them"
    low, high = rows["time_low_s"].fillna(rows["time_s"]), rows["time_high_s"].fillna(rows["time_s"])
    disorder = ((low > rows["time_s"]) | (rows["time_s"] > high)).to_numpy()
    yield disorder, "time_s does not lie between time_low_s and time_high_s; mend the row"
    sentence = "the kernel is larger than the padded image, so nothing comes out; check the sizes and the padding"
    yield bounds.empty_outputs(rows), sentence
    yield (rows["sparsity"] >= 1).to_numpy(), "sparsity is not below 1; write the share of zeros, such as 0.95"


def _outranked(kinds: pd.MultiIndex, where: str, by: str) -> Iterator[str]:
    if len(kinds):
        told = " and ".join(f"{kernel or op_class} in {precision}" for op_class, precision, kernel in kinds.unique())
        yield f"{where}: its {told} tell nothing beside those of {by}"


def _left_out(rows: pd.DataFrame, where: str) -> Iterator[str]:
    if len(rows):
        first = f"{where}: row {rows.index[0] + 1}{and_more(len(rows))}"
        rate = np.nanmax(bounds.product_rates(rows), initial=0) / 1e12
        yield f"{first}: flagged above_peak, up to {rate:.4g} TFLOP/s, and left out of the evidence"
