"""Predictions of another batch size and of inference from one capture, against captures of those."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from estimator.core.schema import MATRIX
from estimator.core.types import Profile
from estimator.profiles import read_profile
from estimator.work import count_work, rebatch, select_pass
from tests.conftest import ROOT, MadeOnce, unpacked_by_kind

RUNS = {  # name → scale and two batch sizes; 100 is also a width of the first, its trap
    "p1b3": (0.1, 100, 32),
    "nt3": (0.02, 20, 64),
    "p3b2": (0.2, 100, 48),
}
pytestmark = [pytest.mark.slow, pytest.mark.tensorflow]


@pytest.fixture(scope="module")
def runs(made_once: MadeOnce) -> Path:
    return made_once("batches", capture_all)


def capture_all(folder: Path) -> None:
    wanted = [[name, scale, batch, "training"] for name, (scale, *batches) in RUNS.items() for batch in batches]
    wanted += [[name, *RUNS[name][:2], "inference"] for name in ("p1b3", "nt3")]
    command = [sys.executable, str(Path(__file__).with_name("batch_runs.py")), str(folder), json.dumps(wanted)]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def counted(profile: Profile) -> pd.DataFrame:
    return count_work(profile.ops, profile.workload).work


def amounts(work: pd.DataFrame) -> dict[str, float]:
    matrix = work["op_class"].isin(MATRIX)
    return {
        "products' FLOP": work.loc[matrix, "flop"].sum(),
        "products' bytes": work.loc[matrix, "bytes"].sum(),
        "other bytes": work.loc[~matrix, "bytes"].sum(),
        "optimizer's bytes": work.loc[work["phase"] == "optimizer", "bytes"].sum(),
    }


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("upwards", [True, False])
def test_rebatched_work_equals_a_capture_at_that_batch(name: str, upwards: bool, runs: Path) -> None:
    _, *batches = RUNS[name]
    before, after = batches if upwards else reversed(batches)
    profile, other = (read_profile(runs / f"{name}-{batch}-training") for batch in (before, after))
    sized, _, warnings = unpacked_by_kind(rebatch(counted(profile), profile.workload, after))
    predicted, expected = amounts(sized), amounts(counted(other))
    assert predicted["products' FLOP"] == expected["products' FLOP"]
    assert predicted["products' bytes"] == expected["products' bytes"]
    assert predicted == pytest.approx(expected, rel=1e-3)
    assert not warnings


@pytest.mark.parametrize("name", ["p1b3", "nt3"])
def test_the_forward_pass_of_training_is_inference(name: str, runs: Path) -> None:
    batch = RUNS[name][1]
    forward, _ = select_pass(read_profile(runs / f"{name}-{batch}-training"), "inference")
    inference = read_profile(runs / f"{name}-{batch}-inference")
    predicted, expected = amounts(counted(forward)), amounts(counted(inference))
    assert predicted["products' FLOP"] == expected["products' FLOP"]
    assert predicted == pytest.approx(expected, rel=0.01, abs=1000)
