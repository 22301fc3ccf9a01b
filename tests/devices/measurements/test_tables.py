import os
import threading
from pathlib import Path

import pandas as pd
import pytest

from estimator.core import library
from estimator.core.errors import EstimatorError
from estimator.core.types import DeviceSpec
from estimator.devices import load_device
from estimator.devices.measurements import load_measurements, read_measurements, tables, with_measured
from tests.conftest import make_device

HEADER = "op_class,precision,m,n,k,time_s,library,source\n"
ROW = "gemm,fp32,1000,1000,1000,0.001,lib 1,me\n"
FAST = ROW.replace("0.001", "0.0001")  # 20 TFLOP/s on a device of 10


def load(tmp_path: Path, text: str) -> int:
    path = tmp_path / "toy.csv"
    path.write_text(text)
    return len(load_measurements(make_device(), path))


def test_shipped_measurements_are_read(tmp_path: Path) -> None:
    assert load(tmp_path, HEADER + ROW + ROW) == 2


def test_a_table_without_rows_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(HEADER)
    rows, notes = read_measurements(make_device(), path)
    assert rows.empty
    assert notes == ("toy: rows.csv: the table has no rows: nothing measured corrects the models",)


def test_a_device_without_measurements_has_no_rows() -> None:
    assert load_measurements(make_device()).empty


def test_the_table_beside_a_device_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(HEADER + ROW)
    (tmp_path / "other.csv").write_text(HEADER + ROW + ROW)
    assert len(load_measurements(make_device(), named=tmp_path / "mine.yaml")) == 1
    assert len(load_measurements(make_device(), tmp_path / "other.csv", tmp_path / "mine.yaml")) == 2
    assert load_measurements(make_device(), named=tmp_path / "none.yaml").empty
    assert load_measurements(make_device(), named="mine").empty


def test_a_frameworks_table_outranks_that_of_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only in its op classes, kernels and precisions."""
    folder = tmp_path / "devices" / "measurements"
    folder.mkdir(parents=True)
    monkeypatch.setenv("ESTIMATOR_LIBRARY", str(tmp_path))
    header = HEADER.replace("op_class", "op_class,kernel")
    row, add, launch = (
        ROW.replace("gemm", "gemm,"),
        *(f"elementwise,{k},fp32,,,,1e-3,lib 1,me\n" for k in ("add", "launch")),
    )
    loops, framed = row + row + row.replace("fp32", "fp16") + add + launch, (row + add).replace("lib 1", "torch 2")
    (folder / "toy.csv").write_text(header + loops)
    (folder / "toy.torch.csv").write_text(header + framed)
    (folder / "toy-2.csv").write_text(HEADER + ROW)
    device = make_device(peak={"fp32": "10 TFLOP/s", "fp16": "10 TFLOP/s"})
    rows, notes = read_measurements(device)
    assert rows["library"].tolist() == ["torch 2", "torch 2", "lib 1", "lib 1"]
    assert rows["precision"].tolist() == ["fp32", "fp32", "fp16", "fp32"]
    sentence = "its gemm in fp32 and add in fp32 tell nothing beside those of toy.torch.csv"
    assert notes == (f"toy: toy.csv: {sentence}",)
    assert read_measurements(device, alone=True)[0]["library"].tolist() == ["lib 1"] * 5


def test_a_users_table_comes_before_a_shipped_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "devices" / "measurements"
    folder.mkdir(parents=True)
    monkeypatch.setenv("ESTIMATOR_LIBRARY", str(tmp_path))
    (folder / "p100-pcie-16gb.csv").write_text(HEADER + ROW.replace("0.001", "0.002"))
    assert load_measurements(load_device("p100"))["time_s"].tolist() == [0.002]


def test_a_table_of_a_longer_device_name_is_no_framework_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "devices" / "measurements"
    folder.mkdir(parents=True)
    monkeypatch.setenv("ESTIMATOR_LIBRARY", str(tmp_path))
    (tmp_path / "devices" / "toy.gpu.yaml").write_text("name: toy.gpu\n")
    (folder / "toy.gpu.csv").write_text(HEADER + ROW)
    assert load_measurements(make_device()).empty


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEADER.replace("time_s", "time_ms") + ROW, "the column 'time_s' is missing"),
        (HEADER + ROW.replace("0.001", "0"), "time_s is '0'; expected a number above 0"),
        (HEADER + ROW.replace("0.001", "-1"), "time_s is '-1'"),
        (HEADER + ROW.replace("0.001", "1 ms"), "time_s is '1 ms'; expected a number above 0 and at most 1e+12 [s]"),
        (HEADER + ROW.replace("fp32", "fp33"), "precision is 'fp33'"),
        (HEADER + ROW + FAST, "row 2: 20 TFLOP/s is above 1.05 x the peak of toy (10 TFLOP/s)"),
        (HEADER + ROW + ROW.replace("lib 1", "lib 2"), "unlike conditions do not merge"),
        (HEADER + ROW + ROW.replace("1000", "500").replace("lib 1", "lib 2"), "library 'lib 1' and 'lib 2'"),
        (HEADER + ROW + ROW.replace("lib 1", ""), "library 'lib 1' and '(not said)'"),
        ("clock," + HEADER + "1 GHz," + ROW + "2 GHz," + ROW, "clock '1 GHz' and '2 GHz'"),
        ("threads," + HEADER + "1," + ROW + "2," + ROW, "threads '1' and '2'"),
        ("accumulate," + HEADER + "fp32," + ROW + "fp64," + ROW, "accumulate 'fp32' and 'fp64'"),
        ("padding," + HEADER + "," + ROW + "8," + ROW, "rows 1 and 2 are one shape with padding 'none' and '8'"),
        ("device," + HEADER + "other," + ROW, "holds rows of device 'other'"),
        (HEADER + ROW.replace("1000,1000,1000", "1000,,1000"), "row 1: a gemm needs m, n and k"),
        (HEADER + ROW.replace("gemm", "recurrent"), "a recurrent needs cell, hidden, sequences and timesteps"),
        (HEADER + ROW.replace("gemm", "collective"), "a collective needs ranks and bytes"),
        ("operator," + HEADER + "gemm," + ROW + "gem," + ROW, "row 2: operator 'gem' is not known. Did you mean gemm?"),
        ("sparsity," + HEADER + "95," + ROW, "row 1: sparsity is not below 1"),
        ("time_low_s," + HEADER + "0.002," + ROW, "does not lie between"),
        (HEADER + "gemm,fp32,1000\n", ":2: found 3 cells"),
    ],
)
def test_faults_of_a_table_are_reported(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(EstimatorError, match=r".") as caught:
        load(tmp_path, text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("more", "first", "second"),
    [("cache,", "cold,", "warm,"), ("sparsity,", "0.5,", ","), ("padding,", "8,", ",")],
)
def test_conditions_that_may_differ(tmp_path: Path, more: str, first: str, second: str) -> None:
    """Libraries by cache state and sparsity, paddings by shape."""
    other = ROW.replace("1000,1000", "500,1000")
    library = {"cache,": "lib 2", "sparsity,": "lib 2"}.get(more, "lib 1")
    assert load(tmp_path, more + HEADER + first + ROW + second + other.replace("lib 1", library)) == 2


def test_rows_flagged_above_peak_are_left_out_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "toy.csv").write_text("flag," + HEADER + "above_peak," + FAST + "," + ROW)
    rows, notes = read_measurements(make_device(), tmp_path / "toy.csv")
    assert rows["time_s"].tolist() == [0.001]
    assert notes[0] == "toy: toy.csv: row 1: flagged above_peak, up to 20 TFLOP/s, and left out of the evidence"


CONV = "op_class,precision,conv_n,conv_c,conv_h,conv_w,conv_k,conv_r,conv_s,time_s\n"


@pytest.mark.parametrize(("time_s", "flag"), [("0.00001", "beats_bound"), ("0.001", None)])
def test_a_convolution_may_beat_the_bound_and_is_flagged(tmp_path: Path, time_s: str, flag: str | None) -> None:
    (tmp_path / "toy.csv").write_text(CONV + f"convolution,fp32,8,64,56,56,64,3,3,{time_s}\n")
    flags = load_measurements(make_device(), tmp_path / "toy.csv")["flag"]
    assert flags.fillna("").tolist() == [flag or ""]


def test_flags_are_computed_from_the_device(tmp_path: Path) -> None:
    (tmp_path / "toy.csv").write_text("flag," + HEADER + "beats_bound," + ROW)
    assert load_measurements(make_device(), tmp_path / "toy.csv")["flag"].isna().all()


def test_more_rows_than_a_prediction_can_use_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_ROWS", 2)
    assert load(tmp_path, HEADER + 2 * ROW) == 2
    with pytest.raises(EstimatorError, match="found more than 2 rows"):
        load(tmp_path, HEADER + 3 * ROW)


@pytest.mark.parametrize(
    ("sizes", "kept"), [("5,5,64,7,7,0,0,,", False), ("5,5,64,7,7,1,1,,", True), ("5,5,64,7,7,0,0,5,5", True)]
)
def test_a_convolution_without_output_is_refused(tmp_path: Path, sizes: str, kept: bool) -> None:
    header = "op_class,precision,conv_n,conv_c,conv_h,conv_w,conv_k,conv_r,conv_s,pad_h,pad_w,conv_p,conv_q,time_s\n"
    (tmp_path / "toy.csv").write_text(f"{header}convolution,fp32,32,64,{sizes},0.001\n")
    if kept:
        assert len(load_measurements(make_device(), tmp_path / "toy.csv")) == 1
    else:
        with pytest.raises(EstimatorError, match="row 1: the kernel is larger than the padded image"):
            load_measurements(make_device(), tmp_path / "toy.csv")


def notes_of(tmp_path: Path, text: str, **spec: object) -> tuple[str, ...]:
    (tmp_path / "toy.csv").write_text(HEADER + text)
    return read_measurements(make_device(**spec), tmp_path / "toy.csv")[1]


def test_different_times_of_one_shape_have_a_note(tmp_path: Path) -> None:
    assert notes_of(tmp_path, ROW + ROW.replace("0.001", "0.0014")) == ()
    (note,) = notes_of(tmp_path, ROW + ROW.replace("1000", "500") + ROW.replace("0.001", "0.03") + ROW)
    assert note == "toy: toy.csv: rows 1 and 3 are one shape and 30 x apart; check which of them holds"
    other = ROW.replace("1000", "500")
    (note,) = notes_of(tmp_path, ROW + other + other.replace("0.001", "0.002") + ROW.replace("0.001", "0.003"))
    assert "rows 1 and 4 are one shape and 3 x apart (so are those of 1 more)" in note


def test_rows_of_a_precision_without_hardware_have_a_note(tmp_path: Path) -> None:
    peak = {"fp32": "10 TFLOP/s", "fp4": "unsupported"}
    narrow = ROW.replace("fp32", "fp4")
    assert notes_of(tmp_path, ROW + narrow + narrow, peak=peak) == (
        "toy: toy.csv: row 2 and 1 more: toy has no hardware path for fp4; check the precision, and the device",
    )
    with pytest.raises(EstimatorError, match=r"row 1: 20 TFLOP/s is above 1\.05 x the peak of toy \(10 TFLOP/s\)"):
        notes_of(tmp_path, FAST.replace("fp32", "fp4"), peak=peak)


def test_a_measured_peak_is_no_limit(tmp_path: Path) -> None:
    peak = {"fp32": {"value": "10 TFLOP/s", "status": "measured"}}
    (tmp_path / "toy.csv").write_text(HEADER + FAST)
    rows, notes = read_measurements(make_device(peak=peak), tmp_path / "toy.csv")
    assert (rows["flag"].isna().tolist(), notes) == ([True], ())


def test_a_file_cannot_flag_a_possible_product_as_impossible(tmp_path: Path) -> None:
    (tmp_path / "toy.csv").write_text("flag," + HEADER + "above_peak," + ROW)
    assert load_measurements(make_device(), tmp_path / "toy.csv")["flag"].isna().tolist() == [True]


def test_a_users_file_does_not_use_the_librarys_rows(tmp_path: Path) -> None:
    shipped = library.names("devices", "*.yaml")["v100-sxm2-16gb"]
    device = load_device("v100")
    private = tmp_path / shipped.name
    private.write_bytes(shipped.read_bytes())
    assert load_measurements(device, named=private).empty
    assert len(load_measurements(device, named=shipped)) == len(load_measurements(device, named="v100")) > 0


def test_the_launch_latency_is_taken_from_measurements(tmp_path: Path) -> None:
    text = "op_class,precision,kernel,bytes,time_s\nelementwise,fp32,launch,12,3e-6\nelementwise,fp32,add,1200,4e-6\n"
    (tmp_path / "rows.csv").write_text(text)
    device = make_device(launch_latency="9 us")
    latency = with_measured(device, load_measurements(device, tmp_path / "rows.csv")).launch_latency
    assert latency is not None
    assert (latency.value, latency.status) == (3e-6, "measured")
    assert with_measured(device, load_measurements(device)) == device


def test_a_table_is_parsed_once_and_anew_where_it_or_the_device_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    parse = tables._parse_table

    def counting(device: DeviceSpec, path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
        parsed.append(device.name)
        return parse(device, path)

    monkeypatch.setattr(tables, "_parse_table", counting)
    table, device = tmp_path / "times.csv", make_device(name="toy")
    table.write_text("op_class,precision,m,n,k,time_s\ngemm,fp32,8,8,8,1e-3\n", encoding="utf-8")
    first = load_measurements(device, table)
    first.loc[:, "time_s"] = -1.0
    assert load_measurements(device, table)["time_s"].item() == 1e-3
    assert len(parsed) == 1
    load_measurements(device.model_copy(update={"aliases": ("other",)}), table)
    table.write_text("op_class,precision,m,n,k,time_s\ngemm,fp32,8,8,8,2e-3\n", encoding="utf-8")
    assert load_measurements(device, table)["time_s"].item() == 2e-3
    assert len(parsed) == 3


def test_a_table_from_a_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "times.fifo"
    os.mkfifo(pipe)
    text = "op_class,precision,m,n,k,time_s\ngemm,fp32,8,8,8,1e-3\n"
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    assert len(load_measurements(make_device(name="toy"), pipe)) == 1
    writer.join()
