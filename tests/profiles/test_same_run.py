"""The same run in every format: total times within 2 %, and exactly the same FLOP."""

import importlib.util
import itertools
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from estimator.profiles import read_profile
from estimator.work import count_work
from tests.conftest import MadeOnce, unpacked

DATA = Path(__file__).resolve().parents[1] / "data" / "same_run"  # made by SCRIPT; file names and other planes removed
SCRIPT, JAX = (Path(__file__).parent / name for name in ("tensorflow_run.py", "jax_run.py"))
BATCH, SIZES = 128, (2000, 1500, 800, 1)
FLOP = 3 * 2 * BATCH * sum(a * b for a, b in itertools.pairwise(SIZES)) - 2 * BATCH * SIZES[0] * SIZES[1]


@pytest.fixture(
    scope="module", params=["committed", pytest.param("fresh", marks=[pytest.mark.tensorflow, pytest.mark.slow])]
)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, made_once: MadeOnce) -> Path:
    """A copy of the dumps of the committed run, or of a fresh run."""
    dumps = DATA if request.param == "committed" else made_once("same-run", train)
    return Path(shutil.copytree(dumps, tmp_path_factory.mktemp("run"), dirs_exist_ok=True))


def train(folder: Path) -> None:
    subprocess.run([sys.executable, str(SCRIPT), str(folder)], check=True, capture_output=True)
    (path,) = folder.rglob("*.xplane.pb")
    path.rename(folder / "both" / "host.xplane.pb")


def dump(path: Path) -> Path:
    """The path of a dump, plain or gzip."""
    return path if path.exists() else path.with_name(f"{path.name}.gz")


def matrix_flop(path: Path) -> float:
    profile = read_profile(path, batch=BATCH)
    work = count_work(profile.ops, profile.workload).work
    return float(work.loc[work["op_class"] == "gemm", "flop"].sum())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("session/run_metadata.pb", "session/profile"),
        ("session/run_metadata.pb", "session/op.txt"),
        ("session/one_step.pb", "session/timeline.json"),
        ("both/run_metadata.pb", "both/host.xplane.pb"),
    ],
)
def test_time_and_flop_agree_between_formats(first: str, second: str, run: Path) -> None:
    totals = [read_profile(dump(run / name), batch=BATCH).ops["time_s"].sum() for name in (first, second)]
    assert totals[0] == pytest.approx(totals[1], rel=0.02)
    assert matrix_flop(dump(run / first)) == matrix_flop(dump(run / second)) == FLOP


@pytest.mark.parametrize("name", ["session/timeline.json", "both/host.xplane.pb"])
def test_a_format_without_shapes_gives_a_warning(name: str, run: Path) -> None:
    (run / name).parent.joinpath("graph.csv").unlink()
    profile = read_profile(dump(run / name), batch=BATCH)
    assert "matrix products state no shapes" in str(unpacked(count_work(profile.ops, profile.workload))[1])


def test_both_formats_of_jax_agree(tmp_path: Path) -> None:
    if importlib.util.find_spec("jax") is None:
        pytest.skip("JAX is not installed")
    process = subprocess.run([sys.executable, str(JAX), str(tmp_path)], check=True, capture_output=True, text=True)
    (xplane,), (trace,) = tmp_path.rglob("*.xplane.pb"), tmp_path.rglob("*.trace.json.gz")
    first, second = read_profile(xplane), read_profile(trace)
    assert first.steps == second.steps == 3
    assert first.ops["time_s"].sum() == pytest.approx(second.ops["time_s"].sum(), rel=0.02)
    assert first.wall_step_s == pytest.approx(second.wall_step_s, rel=0.02)
    assert matrix_flop(xplane) == pytest.approx(float(process.stdout), rel=0.01)
    assert "state no shapes" in str(unpacked(count_work(second.ops, second.workload))[1])
    assert first.workload.parameters == sum(a * b for a, b in itertools.pairwise((*SIZES[:-1], 16)))


def test_layers_of_jax_are_read_from_its_program(tmp_path: Path) -> None:
    """Gradients of weights, of convolutions with strides, groups and holes; arrays of a loop; weights and states."""
    pytest.importorskip("jax")
    from tests.profiles import jax_layers

    program = [sys.executable, jax_layers.__file__, str(tmp_path)]
    process = subprocess.run(program, check=True, capture_output=True, text=True)
    (xplane,) = tmp_path.rglob("*.xplane.pb")
    profile = read_profile(xplane)
    work = count_work(profile.ops, profile.workload).work
    assert (profile.workload.parameters, profile.workload.optimizer_slots) == (jax_layers.PARAMETERS, 1)
    turns = 3 * 2 * jax_layers.BATCH * jax_layers.WIDTH**2 * (jax_layers.TURNS - 1)  # XLA counts one turn of the loop
    assert work["flop"].sum() == pytest.approx(float(process.stdout) + turns, rel=0.05)
    of_weights = work[work["pass"] == "grad_weights"]
    assert sorted(of_weights["groups"]) == [1, 1, 4]
