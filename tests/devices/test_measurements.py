from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.devices import load_measurements
from tests.conftest import make_device

HEADER = "op_class,precision,m,n,k,time_s,library,source\n"
ROW = "gemm,fp32,1000,1000,1000,0.001,lib 1,me\n"


def load(tmp_path: Path, text: str) -> int:
    path = tmp_path / "toy.csv"
    path.write_text(text)
    return len(load_measurements(make_device(), path))


def test_rows_are_read(tmp_path: Path) -> None:
    assert load(tmp_path, HEADER + ROW + ROW) == 2


def test_a_device_without_any() -> None:
    assert load_measurements(make_device()).empty


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEADER + ROW.replace("0.001", "0"), "time_s is '0'; expected a number above 0"),
        (HEADER + ROW.replace("0.001", "-1"), "time_s is '-1'"),
        (HEADER + ROW.replace("fp32", "fp33"), "precision is 'fp33'"),
        (HEADER + ROW.replace("0.001", "0.0001"), "20 TFLOP/s is above 1.05 x the peak of toy (10 TFLOP/s)"),
        (HEADER + ROW + ROW.replace("lib 1", "lib 2"), "unlike conditions do not merge"),
        (HEADER + ROW + ROW.replace("lib 1", ""), "library 'lib 1' and '(not said)'"),
        ("device," + HEADER + "other," + ROW, "holds rows of device 'other'"),
        (HEADER + ROW.replace("1000,1000,1000", "1000,,1000"), "row 1: a gemm needs m, n and k"),
        ("time_low_s," + HEADER + "0.002," + ROW, "does not lie between"),
        (HEADER + "gemm,fp32,1000\n", ":2: found 3 cells"),
    ],
)
def test_faults_are_sentences(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(EstimatorError, match=r".") as caught:
        load(tmp_path, text)
    assert words in str(caught.value)


def test_a_convolution_may_beat_the_peak(tmp_path: Path) -> None:
    header = "op_class,precision,conv_n,conv_c,conv_h,conv_w,conv_k,conv_r,conv_s,time_s\n"
    assert load(tmp_path, header + "convolution,fp32,8,64,56,56,64,3,3,0.00001\n") == 1
