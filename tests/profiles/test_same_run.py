"""One and the same run in every format: totals within 2 %, and the same arithmetic to the last operation."""

import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from estimator.profiles import read_profile
from estimator.work import count_work

SCRIPT = Path(__file__).parent / "tensorflow_run.py"
BATCH, SIZES = 128, (2000, 1500, 800, 1)
FLOP = 3 * 2 * BATCH * sum(a * b for a, b in itertools.pairwise(SIZES)) - 2 * BATCH * SIZES[0] * SIZES[1]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dumps of a fresh run."""
    if importlib.util.find_spec("tensorflow") is None:
        pytest.skip("TensorFlow is not installed")
    folder = tmp_path_factory.mktemp("run")
    subprocess.run([sys.executable, str(SCRIPT), str(folder)], check=True, capture_output=True)
    (found,) = folder.rglob("*.xplane.pb")
    found.rename(folder / "both" / "host.xplane.pb")
    return folder


def matrix_flop(dump: Path) -> float:
    profile = read_profile(dump, batch=BATCH)
    work, _ = count_work(profile.ops, profile.workload)
    return float(work.loc[work["op_class"] == "gemm", "flop"].sum())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("session/run_metadata.pb", "session/profile"),
        ("session/run_metadata.pb", "session/op.txt"),
        ("session/last_step.pb", "session/timeline.json"),
        ("both/run_metadata.pb", "both/host.xplane.pb"),
    ],
)
def test_formats_agree(first: str, second: str, run: Path) -> None:
    totals = [read_profile(run / name, batch=BATCH).ops["time_s"].sum() for name in (first, second)]
    assert totals[0] == pytest.approx(totals[1], rel=0.02)
    assert matrix_flop(run / first) == matrix_flop(run / second) == FLOP


@pytest.mark.parametrize("name", ["session/timeline.json", "both/host.xplane.pb"])
def test_a_format_without_shapes_says_so(name: str, run: Path) -> None:
    (run / name).parent.joinpath("graph.csv").unlink()
    profile = read_profile(run / name, batch=BATCH)
    assert "matrix products state no shapes" in str(count_work(profile.ops, profile.workload)[1])
