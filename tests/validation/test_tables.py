"""Public tables as TRUTH."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.validation.tables import TRUTH, as_numbers, lacking, published, read_columns, with_operator

TABLE = "gpu,M,time_ms\nNV_V100,64,1.5\nNV_P100,32,\n"
NAMES = {"device": "gpu", "m": "M"}


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_a_table_is_read_in_each_of_its_formats(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"table.{suffix}"
    if suffix == "parquet":
        pd.DataFrame({"gpu": ["NV_V100", "NV_P100"], "M": [64, 32], "time_ms": [1.5, np.nan]}).to_parquet(path)
    else:
        path.write_bytes(gzip.compress(TABLE.encode()) if suffix == "csv.gz" else TABLE.encode())
    rows = published(path, NAMES)
    assert list(rows) == ["device", "m", "time_s"]
    assert rows["device"].tolist() == ["NV_V100", "NV_P100"]
    assert rows["m"].astype(int).tolist() == [64, 32]
    assert rows["time_s"].tolist() == pytest.approx([1.5e-3, np.nan], nan_ok=True)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"gpu,M\nx,1\n", "the column 'time_ms' is missing; check that this is the public table"),
        ("a.csv.gz", b"no gzip", "cannot be read as gzip"),
        ("a.csv.gz", gzip.compress(TABLE.encode(), mtime=0)[:-9], "cannot be read as gzip"),
        ("a.csv.gz", gzip.compress(b"\xff\xfe", mtime=0), "cannot be read as gzip"),
        ("a.parquet", b"no parquet", "cannot be read as parquet"),
    ],
    ids=["a column missing", "no gzip", "cut off", "no text", "no parquet"],
)
def test_a_table_that_cannot_be_read_is_refused(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(EstimatorError, match=words):
        read_columns(tmp_path / name, ("gpu", "M", "time_ms"))


def test_what_a_folder_lacks_is_noted_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TABLE)
    assert (lacking(tmp_path, ["a.csv"]), lacking(tmp_path, ["a.csv", "b.csv", "c.csv"])) == ("", "no b.csv")
    assert lacking(tmp_path, ["b.csv", "a.csv"], one_suffices=True) == ""
    assert lacking(tmp_path, ["b.csv", "c.csv"], one_suffices=True) == "neither b.csv nor c.csv"


def test_named_columns_become_numbers() -> None:
    table = as_numbers(pd.DataFrame({"batch": ["8", None], "model": ["3", "x"]}), Path("t.csv"), "batch")
    assert table["batch"].tolist() == pytest.approx([8, np.nan], nan_ok=True)
    assert table["model"].tolist() == ["3", "x"]


@pytest.mark.parametrize("cell", ["fast", "nan", "inf", "-5", "0"])
def test_a_cell_without_a_number_is_named(cell: str) -> None:
    table = pd.DataFrame({"batch": ["8", cell]})
    with pytest.raises(EstimatorError, match=rf"^t.csv: batch is '{cell}'; expected a number above 0; check"):
        as_numbers(table, Path("t.csv"), "batch")


def test_counts_may_be_zero() -> None:
    assert as_numbers(pd.DataFrame({"layers": ["0"]}), Path("t.csv"), "layers", counts=True)["layers"].tolist() == [0]


def test_an_op_has_the_operator_of_its_name_else_of_its_class() -> None:
    rows = pd.DataFrame(
        [("ln", "normalization"), ("where", "elementwise"), ("gelu", "elementwise"), ("linear", "gemm")],
        columns=["op", "op_class"],
    )  # fmt: skip
    truth = with_operator(TRUTH.conform(rows.assign(device="a", precision="fp32", time_s=1.0), "rows"))
    assert truth["operator"].tolist() == ["layer_norm", "select", "gelu", "gemm"]
