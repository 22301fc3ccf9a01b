"""Measured times of a device → MEASUREMENTS; rows of different conditions are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from estimator.core import csv_files, files
from estimator.core.errors import EstimatorError
from estimator.core.operators import LAUNCH, refuse_unknown, with_operators
from estimator.core.recall import Recall
from estimator.core.schema import MEASUREMENTS, SHAPED_BY, complete
from estimator.core.types import DeviceSpec, Flags, Network, Sourced
from estimator.core.units import and_more
from estimator.devices.measurements import bounds, implausible
from estimator.devices.measurements.conditions import Conditions, op_kernel
from estimator.devices.measurements.links import measured_links
from estimator.devices.measurements.suspicious_rows import SuspiciousRows
from estimator.devices.specs.catalogue import measurements_paths

MAX_ROWS = 100_000  # of a table for predictions; a DeepBench table has about a thousand
NEEDED_COLUMNS = {**SHAPED_BY, "collective": ("ranks", "bytes")}

_TABLES = Recall()


def load_measurements(
    device: DeviceSpec, path: str | Path | None = None, named: str | Path | None = None
) -> pd.DataFrame:
    """The rows of :func:`read_measurements`."""
    return read_measurements(device, path, named)[0]


def read_measurements(
    device: DeviceSpec, path: str | Path | None = None, named: str | Path | None = None, *, alone: bool = False
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read MEASUREMENTS of a device from a CSV, from beside its device file, or from the library; with notes.

    The notes are on rows left out and rows that look wrong; ``flag`` is computed anew. Where two tables have the same
    op class and precision (for memory-bound ops also kernel), one is used: a framework's, as a profile's ops ran in a
    framework; with ``alone`` that of a loop over a library's calls.

    Raises EstimatorError for unreadable rows, rows of another device, products above the device's peak, times in
    another unit, different conditions, and too many rows.
    """
    paths = measurements_paths(device.name, path, named)
    if not paths:
        return MEASUREMENTS.empty(), ()
    first, *others = reversed(paths) if alone else paths
    rows, notes = _read_table(device, first)
    for position, file in enumerate(others):
        more_rows, more_notes = _read_table(device, file)
        row_kinds = _row_kinds(more_rows)
        outranked = row_kinds.isin(_row_kinds(rows))
        earlier = " and ".join(other.name for other in (first, *others[:position]))
        notes = (*notes, *more_notes, *_outranked_note(row_kinds[outranked], f"{device.name}: {file.name}", earlier))
        rows = pd.concat([rows, more_rows[~outranked]], ignore_index=True)
    return rows, notes


def _row_kinds(rows: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(rows[["op_class", "precision"]].assign(kernel=op_kernel(rows).fillna("")))


def _read_table(device: DeviceSpec, path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The rows of one table, with notes on rows left out and rows that look wrong.

    The last results are kept: a study asks for the same devices again and again.
    """
    content = files.sha256_of_plain(path)
    digest = content and files.sha256_of_text(f"{content} {path} {device.model_dump_json()}")
    rows, notes = _TABLES(digest, lambda: _parse_table(device, path))
    return rows.copy(), notes


def _parse_table(device: DeviceSpec, path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """As :func:`_read_table`."""
    rows = with_operators(MEASUREMENTS.conform(pd.concat(list(_limited_frames(path))), str(path)))
    _refuse_other_devices(rows, device, path)
    ratios = implausible.time_ratios(rows, device)
    implausible.refuse_wrong_unit(ratios, device, path)
    rows = check_rows(rows, device, str(path))
    conditions, suspicious, where = Conditions(), SuspiciousRows(), f"{device.name}: {path.name}"
    conditions.add(rows, str(path))
    conditions.finish(str(path))
    is_impossible = (rows["flag"] == "above_peak").to_numpy(dtype=bool, na_value=False)
    is_implausible = implausible.are_implausible(rows, ratios, device) & ~is_impossible
    suspicious.add(rows[~is_implausible], device, where)
    notes = (
        *([] if len(rows) else [f"{where}: the table has no rows: nothing measured corrects the models"]),
        *_left_out_note(rows[is_impossible], where),
        *implausible.left_out_note(rows[is_implausible], ratios.with_launch[is_implausible], device, where),
        *suspicious.notes(), *conditions.spread_notes(where),
    )  # fmt: skip
    return rows[~(is_impossible | is_implausible)].reset_index(drop=True), notes


def with_launch(device: DeviceSpec, measurements: pd.DataFrame) -> DeviceSpec:
    """The device with its measured launch latency, where MEASUREMENTS have one."""
    rows = measurements[["time_s", "source"]][measurements["operator"].eq(LAUNCH).fillna(False)]
    if rows.empty:
        return device
    row = rows.loc[rows["time_s"].idxmin()]
    source = "its measurements" if pd.isna(row["source"]) else str(row["source"])
    launch = Sourced(value=float(row["time_s"]), unit="s", status="measured", source=source)
    return device.model_copy(update={"launch_latency": launch})


def with_measured(device: DeviceSpec, measurements: pd.DataFrame) -> DeviceSpec:
    """The device with the launch latency and the links that MEASUREMENTS show, where they do."""
    links = measured_links(measurements)
    device = with_launch(device, measurements)
    if not links:
        return device
    network = (device.network or Network()).model_copy(update={"measured": links})
    return device.model_copy(update={"network": network})


def check_rows(
    rows: pd.DataFrame, device: DeviceSpec | None, where: str, *, keep_impossible: bool = False
) -> pd.DataFrame:
    """Set ``flag`` by the device's data sheet, and a product's missing batch to 1.

    Raises EstimatorError for rows of an unknown operator or without the columns of their op class, and for products
    above the peak, unless they are flagged already or ``keep_impossible`` is set.
    """
    refuse_unknown(rows, where)
    rows = rows.assign(batch=rows["batch"].mask(rows["op_class"].eq("gemm") & rows["batch"].isna(), 1))
    _refuse_incomplete(rows, where)
    if device is None:
        return rows
    limits, above_peak = bounds.physical(device), bounds.above_peak(rows, device)
    refused = above_peak & ~(rows["flag"] == "above_peak").to_numpy(dtype=bool, na_value=False)
    if refused.any() and not keep_impossible:
        first = rows[refused].head(1)
        rate, peak = (float(values[0]) for values in (bounds.product_rates(first), bounds.peaks(first, limits)))
        raise EstimatorError(
            f"{where}: row {first.index[0] + 1}: {rate / 1e12:.4g} TFLOP/s is above {bounds.ABOVE_PEAK} x "
            f"the peak of {device.name} ({peak / 1e12:.4g} TFLOP/s); check the time's unit, the precision, and "
            "what it accumulates in"
        )
    flags = np.select(
        [above_peak, rows["time_s"] < bounds.least_times(rows, limits)], ["above_peak", "beats_bound"], ""
    )
    return rows.assign(flag=pd.Series(flags, rows.index, dtype="string[python]").replace("", pd.NA))


def _limited_frames(path: Path) -> Iterator[pd.DataFrame]:
    """Yield the frames of a CSV. Raises EstimatorError for more than MAX_ROWS rows."""
    for frame in csv_files.csv_frames(path):
        if len(frame) and frame.index[-1] >= MAX_ROWS:
            raise EstimatorError(
                f"{path}: found more than {MAX_ROWS} rows, expected fewer; keep those of the shapes that matter"
            )
        yield frame


def _refuse_other_devices(rows: pd.DataFrame, device: DeviceSpec, path: Path) -> None:
    other_devices = [name for name in rows["device"].dropna().unique() if not device.is_called(name)]
    if other_devices:
        raise EstimatorError(
            f"{path}: holds rows of device '{min(other_devices)}'; expected '{device.name}', so keep one file per "
            "device"
        )


def _refuse_incomplete(rows: pd.DataFrame, where: str) -> None:
    for bad, sentence in _incomplete(rows):
        if bad.any():
            raise EstimatorError(f"{where}: row {rows.index[int(bad.argmax())] + 1}: {sentence}")


def _incomplete(rows: pd.DataFrame) -> Iterator[tuple[Flags, str]]:
    for op_class, needed in NEEDED_COLUMNS.items():
        incomplete = (rows["op_class"] == op_class) & ~complete(rows, needed)
        names = f"{', '.join(needed[:-1])} and {needed[-1]}"
        yield incomplete.to_numpy(dtype=bool), f"a {op_class} needs {names}; add them"
    low, high = rows["time_low_s"].fillna(rows["time_s"]), rows["time_high_s"].fillna(rows["time_s"])
    disorder = ((low > rows["time_s"]) | (rows["time_s"] > high)).to_numpy()
    yield disorder, "time_s does not lie between time_low_s and time_high_s; mend the row"
    sentence = "the kernel is larger than the padded image, so nothing comes out; check the sizes and the padding"
    yield bounds.empty_outputs(rows), sentence
    yield (rows["sparsity"] >= 1).to_numpy(), "sparsity is not below 1; write the share of zeros, such as 0.95"


def _outranked_note(kinds: pd.MultiIndex, where: str, earlier: str) -> Iterator[str]:
    if len(kinds):
        kinds_text = " and ".join(
            f"{kernel or op_class} in {precision}" for op_class, precision, kernel in kinds.unique()
        )
        yield f"{where}: its {kinds_text} tell nothing beside those of {earlier}"


def _left_out_note(rows: pd.DataFrame, where: str) -> Iterator[str]:
    if len(rows):
        first = f"{where}: row {rows.index[0] + 1}{and_more(len(rows))}"
        rate = np.nanmax(bounds.product_rates(rows), initial=0) / 1e12
        yield f"{first}: flagged above_peak, up to {rate:.4g} TFLOP/s, and left out of the evidence"
