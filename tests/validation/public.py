"""Small folders in the format of the public data sets, and rows of TRUTH made up for tests."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from estimator.devices import load_device
from estimator.validation.data import describe
from estimator.validation.tables import TRUTH, with_operator

LINEAR = {"op": "linear", "batch": 1, "m": 512, "n": 1024, "k": 2048, "time_ms": 3.0, "kernel": "sgemm"}
DEEPBENCH = {
    "device": "NV_V100", "mode": "train", "precision": "Float", "library": "CUDA", "source": "sheet", "time_ms": 0.5,
}  # fmt: skip


def write(folder: Path, name: str, rows: Iterable[Mapping[str, object]]) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    frame = pd.DataFrame(list(rows))
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


def truth(*rows: Mapping[str, object]) -> pd.DataFrame:
    """TRUTH of the rows; a row without a time takes twice its roofline time."""
    defaults = {"op_class": "gemm", "precision": "fp32", "batch": 1, "data_set": "toy", "time_s": 1e6}
    truth_rows = with_operator(TRUTH.conform(pd.DataFrame([{**defaults, **row} for row in rows]), "test"))
    known = [describe(of_device, load_device(str(name)))[0] for name, of_device in truth_rows.groupby("device")]
    described = TRUTH.conform(pd.concat(known).sort_index(), "test")
    timed = pd.Series(["time_s" in row for row in rows], described.index)
    return described.assign(time_s=described["time_s"].where(timed, 2 * described["ideal_s"]))
