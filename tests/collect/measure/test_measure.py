"""A run of the program: what is refused before it, what is written after it, and what it warns of."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from estimator.collect import measure
from estimator.collect.measure import Plan, child
from estimator.core.errors import EstimatorError
from estimator.core.schema import SHAPES
from estimator.devices import load_device

TABLE = """op_class,precision,batch,m,n,k,bytes,kernel,time_s,time_low_s,time_high_s,cache
gemm,fp32,1,64,32,16,,,1e-6,0.9e-6,1.1e-6,warm
movement,fp32,,,,,67108864,copy,5e-3,4e-3,6e-3,cold
"""
PROVENANCE: dict[str, Any] = {
    "backend": "numpy", "gpu": False, "cache": None, "date": "2026-11-30", "library": "numpy 2", "threads": 2,
    "device": {"name": "a processor", "memory": 2.0**34, "cache": 2.0**20, "units": 2, "max_clock": None},
    "clock": "2 GHz", "processor": "a processor", "system": "Linux",
    "left_out": {}, "load": 0.5, "disturbed_share": 0.0, "disturbed": [],
}  # fmt: skip


def shapes(m: int = 64) -> pd.DataFrame:
    return SHAPES.conform(pd.DataFrame([{"op_class": "gemm", "precision": "fp32", "m": m, "n": 32, "k": 16}]), "shapes")


class Program:
    """Stands in for the program: writes this table and provenance, or stops."""

    def __init__(self, table: str = TABLE, stop: BaseException | None = None, **provenance: object) -> None:
        self.table, self.stop, self.provenance = table, stop, PROVENANCE | provenance

    def __call__(self, options: Sequence[str], progress: object) -> None:
        self.options, output = options, Path(options[-1])
        if self.stop:
            raise self.stop
        output.write_text(self.table)
        output.with_name("provenance.json").write_text(json.dumps(self.provenance))


def run(program: Program, output: Path, monkeypatch: pytest.MonkeyPatch, m: int = 64) -> measure.Measured:
    monkeypatch.setattr(child, "run", program)
    return measure.measure(shapes(m), output, Plan(threads=2, budget_s=30.0), "estimator measure")


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_run_writes_a_table_and_a_device_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program()
    measured = run(program, tmp_path / "mine", monkeypatch)
    assert names(tmp_path) == {"mine.csv", "mine.yaml"}
    assert program.options[:-4] == [
        "--backend", "numpy", "--device", "auto", "--relative-error", "0.02", "--budget", "30.0", "--all-reduce", "0",
        "--threads", "2",
    ]  # fmt: skip
    assert set(measured.rows["device"]) == {"mine"}
    assert measured.warnings == ()
    bandwidth, peak = (load_device(measured.device).memory_bandwidth, load_device(measured.device).peak_of("fp32"))
    assert bandwidth is not None
    assert peak.vector is not None
    assert bandwidth.value == pytest.approx(67108864 / 5e-3, rel=1e-3)
    assert peak.vector.value == pytest.approx(2 * 64 * 32 * 16 / 1e-6, rel=1e-3)
    document = measured.document()
    assert document["rows"] == {"gemm": 1, "movement": 1}
    assert json.loads(json.dumps(document)) == document


def test_a_run_that_measured_nothing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EstimatorError, match="no library"):
        run(Program(stop=EstimatorError("no library")), tmp_path / "mine", monkeypatch)
    assert names(tmp_path) == set()


def test_a_stopped_run_keeps_its_rows_for_the_same_shapes_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = tmp_path / "mine.partial"
    partial.mkdir()
    (partial / "measurements.csv.partial").write_text("rows")
    with pytest.raises(KeyboardInterrupt):
        run(Program(stop=KeyboardInterrupt()), tmp_path / "mine", monkeypatch)
    assert {path.name for path in partial.iterdir()} == {"measurements.csv.partial", "shapes.csv"}
    with pytest.raises(EstimatorError, match="a stopped run of other shapes"):
        run(Program(), tmp_path / "mine", monkeypatch, m=65)
    run(Program(), tmp_path / "mine", monkeypatch)
    assert names(tmp_path) == {"mine.csv", "mine.yaml"}


def test_a_table_without_rows_is_reported_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = TABLE.splitlines()[0] + "\n"
    with pytest.raises(EstimatorError, match=r"nothing was measured \(the budget does not last\)"):
        run(Program(header, left_out={"row 1": "the budget does not last"}), tmp_path / "mine", monkeypatch)


@pytest.mark.parametrize(
    ("name", "message"),
    [("-x", "is no name of a device"), ("no/mine", "there is no folder"), ("old", "is there already")],
)
def test_an_output_that_cannot_be_written_is_refused_before_the_run(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old.yaml").write_text("name: old\n")
    with pytest.raises(EstimatorError, match=message):
        run(Program(stop=AssertionError()), tmp_path / name, monkeypatch)
    assert names(tmp_path) == {"old.yaml"}


@pytest.mark.parametrize(
    ("provenance", "warning"),
    [
        ({"left_out": {"row 1": "no tanh", "row 2": "no tanh"}}, "2 shapes left out: no tanh"),
        ({"load": 0.7}, "the machine was busy: load 0.7 before the run, on 2 threads"),
        ({"disturbed_share": 0.25}, "other processes disturbed 25 % of the samples"),
        ({"disturbed": ["add warm"]}, "1 rows hold samples alone that other processes disturbed: add warm"),
        ({"clock": ""}, "the machine does not tell its clock"),
    ],
)
def test_conditions_that_make_times_worse_are_warned_of(
    provenance: dict[str, Any], warning: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (given,) = run(Program(**provenance), tmp_path / "mine", monkeypatch).warnings
    assert warning in given


def test_times_that_vary_widely_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 4 to 6 ms of 5 ms is 40 %, from 4 to 7 ms is 60 %."""
    table = TABLE + TABLE.splitlines()[2].replace("copy", "add").replace("6e-3", "7e-3") + "\n"
    (given,) = run(Program(table), tmp_path / "mine", monkeypatch).warnings
    assert given == "1 of 3 rows vary by more than 50 % of their time; run nothing else meanwhile"


def test_a_back_end_that_is_not_there_is_refused() -> None:
    assert measure.chosen_backend("numpy") == "numpy"
    with pytest.raises(EstimatorError, match="estimator measure: the back end 'abacus' is not known"):
        measure.chosen_backend("abacus")


@pytest.mark.parametrize(
    ("backend", "device", "gpu", "tf32"),
    [("torch", "auto", True, True), ("torch", "cpu", True, False), ("torch", "auto", False, False),
     ("numpy", "auto", True, False)],
)  # fmt: skip
def test_fp32_comes_first_and_tf32_where_a_gpu_may_have_it(
    backend: str, device: str, gpu: bool, tf32: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "nvidia_gpu", lambda: {"name": "a GPU"} if gpu else {})
    first, *others = measure.precisions(backend, device)
    assert first == "fp32"
    assert "fp64" in others
    assert ("tf32" in others) is tf32


def test_a_row_that_the_program_would_refuse_is_named() -> None:
    measure.check_shapes(shapes(), "profile")
    with pytest.raises(EstimatorError, match="profile: row 1: n is missing; write a whole number"):
        measure.check_shapes(shapes().assign(n=pd.NA), "profile")
