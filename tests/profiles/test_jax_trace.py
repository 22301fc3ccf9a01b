import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, Workload
from estimator.profiles import jax_trace, xplane
from estimator.profiles.dump import Dump

Event = dict[str, Any]


def op(name: str, ts: float, dur: float, tid: int = 1, pid: int = 1, **args: Any) -> Event:
    named = {"hlo_op": name, "hlo_module": "jit_step", **args}
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": named}


def read(tmp_path: Path, *events: Event) -> Profile:
    path = tmp_path / "vm.trace.json.gz"
    whole = {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": [*events, {}]}
    path.write_bytes(gzip.compress(json.dumps(whole).encode()))
    return jax_trace.read([Dump(path)], Workload(name="toy"))


@pytest.mark.parametrize("sample", ["p1b3_jax_t1", "p1b3_jax_t2"])
def test_steps_and_times_of_real_traces(sample: str, public_data: Callable[[str], Path]) -> None:
    path = public_data(f"profiles/{sample}/vm.trace.json.gz")
    assert jax_trace.recognises(Dump(path).head)
    profile = jax_trace.read([Dump(path)], Workload(name="p1b3"))
    measured = sum(json.loads(path.with_name("manifest.json").read_text())["step_ms_profiled"]) / 3000
    assert profile.steps == 3
    assert profile.wall_step_s == pytest.approx(measured, rel=0.02)
    assert 0 < float(profile.busy_step_s or 0) <= float(profile.wall_step_s or 0)
    assert set(profile.ops["calls"]) == {1.0}
    assert profile.ops.loc[profile.ops["op"] == "dot.2", "op_type"].item() == "dot"
    assert profile.ops["shapes"].isna().all()
    assert any("no operand shapes" in warning for warning in profile.warnings)


def test_agrees_with_the_xplane_of_the_same_run(public_data: Callable[[str], Path]) -> None:
    folder, workload = public_data("profiles/p1b3_jax_t1"), Workload(name="p1b3")
    trace = jax_trace.read([Dump(folder / "vm.trace.json.gz")], workload)
    plane = xplane.read([Dump(folder / "vm.xplane.pb")], workload)
    assert trace.steps == plane.steps
    assert trace.wall_step_s == pytest.approx(plane.wall_step_s, rel=1e-6)
    assert trace.busy_step_s == pytest.approx(plane.busy_step_s, rel=1e-6)
    totals = (profile.ops.groupby("op")["time_s"].sum().to_dict() for profile in (trace, plane))
    assert next(totals) == pytest.approx(next(totals), rel=1e-6)


def test_steps_are_the_runs_of_the_longest_module(tmp_path: Path) -> None:
    small = [op("copy.1", 61 + i, 0.5, run_id=f"-{i}", hlo_module="jit_copy") for i in range(5)]
    profile = read(
        tmp_path, op("while", 10, 50, run_id="1"), op("dot", 15, 20, run_id="1"), *small, op("dot", 70, 50, run_id="2")
    )
    assert profile.steps == 2
    assert profile.wall_step_s == pytest.approx(55e-6)  # half of what passes from the first run's start
    times = profile.ops.set_index("op")["time_s"]
    assert times.to_dict() == pytest.approx({"while": 15e-6, "dot": 35e-6, "copy.1": 1.25e-6})


def test_runs_of_an_evaluation_are_no_part_of_the_steps(tmp_path: Path) -> None:
    steps = [op("dot", 10 * i, 5, run_id=f"{i}") for i in range(4)]
    evaluation = [op("dot.1", 50 + 4 * i, 4, run_id=f"-{i}", hlo_module="jit_eval") for i in range(3)]
    profile = read(tmp_path, *steps, *evaluation)
    assert (profile.steps, profile.ops["op"].tolist()) == (4, ["dot"])


@pytest.mark.parametrize(
    ("module", "framework"),
    [("jit_step", "JAX"), ("cluster_0__XlaCompiledKernel_true", "TensorFlow"), ("SyncTensorsGraph.12", None)],
)
def test_the_framework_is_recognised_by_the_names_of_programs(
    tmp_path: Path, module: str, framework: str | None
) -> None:
    assert read(tmp_path, op("dot.1", 0, 5, hlo_module=module)).workload.framework == framework


def test_annotated_steps_outrank_runs_of_modules(tmp_path: Path) -> None:
    steps = [{**op("train", 100 * i, 80), "args": {"step_num": str(i)}} for i in range(3)]
    profile = read(tmp_path, *steps, op("dot", 10, 30, run_id="1"))
    assert profile.steps == 3
    assert profile.wall_step_s == pytest.approx(280e-6 / 3)  # the time between steps is of them
    unmarked = read(tmp_path, op("dot", 10, 30))
    assert unmarked.steps == 1
    assert unmarked.wall_step_s == pytest.approx(30e-6)
    assert any("--steps" in warning for warning in unmarked.warnings)


@pytest.mark.parametrize(("train", "evaluation"), [(80, 20), (20, 80)])
def test_steps_are_those_of_the_name_that_lasts_longest(tmp_path: Path, train: float, evaluation: float) -> None:
    def marked(name: str, first: int, count: int, lasts: float) -> list[Event]:
        return [{**op(name, first + 100 * i, lasts), "args": {"step_num": str(i)}} for i in range(count)]

    marks = [*marked("train", 0, 3, train), *marked("eval", 300, 2, evaluation)]
    profile = read(tmp_path, *marks, op("dot", 10, 30), op("dot", 310, 30))
    count, wall = (3, 200 + train) if 3 * train > 2 * evaluation else (2, 100 + evaluation)
    assert profile.steps == count
    assert profile.wall_step_s == pytest.approx(wall * 1e-6 / count)
    assert profile.ops["calls"].tolist() == pytest.approx([1 / count])  # what ran in the other marks is left out
    assert "marks have several names" in str(profile.warnings)


def marks(count: int, lasts: float, every: float) -> list[Event]:
    return [{**op("train", every * i, lasts), "args": {"step_num": str(i)}} for i in range(count)]


def named(pid: int, name: str, tid: int | None = None) -> Event:
    kind = "process_name" if tid is None else "thread_name"
    return {"ph": "M", "pid": pid, "tid": tid, "name": kind, "args": {"name": name}}


def test_the_step_of_a_gpu_that_lags_behind_the_marks_is_its_own(tmp_path: Path) -> None:
    """The host launches each step within 10 µs, the GPU takes 100 µs; one kernel is older, one was launched later."""
    launches = [op("dot", 10 * i + 2, 1, correlation_id=str(i + 1)) for i in range(5)]
    kernels = [op("dot", 100 * i + 20, 98, pid=2, correlation_id=str(i + 1)) for i in range(5)]
    early = op("early", 0, 15, pid=2, correlation_id="99")
    profile = read(tmp_path, *marks(4, 10, 10), *launches, *kernels, early, named(2, "/device:GPU:0"))
    assert profile.steps == 4
    assert profile.wall_step_s == pytest.approx(100e-6)
    assert profile.busy_step_s == pytest.approx(98e-6)
    assert profile.ops[["op", "calls"]].to_numpy().tolist() == [["dot", 1.0]]
    assert "22 % of the ops' time lies outside the steps" in str(profile.warnings)


def test_marks_in_which_nothing_was_launched_are_no_steps(tmp_path: Path) -> None:
    launch, kernel = op("dot", 2, 1, correlation_id="1"), op("dot", 5, 30, pid=2, correlation_id="1")
    profile = read(tmp_path, *marks(3, 100, 100), launch, kernel, named(2, "/device:GPU:0"))
    assert (profile.steps, profile.ops["calls"].tolist()) == (1, [1.0])
    assert profile.wall_step_s == pytest.approx(100e-6)


def test_the_step_of_a_program_that_runs_behind_its_calls_is_its_own(tmp_path: Path) -> None:
    runs = [op("dot", 100 * i + 1, 98, run_id=str(i)) for i in range(3)]
    profile = read(tmp_path, *marks(3, 10, 10), *runs, op("later", 1000, 50))
    assert (profile.steps, profile.ops["op"].tolist()) == (3, ["dot"])
    assert profile.wall_step_s == pytest.approx(100e-6)


@pytest.mark.parametrize("count", [2, 4])
def test_runs_that_no_mark_explains_are_of_the_step_in_which_they_begin(count: int, tmp_path: Path) -> None:
    runs = [op("dot", 100 * i + 1, 98, run_id=str(i)) for i in range(count)]
    profile = read(tmp_path, *marks(3, 100, 100), *runs)
    assert profile.wall_step_s == pytest.approx(100e-6)
    assert profile.ops["calls"].tolist() == pytest.approx([min(count, 3) / 3])


def test_the_steps_of_an_accelerators_own_line_come_first(tmp_path: Path) -> None:
    own = [{**op(str(i), 50 + 100 * i, 90, pid=2, tid=3), "args": {}} for i in range(3)]
    kernels = [op("dot", start, 40, pid=2) for start in (0, 60, 160, 260, 400)]
    lines = [named(2, "/device:TPU:0"), named(2, "XLA Ops", 1), named(2, "Steps", 3)]
    profile = read(tmp_path, *marks(3, 10, 10), *own, *kernels, *lines)
    assert (profile.steps, profile.ops["calls"].tolist()) == (3, [1.0])
    assert profile.wall_step_s == pytest.approx(100e-6)


def test_all_ops_of_an_accelerator_count_where_nobody_knows_what_launched_them(tmp_path: Path) -> None:
    kernels = [op("dot", start, 40, pid=2) for start in (5, 60)]
    profile = read(tmp_path, *marks(2, 10, 10), *kernels, named(2, "/device:GPU:0"))
    assert profile.ops["calls"].tolist() == [1.0]


def test_refuses_marks_around_nothing(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="no op ran inside its steps"):
        read(tmp_path, *marks(2, 10, 10), op("dot", 50, 5))


def test_runs_that_stand_for_steps_are_named(tmp_path: Path) -> None:
    profile = read(tmp_path, op("dot", 10, 30, run_id="1"), op("dot", 50, 30, run_id="2"))
    assert "each run of the program that ran longest counts as a step, 2 in all" in str(profile.warnings)


def test_crossing_ops_give_a_warning(tmp_path: Path) -> None:
    assert any("1 ops end after" in warning for warning in read(tmp_path, op("a", 0, 10), op("b", 5, 10)).warnings)
    assert not any("end after" in warning for warning in read(tmp_path, op("a", 0, 10), op("b", 5, 5)).warnings)


def test_refuses_times_whose_sum_overflows_64_bits(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match=r"trace\.json\.gz: its ops last"):
        read(tmp_path, *(op("a", 0, 4.4e12, tid=tid) for tid in range(5)))


def test_placement_is_missing_without_a_process_name(tmp_path: Path) -> None:
    named: Event = {"ph": "M", "pid": 1, "name": "process_name"}
    assert read(tmp_path, named, op("dot", 1, 2)).ops["placement"].isna().all()


def test_ops_of_an_accelerator_come_from_its_op_line_alone(tmp_path: Path) -> None:
    names: list[Event] = [
        {"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "/device:TPU:0"}},
        {"ph": "M", "pid": 2, "tid": 1, "name": "thread_name", "args": {"name": "XLA Ops"}},
    ]
    plain = {"ph": "X", "name": "fusion.3", "pid": 2, "tid": 1, "ts": 5, "dur": 4}
    host = op("fusion.3", 0, 40, pid=1)
    profile = read(tmp_path, op("fusion.3", 5, 4, tid=2, pid=2), host, plain, *names)
    assert profile.ops[["op", "placement", "calls"]].values.tolist() == [["fusion.3", "/device:TPU:0", 1.0]]


def test_a_trace_that_was_cut_off_gives_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax_trace, "MOST_EVENTS", 2)
    assert any(
        "the limit of its tool" in warning for warning in read(tmp_path, op("dot", 1, 2), op("dot", 4, 2)).warnings
    )


def test_refuses_a_trace_without_ops(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="no event in it is an op of XLA"):
        read(tmp_path, {"ph": "X", "name": "python", "ts": 1, "dur": 2})


@given(st.binary(max_size=50))
def test_damaged_traces_raise_only_estimator_errors(tail: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vm.trace.json"
        path.write_bytes(b'{"traceEvents":[{"ph":"X","ts":1,"dur":2,"args":{"hlo_op":"a"}}' + tail)
        try:
            jax_trace.read([Dump(path)], Workload(name="toy"))
        except EstimatorError as error:
            assert "vm.trace.json" in str(error)


def test_recognises_no_other_format() -> None:
    for other in (b"", b"{}", b'{"traceEvents": [{"cat": "cpu_op"}]}', b'"hlo_op":'):
        assert not jax_trace.recognises(other)


def test_rows_are_in_the_order_of_the_program(tmp_path: Path) -> None:
    assert read(tmp_path, op("last", 50, 5), op("first", 10, 5), op("next", 20, 5)).ops["op"].tolist() == [
        "first", "next", "last",
    ]  # fmt: skip
