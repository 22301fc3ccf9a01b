"""The sweep: stopped runs are resumed, and rows left out have a reason."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from estimator.collect.bench import library, sweep
from estimator.collect.bench.output import digest
from estimator.collect.bench.sweep import Sweep
from tests.collect.bench.runs import SHAPES, measure, read


def stopped_after(count: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let so many shapes be measured, then press Ctrl-C; gives what undoes it."""
    original, left = Sweep._measure, iter(range(count))

    def measured(self: Sweep, *arguments: Any) -> list[dict[str, Any]]:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return original(self, *arguments)

    monkeypatch.setattr(Sweep, "_measure", measured)
    return lambda: monkeypatch.setattr(Sweep, "_measure", original)


@pytest.mark.slow
def test_a_stopped_run_goes_on_where_it_stopped(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    undo = stopped_after(2, monkeypatch)
    assert measure(folder) == 130
    assert "goes on from here" in capsys.readouterr().err
    partial = folder / "out.csv.partial"
    assert {path.name for path in folder.iterdir()} == {"shapes.csv", partial.name}
    first = [row for line in partial.read_text().splitlines()[1:] for row in json.loads(line)["rows"]]
    with partial.open("a") as file:
        file.write('{"shape": 2, "rows": [{"time_s"')  # a crash in the middle of a line
    undo()
    assert measure(folder) == 0
    rows = read(folder / "out.csv")
    assert [float(row["time_s"]) for row in rows[: len(first)]] == [row["time_s"] for row in first]
    assert not partial.exists()
    provenance = json.loads((folder / "provenance.json").read_text())
    assert provenance["sha256"]["out.csv"] == digest(folder / "out.csv")
    assert list(provenance["left_out"].values()) == ["numpy has no gelu"]


@pytest.mark.parametrize("words", [("--relative-error", "0.4"), ("--threads", "99")])
def test_different_conditions_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    undo = stopped_after(1, monkeypatch)
    assert measure(folder) == 130
    undo()
    assert measure(folder, *words) == 1
    assert "unlike conditions do not mix" in capsys.readouterr().err
    assert not (folder / "out.csv").exists()


def test_different_shapes_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undo = stopped_after(1, monkeypatch)
    assert measure(folder) == 130
    undo()
    assert measure(folder, shapes=SHAPES.replace("16,t", "17,t")) == 1


def test_a_spent_budget_leaves_out_the_remaining_rows(folder: Path) -> None:
    assert measure(folder, "--budget", "1e-9") == 0
    reasons = json.loads((folder / "provenance.json").read_text())["left_out"].values()
    assert set(reasons) == {"the budget of 1e-09 s does not last for it"}


@pytest.mark.parametrize(("free", "fits"), [(1.2e6, False), (1.3e6, True)])
def test_shapes_beyond_the_memory_are_left_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch, free: float, fits: bool
) -> None:
    monkeypatch.setattr(sweep, "memory", lambda key: free)
    assert measure(folder, shapes="op_class,precision,bytes\nmovement,fp32,1e6\n") == 0
    left_out = json.loads((folder / "provenance.json").read_text())["left_out"]
    assert left_out == ({} if fits else {"1": "needs 0.001 GB of memory; there is 0.0012 GB"})


def test_rows_left_out_by_an_option_stay_open(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = "op_class,precision,m,n,k\ngemm,fp32,8,8,8\n" + "gemm,fp32,4,4,4\n" * 2
    undo = stopped_after(1, monkeypatch)
    monkeypatch.setattr(sweep, "memory", lambda key: {"MemTotal": 1e9, "MemAvailable": 1.0}[key])
    assert measure(folder, shapes=shapes) == 130
    undo()
    monkeypatch.setattr(sweep, "memory", lambda key: 1e9)
    assert measure(folder, shapes=shapes) == 0
    assert json.loads((folder / "provenance.json").read_text())["left_out"] == {}


def test_disturbed_rows_are_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "stopwatch", lambda: lambda: (1e-3, True))
    assert measure(folder, "--budget", "0.2", shapes="op_class,precision,m,n,k\ngemm,fp32,8,4,2\n") == 0
    about = json.loads((folder / "provenance.json").read_text())
    assert (about["disturbed"], about["disturbed_share"]) == (["gemm fp32 1 8 4 2 n n"], 1.0)
    assert len(read(folder / "out.csv")) == 1


@pytest.mark.parametrize(("precision", "why"), [("bf16", "numpy has no bf16"), ("fp32", "to fp32 is not measured")])
def test_a_cast_that_is_none_or_that_nothing_here_can(folder: Path, precision: str, why: str) -> None:
    assert measure(folder, shapes=f"op_class,precision,kernel,bytes\nelementwise,{precision},cast,6000\n") == 0
    assert why in json.loads((folder / "provenance.json").read_text())["left_out"]["1"]


@pytest.mark.slow
def test_an_operator_is_timed_by_its_own_kernel_where_the_library_has_one(folder: Path) -> None:
    shapes = "op_class,operator,precision,bytes\nelementwise,sigmoid,fp32,8000\nelementwise,gelu,fp32,12000\n"
    assert measure(folder, shapes=shapes) == 0
    rows = [(row["operator"], row["kernel"]) for row in read(folder / "out.csv") if row["cache"] == "warm"]
    assert rows == [("sigmoid", "sigmoid"), ("gelu", "add")]
