"""Measured operation times of a device → MEASUREMENTS. Rows of unlike conditions never merge silently."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from estimator.core import files, library, physics
from estimator.core.errors import EstimatorError
from estimator.core.schema import CONV_COLUMNS, GEMM_COLUMNS, MEASUREMENTS
from estimator.core.types import DeviceSpec

ABOVE_PEAK = 1.05  # a matrix product faster than this multiple of its peak was not measured as said
SHAPE = ["op_class", "precision", "bytes", "flop", *(column.name for column in (*GEMM_COLUMNS, *CONV_COLUMNS))]
CONDITIONS = ["library", "clock"]


def measurements_path(device: str, path: str | Path | None = None) -> Path | None:
    """The measurements given by the caller, else those that the library holds of a device, else None."""
    return Path(path) if path else library.names("devices", "measurements/*.csv").get(device)


def load_measurements(device: DeviceSpec, path: str | Path | None = None) -> pd.DataFrame:
    """MEASUREMENTS of a device: from a CSV, else from the library, else none.

    Raises EstimatorError for unreadable rows, rows of another device, products above the device's peak, and shapes
    measured under unlike conditions.
    """
    place = measurements_path(device.name, path)
    if place is None:
        return MEASUREMENTS.conform(pd.DataFrame(columns=MEASUREMENTS.names()), device.name)
    rows = MEASUREMENTS.conform(files.read_csv(place), str(place))
    rows["batch"] = rows["batch"].fillna(1)
    _refuse_other_devices(rows, device, place)
    _refuse_incomplete(rows, place)
    _refuse_beyond_peak(rows, device, place)
    _refuse_mixed_conditions(rows, place)
    return rows


def _refuse_other_devices(rows: pd.DataFrame, device: DeviceSpec, place: Path) -> None:
    names = {device.name, *device.aliases}
    others = set(rows["device"].dropna()) - names
    if others:
        raise EstimatorError(
            f"{place}: holds rows of device '{min(others)}'; expected '{device.name}', so keep one file per device"
        )


def _refuse_incomplete(rows: pd.DataFrame, place: Path) -> None:
    no_shape = (rows["op_class"] == "gemm") & rows[["m", "n", "k"]].isna().any(axis=1)
    low, high = rows["time_low_s"].fillna(rows["time_s"]), rows["time_high_s"].fillna(rows["time_s"])
    disorder = (low > rows["time_s"]) | (rows["time_s"] > high)
    for bad, sentence in (
        (no_shape, "a gemm needs m, n and k; add them"),
        (disorder, "time_s does not lie between time_low_s and time_high_s; mend the row"),
    ):
        if bad.any():
            raise EstimatorError(f"{place}: row {int(bad.to_numpy().argmax()) + 1}: {sentence}")


def _refuse_beyond_peak(rows: pd.DataFrame, device: DeviceSpec, place: Path) -> None:
    """Matrix products may not beat the peak; convolutions may (Winograd, FFT) and are kept."""
    products = rows[rows["op_class"] == "gemm"]
    if products.empty:
        return
    batch, m, n, k = (products[name].to_numpy(dtype=float, na_value=np.nan) for name in ("batch", "m", "n", "k"))
    rate = physics.gemm_flop(batch, m, n, k) / products["time_s"].to_numpy()
    peak = np.array([_matrix_peak(device, precision) for precision in products["precision"]])
    beyond = rate > ABOVE_PEAK * peak
    if beyond.any():
        first = int(beyond.argmax())
        raise EstimatorError(
            f"{place}: row {products.index[first] + 1}: {rate[first] / 1e12:.4g} TFLOP/s is above {ABOVE_PEAK} x the "
            f"peak of {device.name} ({peak[first] / 1e12:.4g} TFLOP/s); check the time's unit and the precision"
        )


def _matrix_peak(device: DeviceSpec, precision: str) -> float:
    peak = device.peak_of(precision)
    rates = [rate.value for rate in (peak.vector, peak.tensor) if rate]
    return max(rates, default=np.inf)


def _refuse_mixed_conditions(rows: pd.DataFrame, place: Path) -> None:
    for condition in CONDITIONS:
        per_shape = rows.groupby(SHAPE, dropna=False)[condition].nunique(dropna=False)
        if (per_shape > 1).any():
            first, second, *_ = rows[condition].fillna("(not said)").unique()
            raise EstimatorError(
                f"{place}: the same shape was measured with {condition} '{first}' and '{second}'; "
                f"unlike conditions do not merge, so keep one {condition} per file"
            )
