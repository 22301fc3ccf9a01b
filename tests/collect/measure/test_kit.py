"""The vendor kit runs without this project."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from estimator.collect.measure import kit
from estimator.collect.measure.program import program
from estimator.core import csv_files, files
from estimator.core.errors import EstimatorError
from estimator.core.schema import MEASUREMENTS, SHAPES

ROWS = [
    {"op_class": "gemm", "precision": "fp32", "m": 8, "n": 4, "k": 2},
    {"op_class": "recurrent", "precision": "fp32"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    kit.write_kit(tmp_path / "kit", SHAPES.conform(pd.DataFrame(ROWS), "shapes"))
    return tmp_path / "kit"


def test_the_kit_has_the_same_program(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {"measure.py", "shapes.csv", "README.md", "schema.md"}
    assert (folder / "measure.py").read_text() == program()
    assert "estimator" not in (folder / "measure.py").read_text()
    assert "| time_s | number | s |" in (folder / "schema.md").read_text()


def test_the_kit_runs_without_this_project(folder: Path) -> None:
    blocked = "import runpy, sys; sys.modules['estimator'] = sys.modules['pandas'] = None; sys.argv[:1] = []; "
    program = f"{blocked}runpy.run_path('measure.py', run_name='__main__')"
    words = [sys.executable, "-W", "error", "-I", "-c", program, "measure.py", "--backend", "numpy", "--budget", "10"]
    nowhere = {**os.environ, "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    done = subprocess.run(words, cwd=folder, env=nowhere, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    rows = MEASUREMENTS.conform(csv_files.read_csv(folder / "measurements.csv"), "measurements.csv")
    assert rows[["m", "n", "k"]].to_numpy().tolist() == [[8, 4, 2]]
    assert rows["device"].isna().all()
    provenance = json.loads((folder / "provenance.json").read_text())
    assert provenance["left_out"] == {"2": "recurrent is not measured here"}
    for name in ("measure.py", "shapes.csv", "measurements.csv"):
        assert provenance["sha256"][name] == files.sha256(folder / name)
    assert {"threads", "clock", "command", "library", "python", "date", "device"} <= provenance.keys()


def test_a_folder_that_holds_something_is_not_overwritten(folder: Path) -> None:
    with pytest.raises(EstimatorError, match="not empty"):
        kit.write_kit(folder, SHAPES.conform(pd.DataFrame(ROWS), "shapes"))


def test_the_readme_is_one_page() -> None:
    assert len(kit.README.splitlines()) < 60
