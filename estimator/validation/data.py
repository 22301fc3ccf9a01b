"""Folder of public data sets → one TRUTH frame, completed from the device files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from estimator.core.conv_shape import ConvShape
from estimator.core.errors import EstimatorError
from estimator.core.schema import MATRIX
from estimator.core.types import DeviceSpec
from estimator.devices.measurements import bounds
from estimator.devices.specs.catalogue import source_device
from estimator.validation import aiconfigurator, deepbench, layer_ops, neusight, vidur
from estimator.validation.tables import TRUTH, with_operator

if TYPE_CHECKING:
    import pandas as pd

READERS = (deepbench, neusight, aiconfigurator, vidur)
WHOLE_MODELS = ("neusight/whole_model.csv", layer_ops.FILE)  # tables without rows of kernels


def read_truth(folder: str | Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read TRUTH of every public table in the folder, with notes on rows left out.

    Raises EstimatorError where the folder holds none, where a table cannot be read, and where no row can be used.
    """
    import pandas as pd

    folder, notes, frames = Path(folder), list[str](), list[pd.DataFrame]()
    for rows in _published(folder):
        for name, device_rows in rows.groupby("device", sort=False):
            described, note = describe(device_rows, source_device(str(name)))
            frames.append(described)
            if note:
                notes.append(f"{', '.join(device_rows['data_set'].unique())}: {name}: {note}")
    if not any(map(len, frames)):
        raise EstimatorError(f"{folder}: no row can be judged", *notes)
    return TRUTH.conform(pd.concat(frames, ignore_index=True), str(folder)), tuple(notes)


def _published(folder: Path) -> Iterator[pd.DataFrame]:
    """Yield the rows of each table; device names are translated where the reader knows ours."""
    if not folder.is_dir():
        raise EstimatorError(f"{folder}: there is no such folder; name the one that holds the public data sets")
    files = [(reader, folder / name) for reader in READERS for name in reader.FILES]
    if not any(path.exists() for _, path in files):
        expected = ", ".join(str(path.relative_to(folder)) for _, path in files)
        raise EstimatorError(
            f"{folder}: holds none of the public tables; expected {expected}; beside them, {' and '.join(WHOLE_MODELS)}"
        )
    for reader, path in files:
        if path.exists():
            rows = TRUTH.conform(reader.read(path), str(path))
            yield with_operator(rows).assign(device=rows["device"].replace(reader.DEVICES))


def describe(rows: pd.DataFrame, device: DeviceSpec | None) -> tuple[pd.DataFrame, str]:
    """The usable rows of one device with name, family, path and roofline time; and a note on rows left out."""
    if device is None or device.memory_bandwidth is None:
        reason = "no device file bears this name" if device is None else "its device file gives no bandwidth"
        return rows.iloc[:0], f"{len(rows)} rows are left out, as {reason}"
    peaks, matrix = bounds.peaks(rows, device), rows["op_class"].isin(MATRIX).to_numpy(dtype=bool)
    tensor_peaks = rows["precision"].map(
        {precision: peak.tensor.value for precision, peak in device.peak.items() if peak.tensor}
    )
    ideal_s = bounds.least_times(rows, device)
    _, height, width = ConvShape.from_table(rows).output
    usable = (rows["time_s"] > 0).to_numpy() & (np.isfinite(peaks) | ~matrix)
    too_fast = usable & bounds.above_peak(rows, device)
    described = rows.assign(
        device=device.name,
        family=device.family,
        stack=rows["data_set"].str.partition("-")[0],
        path=np.where(matrix & (tensor_peaks == peaks), "tensor", "vector"),
        peak=np.where(matrix, peaks, np.nan),
        ideal_s=np.where(ideal_s > 0, ideal_s, np.nan),  # neither arithmetic nor memory bounds a collective
        conv_p=height,
        conv_q=width,
    )[usable & ~too_fast]
    left_out = {
        "they have no time or their precision no peak": int((~usable).sum()),
        f"they are matrix products above {bounds.ABOVE_PEAK} x the peak": int(too_fast.sum()),
    }
    return described, "; ".join(
        f"{count} rows are left out, as {reason}" for reason, count in left_out.items() if count
    )
