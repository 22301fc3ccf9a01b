"""Times in another unit: a whole table is refused, single rows are left out, and the library's tables pass."""

from pathlib import Path

import pytest

from estimator.core import library
from estimator.core.errors import EstimatorError
from estimator.devices import load_device
from estimator.devices.measurements import read_measurements
from estimator.devices.measurements.implausible import are_implausible, time_ratios
from tests.conftest import make_device, make_measurements

HEADER = "op_class,precision,m,n,k,bytes,time_s,library,source"
SIZES = (512, 1024, 2048, 4096)


def lines(factor: float) -> list[str]:
    """Rows of products at half the peak of 10 TFLOP/s and streams at half the bandwidth of 500 GB/s."""
    products = [f"gemm,fp32,{m},{m},{m},,{factor * 2 * m**3 / 5e12:.6g},lib 1,me" for m in SIZES]
    return products + [f"elementwise,fp32,,,,{m * m},{factor * (m * m / 250e9 + 5e-6):.6g},lib 1,me" for m in SIZES]


def read(tmp_path: Path, rows: list[str]) -> tuple[int, tuple[str, ...]]:
    path = tmp_path / "toy.csv"
    path.write_text("\n".join([HEADER, *rows]))
    table, notes = read_measurements(make_device(), path)
    return len(table), notes


def test_plausible_times_pass(tmp_path: Path) -> None:
    assert read(tmp_path, lines(1)) == (8, ())


@pytest.mark.parametrize("factor", [1e3, 1e6, 1e-3])
def test_a_table_in_another_unit_is_refused_in_one_sentence(tmp_path: Path, factor: float) -> None:
    with pytest.raises(EstimatorError, match="time_s is in seconds, so check its unit, or the device") as caught:
        read(tmp_path, lines(factor))
    assert len(caught.value.faults) == 1


def test_one_row_alone_is_judged_too(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match=r"the median row takes 2e\+03 x the time"):
        read(tmp_path, lines(1e3)[3:4])


@pytest.mark.parametrize("factor", [1e3, 1e6])
def test_a_slow_row_among_others_is_left_out_with_a_note(tmp_path: Path, factor: float) -> None:
    count, (note,) = read(tmp_path, [*lines(1)[:3], *lines(factor)[3:4], *lines(1)[4:]])
    assert count == 7
    assert "toy.csv: row 4: 2e+0" in note
    assert "unlike the others, and left out; check the unit" in note


def test_a_stream_that_is_too_fast_is_left_out(tmp_path: Path) -> None:
    count, notes = read(tmp_path, [*lines(1)[:7], "elementwise,fp32,,,,1e9,2e-6,lib 1,me"])
    assert count == 7
    assert "row 8" in notes[0]


def test_what_runs_without_hardware_may_be_slow() -> None:
    device = make_device(peak={"fp32": "10 TFLOP/s", "fp16": "unsupported"})
    shape = {"op_class": "gemm", "m": 1024, "n": 1024, "k": 1024, "time_s": 1.0}
    rows = make_measurements([{**shape, "precision": "fp32"}, {**shape, "precision": "fp16"}])
    assert are_implausible(rows, time_ratios(rows, device), device).tolist() == [True, False]


@pytest.mark.parametrize("path", library.names("devices", "measurements/*.csv").values(), ids=lambda path: path.stem)
def test_no_row_of_the_library_is_left_out(path: Path) -> None:
    known = library.names("devices", "*.yaml")
    device = load_device(path.stem if path.stem in known else path.stem.rpartition(".")[0])
    assert not [note for note in read_measurements(device, path)[1] if "unlike the others" in note]
