"""Vidur's linear layers."""

from pathlib import Path

from estimator.validation import vidur
from estimator.validation.data import read_truth
from tests.validation.public import write


def test_a_shape_of_several_models_is_one_row(tmp_path: Path) -> None:
    shape = {"device": "a40", "precision": "fp16", "m": 64.0, "n": 4096.0, "k": 4096.0}
    write(tmp_path, "vidur/gemm.parquet", [{**shape, "time_ms": t} for t in (1.0, 2.0, 9.0)])
    assert read_truth(tmp_path)[0]["time_s"].tolist() == [2e-3]


def test_shapes_on_two_devices_are_two_rows_of_transposed_weights(tmp_path: Path) -> None:
    shape = {"precision": "fp16", "m": 64.0, "n": 4096.0, "k": 4096.0, "time_ms": 1.0}
    rows = vidur.read(write(tmp_path, vidur.FILES[0], [{**shape, "device": name} for name in ("a40", "h100", "a40")]))
    assert rows[["device", "time_s"]].values.tolist() == [["a40", 1e-3], ["h100", 1e-3]]
    assert set(rows["trans_b"]) == {"t"}
    assert set(rows["data_set"]) == {"vidur"}
