from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core import csv_files, library
from estimator.core.errors import EstimatorError
from estimator.core.schema import MEASUREMENTS
from estimator.devices import load_device
from estimator.devices.importers import import_measurements
from estimator.devices.importers.declared import Declared
from estimator.devices.measurements import load_measurements
from tests.devices.importers.samples import import_text, read_text

VENDOR = "Data Type,M,N,K,transA,transB,Batch Count,Time (us),TFLOPS,remark\nbfloat16,1024,512,256,N,T,4,100,10.7,x\n"
OWN = "op_class,precision,m,n,k,time_s,library\ngemm,fp32,64,64,64,0.001,lib\nelementwise,fp32,,,,0.002,lib\n"


def test_names_and_units_of_a_vendor(tmp_path: Path) -> None:
    result = import_text(tmp_path, VENDOR)
    row = MEASUREMENTS.conform(csv_files.read_csv(result.path), "out").iloc[0]
    assert row[["precision", "batch", "m", "n", "k", "trans_a", "trans_b", "time_s"]].tolist() == [
        "bf16", 4, 1024, 512, 256, "n", "t", 1e-4
    ]  # fmt: skip
    assert any("not used: 'remark'" in note for note in result.notes)


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


def test_convolutions_with_deepbench_names(tmp_path: Path) -> None:
    text = "w,h,c,n,k,f_w,f_h,pad_w,pad_h,stride_w,stride_h,precision,fwd_time_us,bwd_inputs_time_us\n"
    rows = read_text(tmp_path, text + "7,8,3,2,16,1,3,0,1,1,2,float,10,20\n")
    assert rows["pass"].tolist() == ["forward", "grad_input"]
    assert rows.loc[0, ["conv_w", "conv_h", "conv_n", "conv_s", "conv_r", "pad_h", "stride_h"]].tolist() == [
        7, 8, 2, 1, 3, 1, 2
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("m,n,k,dtype,time\n1,2,3,half,4\n", "'time' has no unit"),
        ("m,n,k,dtype,time_us,duration_ms\n1,2,3,half,4,5\n", "both are time_s"),
        ("m,n,k,dtype,precision,time_us\n1,2,3,half,half,4\n", "both are precision"),
        ("m,n,k,dtype\n1,2,3,half\n", "found no time"),
        ("m,n,k,dtype,time_us,time_us\n1,2,3,half,4,4\n", "'time_us' stands twice"),
        ("m,n,k,dtype,time_us\n1,2,3,half,4\n1,2,3,,4\n", "in.txt: row 2 says no precision"),
        ("m,n,k,dtype,time_us\n1,2,3,fp33,4\n", "precision is 'fp33'"),
        ("m,n,k,dtype,time_us\n1,2,3,half,-4\n", "time_s is '-0.000004'"),
        ("m,n,k,dtype,time_us\n1,2,3,half,0\n", "expected a number above 0"),
        ("m,n,k,dtype,time_us\n1,2,3,half,soon\n", "time_s is 'soon'"),
        ("m,n,k,dtype,time_us\n1,2,3,half\n", ":2: found 4 cells, expected 5"),
        ("m,n,k,dtype,time_us,library\n1,2,3,half,4,a\n1,2,3,half,4,b\n", "library 'a' and 'b'"),
        ("m,n,k,dtype,time_us,padded\n1,2,3,half,4,0\n1,2,3,half,4,1\n", "padding 'none' and 'padded'"),
        (VENDOR.replace("Time (us)", "Time (ms)"), "check the units of both"),
        ("m,n,k,dtype,time_us,device\n1,2,3,half,4,a\n1,2,3,half,4,b\n", "rows of 'a' and 'b'"),
        ("a,b\n1,2\n", "no reader knows this file"),
        ("", "the file is empty"),
        ("m;n;k;dtype;time_us\n1;2;3;half;4,5\n", "separated by ';'; expected commas"),
        ("m\tn\tk\tdtype\ttime_us\n1\t2\t3\thalf\t4\n", r"separated by '\t'; expected commas"),
        ("m,n,k,dtype,time_us,clock_mhz\n1,2,3,half,4,1980\n1,2,4,half,4,1200\n", "clock '1980 MHz' and '1200 MHz'"),
        ("m,n,k,dtype,time_us,driver\n1,2,3,half,4,550\n1,2,4,half,4,535\n", "'driver 550' and 'driver 535'"),
        (
            "conv_n,conv_c,conv_h,conv_w,conv_k,conv_r,conv_s,dtype,time_us\n32,64,5,5,64,7,7,half,100\n",
            "row 1: the kernel is larger than the padded image",
        ),
    ],
)
def test_faults_of_a_table_are_reported(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(EstimatorError) as caught:
        import_text(tmp_path, text)
    assert words in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", library.names("devices", "measurements/*.csv"))
def test_importing_shipped_tables_changes_nothing(tmp_path: Path, name: str) -> None:
    device, path = load_device(name.partition(".")[0]), library.names("devices", "measurements/*.csv")[name]
    import_measurements([path], tmp_path / "out.csv", Declared(device))
    pd.testing.assert_frame_equal(load_measurements(device, tmp_path / "out.csv"), load_measurements(device, path))


@pytest.mark.slow
@given(data=st.data())
def test_a_mutilated_table_is_read_or_refused(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = data.draw(st.sampled_from([VENDOR, OWN]))
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    inserted = data.draw(
        st.text(max_size=20) | st.sampled_from(["\n", ",", '"', "nan", "1e999", "time", "_ms", "\x00"])
    )
    try:
        import_text(tmp_path_factory.mktemp("table"), text[:start] + inserted + text[stop:])
    except EstimatorError as error:
        assert error.faults


@pytest.mark.parametrize(
    ("header", "written", "read"),
    [
        ("clock_mhz", "1980", "1980 MHz"),
        ("SM Clock (GHz)", "1.98", "1.98 GHz"),
        ("clock_mhz", "1980 MHz", "1980 MHz"),
        ("sm_clock", "1980 MHz", "1980 MHz"),
        ("clock", "boost", "boost"),
    ],
)
def test_spellings_of_clocks(tmp_path: Path, header: str, written: str, read: str) -> None:
    rows = read_text(tmp_path, f"m,n,k,dtype,time_us,{header}\n64,64,64,half,9,{written}\n")
    assert rows["clock"].tolist() == [read]


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "spelling", "ours"),
    [
        *(("dtype", spelling, "fp16") for spelling in ("torch.float16", "half", "FP16", "CUDA_R_16F", "f16_r", "F16")),
        *(("in_dtype", spelling, "fp8") for spelling in ("float8_e4m3fn", "torch.float8_e5m2", "E4M3", "fp8_e4m3fnuz")),
        *(("data_type", spelling, "bf16") for spelling in ("jnp.bfloat16", "CUDA_R_16BF", "bf16_r", "BFloat16")),
        *(("input_type", spelling, "fp32") for spelling in ("float", "torch.float32", "single", "f32")),
        *(("Precision", spelling, "tf32") for spelling in ("TensorFloat32", "xf32", "TF32")),
        *(("dtype", spelling, "fp4") for spelling in ("nvfp4", "float4_e2m1fn_x2", "mxfp4", "e2m1")),
        *(("dtype", spelling, "int8") for spelling in ("s8", "torch.int8", "uint8", "CUDA_R_8I", "qint8")),
        ("dtype", "double", "fp64"),
        ("dtype", "u4", "int4"),
    ],
)
def test_spellings_of_precisions(tmp_path: Path, column: str, spelling: str, ours: str) -> None:
    rows = read_text(tmp_path, f"m,n,k,{column},time_us\n64,64,64,{spelling},9\n")
    assert rows["precision"].tolist() == [ours]


def test_int32_accumulation_of_int8_is_the_default(tmp_path: Path) -> None:
    text = "m,n,k,dtype,compute_type,time_us\n64,64,64,{},{},9\n"
    assert read_text(tmp_path, text.format("int8", "CUBLAS_COMPUTE_32I"))["accumulate"].isna().all()
    assert set(read_text(tmp_path, text.format("half", "CUBLAS_COMPUTE_32F"))["accumulate"]) == {"fp32"}


@pytest.mark.parametrize(
    ("spelling", "ours"),
    [
        ("fwd", "forward"), ("dgrad", "grad_input"), ("BWD_DATA", "grad_input"), ("backward data", "grad_input"),
        ("wgrad", "grad_weights"), ("bwd_filter", "grad_weights"), ("bwd", "backward"), ("forward", "forward"),
    ],
)  # fmt: skip
def test_spellings_of_passes(tmp_path: Path, spelling: str, ours: str) -> None:
    columns, cells = "conv_n,conv_c,conv_h,conv_w,conv_k,conv_r,conv_s,dtype", "8,64,9,9,64,3,3,half"
    assert read_text(tmp_path, f"{columns},pass,time_us\n{cells},{spelling},9\n")["pass"].tolist() == [ours]
    header = f"{spelling} time (us)"
    assert read_text(tmp_path, f"{columns},{header}\n{cells},9\n")["pass"].tolist() == [ours]


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
