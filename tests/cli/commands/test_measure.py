"""``estimator measure``: what it writes is a target at once, and a stopped run goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from estimator.core.schema import MEASUREMENTS
from estimator.devices import load_device
from estimator.devices.measurements import load_measurements
from tests.cli.command_line import read, run

SHAPES = "op_class,precision,m,n,k,bytes\ngemm,fp32,64,32,16,\nelementwise,fp32,,,,40000\n"
NUMPY = ("--backend", "numpy", "--relative-error", "50 %")


@pytest.fixture
def shapes(tmp_path: Path) -> Path:
    path = tmp_path / "shapes.csv"
    path.write_text(SHAPES)
    return path


@pytest.mark.slow
def test_the_written_device_is_a_target(tmp_path: Path, shapes: Path) -> None:
    name = tmp_path / "v1.5"
    document = read("measure", "--shapes", str(shapes), *NUMPY, "--budget", "15 s", "-o", str(name))
    assert {path.name for path in tmp_path.iterdir()} == {"shapes.csv", "v1.5.csv", "v1.5.yaml"}
    assert document["files"] == {"measurements": f"{name}.csv", "device": f"{name}.yaml"}
    assert (document["backend"], document["rows"]["gemm"] >= 2) == ("numpy", True)
    assert document["best"]["peak_flop_per_s"]["fp32"] > 1e6
    assert document["best"]["memory_bandwidth_b_per_s"] > 1e6
    spec = load_device(f"{name}.yaml")
    rows = load_measurements(spec, f"{name}.csv")
    assert set(rows["device"]) == {"v1.5"}
    assert set(rows.columns) >= set(MEASUREMENTS.names())
    wanted = rows[(rows["m"] == 64) & (rows["k"] == 16)]
    predicted = tmp_path / "times.csv"
    run("predict", str(shapes), "--on", f"{name}.yaml", "--measurements", f"{name}.csv", "--csv", str(predicted))
    times = pd.read_csv(predicted)
    assert times["method"].tolist() == ["measured", "measured"]
    assert times["time_s"].iloc[0] == pytest.approx(wanted["time_s"].iloc[0])
    run("devices", f"{name}.yaml", "--check")
    assert read("estimate", "p1b3", "--to", f"{name}.yaml")["step_s"]["mid"] > 0
    refused = run("measure", "--shapes", str(shapes), *NUMPY, "-o", str(name), code=1)
    assert "is there already" in refused.stderr


def test_files_of_others_are_not_deleted(tmp_path: Path, shapes: Path) -> None:
    notes = tmp_path / "mine.partial/notes.txt"
    notes.parent.mkdir()
    notes.write_text("precious")
    refused = run("measure", "--shapes", str(shapes), *NUMPY, "-o", str(tmp_path / "mine"), code=1)
    assert "mine.partial: holds something else" in refused.stderr
    assert notes.read_text() == "precious"
    assert [*notes.parent.iterdir()] == [notes]


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_measured(tmp_path: Path, shapes: Path) -> None:
    words = ("measure", "--shapes", str(shapes), *NUMPY, "--budget", "5 s", "-o", str(tmp_path / "mine"))
    started = subprocess.Popen(
        [sys.executable, "-m", "estimator", *words], stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # jobs in the background are deaf to it
    )  # fmt: skip
    partial = tmp_path / "mine.partial/measurements.csv.partial"
    while started.poll() is None and not (partial.exists() and partial.read_text().count("\n") > 2):
        time.sleep(0.01)
    for _ in range(2):  # pressed twice, it does no harm
        os.kill(started.pid, signal.SIGINT)
        time.sleep(0.02)
    errors = started.communicate(timeout=60)[1]
    assert started.returncode == 130, errors
    assert "the same command goes on" in errors
    assert "Traceback" not in errors
    kept = json.loads(partial.read_text().splitlines()[1])["rows"][0]["time_s"]
    assert {path.name for path in tmp_path.iterdir()} == {"shapes.csv", "mine.partial"}
    others = run("measure", "--quick", *NUMPY, "-o", str(tmp_path / "mine"), code=1)
    assert "holds a stopped run of other shapes" in others.stderr
    mixed = run(*(word.replace("50 %", "40 %") for word in words), "--threads", "1", code=1)
    assert "unlike conditions do not mix" in mixed.stderr
    run(*words)
    assert {path.name for path in tmp_path.iterdir()} == {"shapes.csv", "mine.csv", "mine.yaml"}
    assert repr(kept)[:10] in (tmp_path / "mine.csv").read_text()


def test_a_kit_is_written(tmp_path: Path) -> None:
    words = ("--profile", "p1b3", "--precision", "bf16", "--all-reduce", "4")
    document = read("measure", "--kit", str(tmp_path / "kit"), *words)
    assert [Path(path).name for path in document["written"]] == ["measure.py", "shapes.csv", "README.md", "schema.md"]
    shapes = pd.read_csv(tmp_path / "kit/shapes.csv")
    assert set(shapes.loc[shapes["k"] == 29532, "precision"]) == {"bf16"}
    assert set(shapes["ranks"].dropna()) == {4}
    assert {"launch", "copy"} < set(shapes["kernel"])


@pytest.mark.parametrize(("words", "precisions"), [((), {"fp32", "bf16"}), (("--precision", "fp16"), {"fp16"})])
def test_a_kit_without_shapes_calibrates(words: tuple[str, ...], precisions: set[str], tmp_path: Path) -> None:
    read("measure", "--kit", str(tmp_path / "kit"), *words)
    shapes = pd.read_csv(tmp_path / "kit/shapes.csv")
    products = shapes.iloc[: shapes["kernel"].first_valid_index()]
    per_precision = products.groupby("precision")["batch"].agg(
        plain=lambda b: (b == 1).sum(), batched=lambda b: (b > 1).sum()
    )
    assert per_precision.T.to_dict() == {p: {"plain": 30, "batched": 10} for p in precisions}
    assert {"launch", "copy"} < set(shapes["kernel"])


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("--backend", "abacus", "-o", "x"), 2, "abacus"),
        ((), 2, "-o is missing"),
        (("--deepbench", "--profile", "p1b3", "-o", "x"), 2, "give one of"),
        (("--budget", "10", "-o", "x"), 2, "write a time such as"),
        (("--relative-error", "0 %", "-o", "x"), 2, "above zero"),
        (("--profile", "p1b4", "-o", "x"), 1, "p1b3"),
        (("--shapes", "none.csv", "-o", "x"), 1, "there is no such file"),
        (("--relative-error", "100 %", "-o", "x"), 2, "below 100 %"),
        (("--precision", "bf16", "-o", "x"), 2, "--precision changes nothing"),
        (("--precision", "fp99", "--profile", "p1b3", "-o", "x"), 2, "fp99"),
        (("--kit", "kit", "--profile", "p1b3", "--quick"), 2, "--quick changes nothing"),
        (("--kit", "kit", "--profile", "p1b3", "--threads", "1"), 2, "--threads changes nothing"),
        (("--kit", "kit", "--profile", "p1b3", "-o", "x"), 2, "-o changes nothing"),
        (("--quick", *NUMPY, "-o", "."), 1, "is no name of a device"),
        (("--quick", *NUMPY, "-o", "-x"), 1, "is no name of a device"),
        (("--quick", *NUMPY, "-o", "missing/x"), 1, "there is no folder missing"),
        (("--quick", *NUMPY, "--threads", "9999", "-o", "x"), 1, "--threads is 9999"),
        (("--quick", *NUMPY, "--all-reduce", "2", "-o", "x"), 1, "--all-reduce needs PyTorch"),
    ],
)
def test_invalid_options_are_refused(tmp_path: Path, words: tuple[str, ...], code: int, sentence: str) -> None:
    assert sentence in run("measure", *words, code=code, cwd=tmp_path).stderr
    assert not list(tmp_path.iterdir())


def test_a_bad_row_is_named(tmp_path: Path, shapes: Path) -> None:
    shapes.write_text(SHAPES.replace("64,32,16", "64,,16"))
    done = run("measure", "--shapes", str(shapes), "-o", str(tmp_path / "mine"), code=1)
    assert "row 1: gemm needs m, n, k; add n" in done.stderr
    shapes.write_text(SHAPES.replace("bytes", "bytes,kernel").replace("40000", "40000,sum").replace("16,", "16,,"))
    done = run("measure", "--shapes", str(shapes), "-o", str(tmp_path / "mine"), code=1)
    assert f"{shapes}: row 2: kernel is sum; write one of add" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"shapes.csv"}
