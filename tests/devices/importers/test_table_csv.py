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
