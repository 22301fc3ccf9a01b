import os
import threading
from pathlib import Path

import pandas as pd
import pytest

from estimator.core import csv_files
from estimator.core.errors import EstimatorError
from estimator.core.schema import MEASUREMENTS
from estimator.devices import load_device
from estimator.devices.importers import import_measurements
from estimator.devices.importers.declared import Declared
from estimator.devices.measurements import read_measurements
from tests.benchmarks.measurements import write_table
from tests.conftest import make_device
from tests.devices.importers.samples import CONV, NVIDIA_GEMM, RNN, import_text, read_text, rows_of

OWN = "op_class,precision,m,n,k,time_s,library\n"
FAST = OWN + "gemm,fp32,1000,1000,1000,0.001,lib\ngemm,fp32,1000,1000,1000,0.0001,lib\n"  # 20 TFLOP/s of 10


def test_the_default_source_is_the_file_name(tmp_path: Path) -> None:
    assert set(read_text(tmp_path, NVIDIA_GEMM, name="gemm.log")["source"]) == {"gemm.log"}


def test_several_files_become_one_table_of_non_empty_columns(tmp_path: Path) -> None:
    for name, text in (("rnn", RNN), ("gemm", NVIDIA_GEMM), ("conv", CONV)):
        (tmp_path / name).write_text(text)
    result = import_measurements([tmp_path / name for name in ("rnn", "gemm", "conv")], tmp_path / "out.csv")
    rows = rows_of(result)
    assert rows["op_class"].tolist() == ["recurrent"] * 4 + ["gemm"] * 2 + ["convolution"] * 5
    assert rows.loc[4, ["m", "n", "k", "trans_b"]].tolist() == [1760, 16, 1760, "t"]
    header = result.path.read_text().split("\n", 1)[0].split(",")
    assert [name for name in header if rows[name].isna().all()] == []
    assert header == [name for name in rows if name in header]


def test_a_product_above_the_peak_is_refused_or_flagged(tmp_path: Path) -> None:
    declared = Declared(device=make_device())
    with pytest.raises(EstimatorError, match=r"row 2: 20 TFLOP/s is above 1\.05 x the peak of toy"):
        import_text(tmp_path, FAST, declared)
    assert not (tmp_path / "out.csv").exists()
    import_measurements([tmp_path / "in.txt"], tmp_path / "out.csv", declared, keep_impossible=True)
    rows, notes = read_measurements(make_device(), tmp_path / "out.csv")
    assert rows["time_s"].tolist() == [0.001]
    assert "out.csv: row 2: flagged above_peak" in notes[0]


def test_a_convolution_beyond_the_bound_is_flagged(tmp_path: Path) -> None:
    flags = read_text(tmp_path, CONV, Declared(device=make_device(peak={"fp32": "2 TFLOP/s"})))["flag"]
    assert flags.fillna("").tolist() == ["beats_bound", "", *3 * ["beats_bound"]]


def test_devices_are_known_by_their_aliases(tmp_path: Path) -> None:
    text = "device,m,n,k,dtype,time_us\nNV_V100,64,64,64,float,9\n"
    result = import_text(tmp_path, text)
    assert set(rows_of(result)["device"]) == {"v100-sxm2-16gb"}
    assert set(read_text(tmp_path, text, Declared(device=load_device("v100")))["device"]) == {"v100-sxm2-16gb"}
    with pytest.raises(EstimatorError, match="expected those of one device"):
        import_text(tmp_path, text, Declared(device=load_device("p100")))


def test_unchecked_devices_have_a_note(tmp_path: Path) -> None:
    text = "m,n,k,dtype,time_us\n64,64,64,float,9\n"
    assert any("no device is named" in note for note in import_text(tmp_path, text).notes)
    other = text.replace("m,n", "device,m,n").replace("64,64,64", "new,64,64,64")
    assert any("new is not in the catalogue" in note for note in import_text(tmp_path, other).notes)


@pytest.mark.parametrize(("time_us", "noted"), [(900, True), (9, False)])
def test_low_share_of_the_peak_has_a_note(tmp_path: Path, time_us: int, noted: bool) -> None:
    """The toy's peak is 10 TFLOP/s; the slow time may be that of a processor."""
    text = f"m,n,k,dtype,time_us\n256,256,256,float,{time_us}\n"
    notes = import_text(tmp_path, text, Declared(device=make_device())).notes
    assert any("if the rows were not measured on it" in note for note in notes) is noted


def test_times_far_above_the_bound_have_a_note(tmp_path: Path) -> None:
    result = import_text(tmp_path, "m,n,k,dtype,time_s\n640,640,640,float,90\n", Declared(device=make_device()))
    assert any("in.txt: row 1: over 1000 x the time" in note for note in result.notes)
    usual = "".join(f"{m},{m},{m},float,{m**3 / 1e12}\n" for m in (256, 512, 1024, 2048))
    slow = f"m,n,k,dtype,time_s\n640,640,640,float,90\n64,64,64,float,1e-6\n320,320,320,float,90\n{usual}"
    import_text(tmp_path, slow, Declared(device=make_device()))
    notes = read_measurements(make_device(), tmp_path / "out.csv")[1]
    assert len(notes) == 1
    assert notes[0].startswith("toy: out.csv: row 1 and 1 more: 1.44e+06 x the time that the data sheet of toy allows")


def test_different_conditions_of_two_files_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"m,n,k,dtype,time_us,library\n64,64,64,float,9,{name}\n")
    with pytest.raises(EstimatorError, match="library 'a' and 'b'"):
        import_measurements([tmp_path / "a", tmp_path / "b"], tmp_path / "out.csv")


def test_an_input_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(FAST)
    with pytest.raises(EstimatorError, match="an input itself"):
        import_measurements([tmp_path / "in.csv"], tmp_path / "in.csv")
    with pytest.raises(EstimatorError, match="there is no such file"):
        import_measurements([tmp_path / "none"], tmp_path / "new" / "out.csv")
    with pytest.raises(EstimatorError, match=r"above 1\.05 x"):
        import_measurements([tmp_path / "in.csv"], tmp_path / "new" / "out.csv", Declared(load_device("k20x")))
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


@pytest.mark.slow
def test_import_in_small_frames_gives_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = write_table(tmp_path / "in.csv", 0.05)
    unsplit = rows_of(import_measurements([tmp_path / "in.csv"], tmp_path / "whole.csv"))
    monkeypatch.setattr(csv_files, "ROWS_AT_ONCE", 7)
    result = import_measurements([tmp_path / "in.csv"], tmp_path / "parts.csv")
    assert len(unsplit) == result.survey["rows"].sum() == rows > 100
    pd.testing.assert_frame_equal(rows_of(result), unsplit)


def test_an_import_stops_at_the_first_refused_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that is refused stops the import before the rest of the file is read."""
    monkeypatch.setattr(csv_files, "ROWS_AT_ONCE", 10)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    written: list[int] = []

    def write() -> None:
        try:
            with pipe.open("w", buffering=1) as file:
                file.write(OWN)
                for number in range(1_000_000):
                    file.write("gemm,fp32,64,64,64,-1,lib\n")
                    written.append(number)
        except BrokenPipeError:
            return

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    frames = (MEASUREMENTS.conform(frame, "pipe") for frame in csv_files.csv_frames(pipe))
    with pytest.raises(EstimatorError, match="time_s is '-1'"):
        list(frames)
    writer.join(timeout=60)
    assert len(written) < 100_000


def test_duplicate_rows_have_a_note(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(NVIDIA_GEMM)
    once = import_measurements([tmp_path / "a.log"], tmp_path / "out.csv").notes
    twice = import_measurements([tmp_path / "a.log", tmp_path / "b.log"], tmp_path / "out.csv").notes
    assert [note for note in twice if note not in once] == [
        f"{tmp_path / 'out.csv'}: row 3 and 1 more: the very shape and time of a row before; "
        "check that nothing is given twice"
    ]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_files_that_name_a_device_and_files_that_do_not_are_refused_in_any_order(
    tmp_path: Path, order: tuple[int, int]
) -> None:
    texts = ("m,n,k,dtype,time_us\n64,64,64,float,9\n", "device,m,n,k,dtype,time_us\nv100,64,64,32,float,9\n")
    paths = [tmp_path / str(number) for number in order]
    for number, text in enumerate(texts):
        (tmp_path / str(number)).write_text(text)
    with pytest.raises(EstimatorError, match="some rows name a device"):
        import_measurements(paths, tmp_path / "out.csv")
    import_measurements(paths, tmp_path / "out.csv", Declared(device=load_device("v100")))
