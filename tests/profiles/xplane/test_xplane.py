"""XPlane dumps: profiles of real dumps and of small ones; bad input."""

import contextlib
import itertools
import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.types import Workload
from estimator.profiles import read_profile, xplane
from estimator.profiles.dump import Dump
from estimator.work import count_work
from tests.profiles.xplane.dumps import OP_STATS, accelerators, event, random_events, read_bytes, space
from tests.profiles.xplane.plain_reader import field

LAYERS = (29532, 1000, 500, 100, 50, 1)


PRODUCTS = 3 * 2 * 100 * sum(a * b for a, b in itertools.pairwise(LAYERS))


def test_shapes_precision_phase_and_steps(tmp_path: Path) -> None:
    names = ("train", "layer/MatMul:MatMul", "gradient_tape/layer/MatMul_1:_MklMatMul", "sgd/Sub:AssignSubVariableOp")
    events = [
        event(1, 0, 100, field(1, 1) + field(4, 0)),
        event(2, 1, 30, field(1, 2) + field(5, "(bfloat16[100,50];bfloat16[50,10])")),
        event(3, 31, 40, field(1, 2) + field(5, "(float[100,50];float[100,10])")),
        event(4, 80, 10, field(1, 2) + field(5, "(;float[50,10])")),
        event(1, 100, 100, field(1, 1) + field(4, 1)),
        event(2, 101, 50, field(1, 2) + field(5, "(bfloat16[100,50];bfloat16[50,10])")),
    ]
    profile = read_bytes(space([events], names), tmp_path)
    rows = profile.ops.set_index("op")
    assert profile.steps == 2
    assert profile.wall_step_s == pytest.approx(100e-12)
    assert profile.busy_step_s == pytest.approx(65e-12)
    assert rows.loc["layer/MatMul", ["shapes", "precision", "phase"]].tolist() == ["100x50;50x10", "bf16", "forward"]
    assert rows.at["layer/MatMul", "time_s"] == pytest.approx(40e-12)
    assert rows.at["gradient_tape/layer/MatMul_1", "phase"] == "backward"
    assert rows.loc["sgd/Sub", ["shapes", "phase"]].tolist() == ["unknown;50x10", "optimizer"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (space([[event(2, 5, -1)]]), "has a duration of -1 ps"),
        (space([[event(2, 5, 2**62)]]), "expected 0 to"),
        (space([[event(2, -(2**62), 1)]]), "has a start of"),
        (space([[event(6, 5, 1)]]), "no op was recorded"),
        (space([[event(2, 5, 0)]]), "no op took any time"),
        (space([[event(2, 5, 9)]])[:-40], "copy it again"),
        (space([[b"\x08"]]), "copy it again"),
        (field(1, field(2, "/host:CPU") + field(3, 7)), "expected a message"),
    ],
)
def test_bad_dumps_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match=message) as error:
        read_bytes(content, tmp_path)
    assert str(tmp_path / "t.xplane.pb") in str(error.value)


SMALL = space([random_events(random.Random(1), 8)])


@pytest.mark.slow
@given(st.binary(max_size=6), st.integers(0, len(SMALL)), st.integers(0, 6))
def test_only_estimator_errors_come_out_of_damaged_dumps(patch: bytes, at: int, cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.xplane.pb"
        path.write_bytes(SMALL[:at] + patch + SMALL[at + cut :])
        with contextlib.suppress(EstimatorError):
            xplane.read([Dump(path)], Workload(name="t"))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("kind", "steps"), [("tf2_plain_h2", 5), ("jax", 3)])
def test_steps_and_times_of_real_dumps(kind: str, steps: int, threads: int, public_data: Callable[[str], Path]) -> None:
    folder = public_data(f"profiles/p1b3_{kind}_t{threads}")
    manifest = json.loads((folder / "manifest.json").read_text())
    profiled = manifest.get("profiled_ms") or manifest["step_ms_profiled"]
    profile = read_profile(folder / "vm.xplane.pb", batch=100)
    assert profile.steps == steps
    assert profile.wall_step_s == pytest.approx(sum(profiled) / steps / 1e3, rel=0.02)
    if threads == 1:
        assert profile.ops["time_s"].sum() == pytest.approx(profile.wall_step_s, rel=0.02)


@pytest.mark.parametrize(
    ("folder", "less"),
    [
        ("p1b3_tf2_plain_h3_t1_tf216", 0),
        ("p1b3_tf2_xla_h3_t1", 2 * 100 * 50),  # a product of depth 1 is compiled to a multiplication
        ("p1b3_tf2_xla_h2_t2", 2 * 100 * 50),
        ("p1b3_jax_t1", 2 * 100 * 50),
        ("p1b3_jax_t2", 2 * 100 * 50),
    ],
)
def test_flop_of_real_dumps_with_shapes(folder: str, less: int, public_data: Callable[[str], Path]) -> None:
    profile = read_profile(public_data(f"profiles/{folder}") / "vm.xplane.pb", batch=100)
    work = count_work(profile.ops, profile.workload).work
    gemm = work[work["op_class"] == "gemm"]
    assert gemm["flop"].sum() == PRODUCTS - 2 * 100 * LAYERS[0] * LAYERS[1] - less  # no gradient of the input


@pytest.mark.parametrize("folder", ["p1b3_jax_t1", "p1b3_jax_t2"])
def test_the_program_of_jax_tells_parameters_and_states(folder: str, public_data: Callable[[str], Path]) -> None:
    dump = public_data(f"profiles/{folder}") / "vm.xplane.pb"
    workload = read_profile(dump, batch=100).workload
    assert workload.parameters == sum(a * b + b for a, b in itertools.pairwise(LAYERS))
    assert workload.optimizer_slots == 0  # plain gradient descent
    stated = xplane.read([Dump(dump)], Workload(name="toy", parameters=5, optimizer_slots=1)).workload
    assert (stated.parameters, stated.optimizer_slots) == (5, 1)


@pytest.mark.parametrize(
    ("more", "mode"), [(None, "inference"), ("gradient_tape/dense/MatMul:MatMul", "training"), ("x:Sum", "inference")]
)
def test_inference_is_distinguished_from_training(more: str | None, mode: str, tmp_path: Path) -> None:
    names = ("train", "dense/MatMul:MatMul", "dense/Relu:Relu", more or "other/Mul:Mul")
    events = [event(number, 10 * number, 9) for number in range(2, 5)]
    assert read_bytes(space([events], names), tmp_path).workload.mode == mode


def test_kernels_that_no_framework_names_are_of_a_training(tmp_path: Path) -> None:
    profile = read_bytes(accelerators({"Stream #1": [event(6, 0, 9)]}), tmp_path)
    assert (profile.workload.framework, profile.workload.mode) == (None, "training")


@pytest.mark.parametrize("folder", ["p1b3_tf2_xla_h3_t1", "p1b3_tf2_xla_h2_t2"])
def test_tensorflow_is_known_by_its_programs_of_xla(folder: str, public_data: Callable[[str], Path]) -> None:
    workload = read_profile(public_data(f"profiles/{folder}") / "vm.xplane.pb", batch=100).workload
    assert (workload.framework, workload.mode) == ("TensorFlow", "training")


def test_devices_of_one_process_are_its_ranks(tmp_path: Path) -> None:
    lines = [{"Stream #1": [event(2, 0, time, *OP_STATS)]} for time in (10, 30)]
    profile = read_bytes(accelerators(*lines), tmp_path)
    assert profile.ops["time_s"].tolist() == pytest.approx([20e-12])
    assert profile.ops["time_spread_s"].tolist() == pytest.approx([200**0.5 * 1e-12])
    assert profile.ops["calls"].tolist() == [1]
    assert "the step is the mean over 2 devices of this process" in str(profile.warnings)


def test_a_dump_that_was_saved_as_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match=r"damaged: a program saved it as UTF-8 text.* U\+FFFD"):
        read_bytes(SMALL.decode("utf-8", "replace").encode(), tmp_path)


def runs_and_marks(*runs: tuple[int, int], marks: int, later: int) -> bytes:
    """A host that calls a program in marks of 10 ns each; its runs, and another program's later one."""
    stats = ("step_num", "run_id", "program_id", "hlo_op")
    names = ("train", "dot.1", "copy.2")
    called = [event(1, 10**4 * at, 10**4, field(1, 1) + field(4, at)) for at in range(marks)]
    ran = [
        event(2, start, end - start, *(field(1, 2 + place) + value for place, value in enumerate(
            (field(4, number), field(4, 40), field(5, "dot.1"))
        ))) for number, (start, end) in enumerate(runs)
    ]  # fmt: skip
    ran.append(event(3, later, 10, field(1, 4) + field(5, "copy.2")))
    return space([called, ran], names, stats).replace(field(3, 10**18 + 7), field(3, 10**18))


def test_a_program_that_runs_behind_its_calls_sets_the_step(tmp_path: Path) -> None:
    runs = [(10**5 * at + 10, 10**5 * at + 99_010) for at in range(3)]
    profile = read_bytes(runs_and_marks(*runs, marks=3, later=10**6), tmp_path)
    assert (profile.steps, profile.ops["op"].tolist(), profile.ops["calls"].tolist()) == (3, ["dot.1"], [1.0])
    assert profile.wall_step_s == pytest.approx(100e-9)
    assert profile.busy_step_s == pytest.approx(99e-9)


def test_runs_without_marks_count_as_steps_and_are_noted(tmp_path: Path) -> None:
    profile = read_bytes(runs_and_marks((0, 80), (100, 180), marks=0, later=190), tmp_path)
    assert profile.steps == 2
    assert profile.wall_step_s == pytest.approx(90e-12)
    assert "each run of the program that ran longest counts as a step, 2 in all" in str(profile.warnings)


def test_turns_of_loops_over_steps_are_known_of_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xplane.ops, "turns_of_steps", lambda *_: 8)
    assert read_bytes(runs_and_marks((0, 80), (100, 180), marks=0, later=190), tmp_path).steps == 8


def test_refuses_marks_around_nothing(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="no op ran inside its steps"):
        read_bytes(runs_and_marks(marks=2, later=10**6), tmp_path)


def test_calls_of_the_function_that_took_longest_are_steps_without_marks(tmp_path: Path) -> None:
    names = ("EagerLocalExecute: __inference_train_1", "EagerLocalExecute: __inference_seed_2", "dense/MatMul:MatMul")
    calls = [event(2, 0, 10), *(event(1, 100 * n, 90) for n in (1, 2, 3))]
    profile = read_bytes(space([calls, [event(3, 60 * n, 30) for n in (1, 2, 3)]], names), tmp_path)
    assert profile.steps == 3
    assert profile.wall_step_s == pytest.approx(290e-12 / 3)
    assert profile.ops["time_s"].to_list() == pytest.approx([30e-12])
    assert "call of the function that took longest counts as a step, 3 in all" in str(profile.warnings)
