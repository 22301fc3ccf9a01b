"""What the user declares of a file."""

from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.devices.importers.declared import Declared, first_line
from tests.conftest import make_device
from tests.devices.importers.samples import NVIDIA_GEMM, import_text, read_text


def test_declared_values_fill_missing_ones(tmp_path: Path) -> None:
    text = "m,n,k,dtype,time_us,library,source\n64,64,64,half,9,own,\n64,64,32,half,9,own,book\n"
    declared = Declared(library="declared", clock="1 GHz", precision="fp32", source="page 7")
    rows = read_text(tmp_path, text, declared)
    assert rows[["precision", "library", "clock", "source"]].values.tolist() == [
        ["fp16", "own", "1 GHz", "page 7"], ["fp16", "own", "1 GHz", "book"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (Declared(clock="1.4"), "--clock is '1.4', which is a plain number"),
        (Declared(clock="0 GHz"), "--clock is '0 GHz', which is not above zero"),
        (Declared(precision="fp99"), "--precision is 'fp99', which is not known; expected one of fp64,"),
        (Declared(topology=Path("net.csv")), "in.txt: found DeepBench log"),
    ],
)
def test_declared_values_are_checked(tmp_path: Path, declared: Declared, words: str) -> None:
    with pytest.raises(EstimatorError) as caught:
        import_text(tmp_path, NVIDIA_GEMM, declared)
    assert words in str(caught.value)


def test_declared_precision_may_have_a_foreign_name(tmp_path: Path) -> None:
    rows = read_text(tmp_path, "m,n,k,time_us\n64,64,64,9\n", Declared(precision="half"))
    assert set(rows["precision"]) == {"fp16"}


def test_only_declared_values_fill_columns() -> None:
    declared = Declared(device=make_device(), clock="1 GHz", precision="bfloat16").checked()
    assert declared.columns() == {"device": "toy", "clock": "1 GHz", "precision": "bf16"}
    assert Declared.parse_clock("1500 MHz") == 1.5e9


@pytest.mark.parametrize(
    ("head", "line"),
    [(b"\xef\xbb\xbf m,n,k \r\n1,2,3", "m,n,k"), (b"", ""), (b"\xff m\n", "� m"), (b"no end", "no end")],
)
def test_the_first_line_of_a_head_is_text(head: bytes, line: str) -> None:
    assert first_line(head) == line
