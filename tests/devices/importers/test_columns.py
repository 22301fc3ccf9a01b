"""Foreign tables under our columns: units of times, rates in place of times, and what is ambiguous."""

from pathlib import Path

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.devices.importers.columns import read_table
from estimator.devices.importers.declared import Declared
from tests.devices.importers.samples import read_text


@pytest.mark.parametrize("header", ["time_ms", "Time (msec)", "Latency [ms]", "median time (ms)", "duration_ms"])
def test_unit_of_times_is_that_of_the_header(tmp_path: Path, header: str) -> None:
    rows = read_text(tmp_path, f"m,n,k,dtype,{header}\n64,64,64,float,0.5\n")
    assert rows["time_s"].tolist() == [0.5e-3]


def test_a_rate_gives_the_time_where_no_other_does(tmp_path: Path) -> None:
    rows = read_text(tmp_path, "m,n,k,dtype,GFLOPS\n100,100,100,half,2\n")
    assert rows["time_s"].tolist() == [1e-3]


def test_low_and_high_times_are_read(tmp_path: Path) -> None:
    rows = read_text(tmp_path, "m,n,k,dtype,time_us,min time (us),max time (us)\n64,64,64,fp16,5,4,7\n")
    assert rows[["time_low_s", "time_high_s"]].values.tolist() == [[4e-6, 7e-6]]


@pytest.mark.parametrize(
    ("header", "cells", "user", "library"),
    [
        ("library,driver", "cuBLAS 12,550", None, "cuBLAS 12, driver 550"),
        ("driver_version,cuda,framework", "550.1,12.4,torch 2.3", None, "torch 2.3, CUDA 12.4, driver 550.1"),
        ("driver", "550", "cuBLAS 12", "cuBLAS 12, driver 550"),
        ("library,driver", ",550", "cuBLAS 12", "cuBLAS 12, driver 550"),
        ("library,driver", "cuBLAS 12,", None, "cuBLAS 12"),
        ("driver", "550", None, "driver 550"),
    ],
)
def test_versions_belong_to_the_library(
    tmp_path: Path, header: str, cells: str, user: str | None, library: str
) -> None:
    rows = read_text(tmp_path, f"m,n,k,dtype,time_us,{header}\n64,64,64,half,9,{cells}\n", Declared(library=user))
    assert rows["library"].tolist() == [library]


def test_int32_accumulation_of_int8_is_the_default(tmp_path: Path) -> None:
    text = "m,n,k,dtype,compute_type,time_us\n64,64,64,{},{},9\n"
    assert read_text(tmp_path, text.format("int8", "CUBLAS_COMPUTE_32I"))["accumulate"].isna().all()
    assert set(read_text(tmp_path, text.format("half", "CUBLAS_COMPUTE_32F"))["accumulate"]) == {"fp32"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("m,n,k,dtype,sparsity,TFLOPS\n64,64,64,half,0,1\n64,64,64,half,0.9,1\n", "row 2: a sparse product's rate"),
        ("m,n,k,dtype,time_s,time (usec)\n64,64,64,half,1,9\n", "both are time_s"),
        ("w,h,c,n,k,r,s,dtype,time_s,fwd_time (us)\n7,7,8,8,8,3,3,half,1,9\n", "both are time_s"),
        ("m,n,k,dtype,time_us,TFLOPS\n1000,1000,1000,half,1000,2.4\n", "the rate that the time gives"),
    ],
)
def test_times_that_are_unclear_are_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(EstimatorError, match=words):
        read_text(tmp_path, text)


def table(text: str, rounded: bool = False) -> tuple[pd.DataFrame, list[str]]:
    """The rows of a table of text, and the notes on it; cells are divided by blanks."""
    header, *rows = (line.split() for line in text.splitlines())
    notes = list[str]()
    cells = pd.DataFrame(rows, columns=header, dtype="str")
    return read_table(cells, "log", notes.append, rounded=rounded), notes


def test_each_pass_of_a_convolution_is_a_row_and_the_forward_algorithm_is_of_the_forward_pass() -> None:
    sizes = "w h c n k f_w f_h precision fwd_algo fwd_us bwd_inputs_us bwd_params_us total_us"
    rows, notes = table(f"{sizes}\n7 8 3 2 16 1 3 float WINOGRAD 10 20 n/a 30")
    assert rows["pass"].tolist() == ["forward", "grad_input", "grad_weights"]
    assert rows["kernel"].fillna("").tolist() == ["WINOGRAD", "", ""]
    assert rows["time_s"].tolist() == ["0.000010", "0.000020", "n/a"]
    assert rows["left_out"].fillna("").tolist() == ["", "", "n/a"]
    assert notes == []


def test_a_rounded_time_lies_within_half_a_unit_of_its_last_digit() -> None:
    rows, _ = table("m n k dtype time_us\n8 8 8 float 38\n8 8 8 float 0.50", rounded=True)
    assert rows["time_low_s"].tolist() == ["0.0000375", "4.95E-7"]
    assert rows["time_high_s"].tolist() == ["0.0000385", "5.05E-7"]


def test_floats_are_messages_of_four_bytes_each() -> None:
    rows, _ = table("num_floats ranks time_ms\n100000 8 0.148")
    assert rows[["op_class", "bytes", "precision"]].values.tolist() == [["collective", 400000, "fp32"]]


def test_columns_of_no_known_meaning_are_noted() -> None:
    assert table("m n k dtype time_us mood TFLOPS\n8 8 8 float 1 good 0.001024")[1] == ["log: not used: 'mood'"]


def test_a_rate_a_tenth_off_the_time_beside_it_passes() -> None:
    """2·100³ FLOP in 1 ms are 2 GFLOP/s."""
    text = "m n k dtype time_ms GFLOPS\n100 100 100 float 1 {}"
    for rate in (2, 1.85, 2.15):
        assert len(table(text.format(rate))[0]) == 1
    for rate in (1.8, 2.3):
        with pytest.raises(EstimatorError, match="log: row 1: the rate that the time gives"):
            table(text.format(rate))
