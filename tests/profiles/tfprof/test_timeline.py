import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from estimator.core.types import Profile
from estimator.profiles import read_profile
from estimator.profiles.tfprof import timeline
from tests.profiles.tensorflow_dumps import CPU, GPU, damaged, read_or_refuse, refusal


def process(pid: int, name: str) -> dict[str, Any]:
    return {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}


def op(node: str, kernel: str, ts: float, dur: object, pid: int = 1, tid: int = 0, **other: Any) -> dict[str, Any]:
    args = {"name": node, "op": kernel}
    return {"ph": "X", "cat": "Op", "name": kernel, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args} | other


def scope(name: str, depth: int, ts: float, dur: float) -> dict[str, Any]:
    return op(name, name, ts, dur, pid=depth)


EPOCH = 1_795_217_481_651_460
STEP = [process(1, f"{CPU} Compute"), op("d/Relu", "_FusedMatMul", EPOCH, 7), op("b", "Const", EPOCH + 5, 3, tid=1)]
TREE = [
    *(process(depth, f"Scope:{depth}") for depth in range(3)),
    scope("_TFProfRoot", 0, 0, 20),
    scope("gradients", 1, 0, 15),
    scope("gradients/MatMul_1", 2, 0, 15),
    scope("MatMul", 1, 15, 4),
]


def content(events: object) -> bytes:
    return json.dumps({"traceEvents": events}).encode()


def read(tmp_path: Path, events: object) -> Profile:
    path = tmp_path / "timeline.json"
    path.write_bytes(content(events))
    return read_profile(path)


def test_ops_and_times_of_a_session_step(tmp_path: Path) -> None:
    profile = read(tmp_path, STEP)
    row = profile.ops.set_index("op").loc["d/Relu"]
    assert (row["op_type"], row["kernel"], row["placement"]) == ("_FusedMatMul", "_FusedMatMul", CPU)
    assert row["time_s"] == pytest.approx(7e-6)
    assert profile.wall_step_s == profile.busy_step_s == pytest.approx(8e-6)
    assert profile.ops["shapes"].isna().all()
    assert "no shapes" in profile.warnings[0]
    assert profile.workload.framework == "TensorFlow"


def test_begin_and_end_are_one_event(tmp_path: Path) -> None:
    begin = op("a", "Add", 10, None, ph="B")
    inside = op("b", "Mul", 11, 2)
    end = {"ph": "E", "pid": 1, "tid": 0, "ts": 15, "name": "Add"}
    times = read(tmp_path, [begin, inside, end]).ops.set_index("op")["time_s"]
    assert (times["a"], times["b"]) == (pytest.approx(3e-6), pytest.approx(2e-6))


def test_self_times_of_ops_in_scopes(tmp_path: Path) -> None:
    profile = read(tmp_path, TREE)
    ops = profile.ops.set_index("op")
    assert dict(ops["op_type"]) == {"gradients/MatMul_1": "MatMul", "MatMul": "MatMul", "unlisted": "unlisted"}
    assert ops["time_s"].sum() == pytest.approx(20e-6)
    assert ops.loc["unlisted", "time_s"] == pytest.approx(1e-6)
    assert dict(ops["phase"]) == {"gradients/MatMul_1": "backward", "MatMul": "forward", "unlisted": "forward"}
    assert any("no optimizer" in warning for warning in profile.warnings)
    assert profile.workload.framework == "TensorFlow"


def test_tfprofs_graph_timeline_has_no_types(tmp_path: Path) -> None:
    row = read(tmp_path, [op("d/MatMul_1", "d/MatMul_1", 1, 5, args={"name": "d/MatMul_1"})]).ops.iloc[0]
    assert (row["op"], row["op_type"]) == ("d/MatMul_1", "MatMul")


def test_each_kernel_of_a_gpu_counts_once(tmp_path: Path) -> None:
    devices = [process(i, f"{name} Compute") for i, name in enumerate((GPU, "/gpu:0/stream:all", "/gpu:0/stream:7"))]
    launch = op("a", "MatMul", 1, 9, pid=0)
    kernels = [op("a", "MatMul", ts, 3, pid=pid) for pid in (1, 2) for ts in (2, 6)]
    profile = read(tmp_path, [*devices, launch, *kernels])
    assert (profile.ops["calls"].item(), profile.ops["time_s"].item()) == (1, pytest.approx(6e-6))
    assert "launching" in profile.warnings[1]


def test_a_kernel_s_name_is_no_op_type(tmp_path: Path) -> None:
    node, stream = "conv/Conv2D", process(1, "/gpu:0/stream:all")
    names = ("scudnn_winograd_128x128", "scudnn_winograd_128x128", "void tensorflow::Pad")
    kernels = [op(node, name, 10 * i, 9 - i) for i, name in enumerate(names)]
    (tmp_path / "graph.csv").write_text(f"op,op_type,shapes\n{node},Conv2D,1x9x9x3;3x3x3x8\n")
    ops = read(tmp_path, [stream, *kernels, op("a/MatMul", "MatMul", 40, 2)]).ops.set_index("kernel")
    assert ops.loc[names[0], ["op_type", "shapes"]].tolist() == ["Conv2D", "1x9x9x3;3x3x3x8"]
    assert ops.loc[names[2], "attributes"] == "helper=1"
    assert ops.loc[names[2], ["shapes", "op_type"]].isna().all()
    assert ops.loc["MatMul", "op_type"] == "MatMul"


def test_the_kernel_comes_from_args(tmp_path: Path) -> None:
    args = {"name": "a/MatMul", "op": "MatMul", "kernel": "Cijk_Ailk_Bljk_SB"}
    row = read(tmp_path, [process(1, "/gpu:0/stream:all"), op("", "MatMul", 1, 5, args=args)]).ops.iloc[0]
    assert (row["op_type"], row["kernel"]) == ("MatMul", "Cijk_Ailk_Bljk_SB")


def test_crossing_ops_give_a_warning(tmp_path: Path) -> None:
    crossing = [op("a", "Add", 0, 10), op("b", "Mul", 5, 10)]
    assert any("1 ops end after" in warning for warning in read(tmp_path, crossing).warnings)
    tree = [process(1, "Scope:1"), scope("a", 1, 0, 10), scope("b", 1, 5, 10)]
    assert any("1 ops end after" in warning for warning in read(tmp_path, tree).warnings)
    assert not any("end after" in warning for warning in read(tmp_path, STEP).warnings)


def test_a_scope_of_any_depth_is_read(tmp_path: Path) -> None:
    deep = [process(1, "Scope:" + "9" * 5000), op("a", "Add", 1, 2)]
    assert read(tmp_path, deep).ops["op_type"].item() == "Add"


@pytest.mark.parametrize(
    ("dump", "words"),
    [
        (b"", "the file is empty"),
        (content(STEP)[:-9], "this JSON cannot be read"),
        (content([op("a", "Add", 1, -2)]), "event 0: 'a' lasts -2 us"),
        (content([op("a", "Add", 1, 1e300)]), "event 0: 'a' lasts 1e+300 us"),
        (content([op("a", "Add", 1, 2), op("b", "Add", 1e300, 2)]), "its ops span more than"),
        (content([op("a", "Add", 1, 9e11, tid=tid) for tid in range(9)]), "its ops last 8.1e+06 s in all"),
        (content([op("a", "Add", 1, 10**400)]), "event 0: its dur is 1000"),
        (content([op("a", "Add", 1, float("nan"))]), "NaN is no number"),
        (content([op("a", "Add", 1, "2")]), "event 0: its dur is a text; expected a number"),
        (content([op("a", "Add", 1, 2, args=[])]), "event 0 is of category Op but has no name"),
        (content([op("a", "Add", 1, 2), 7]), "event 1 is a number; expected an object"),
        (content([op("a", "Add", 1, 2, ph="B")]), "event 0 begins 'Add', which never ends"),
        (content([op("a", "Add", 1, 2, ph="E")]), "event 0 ends 'Add', which never began"),
        (content([op("a", "Add", 1, 0)]), "no op took any time"),
        (content([op("a", "Add", 1, 2, ph="N")]), "no event in it is an op"),
        (b'{"traceEvents": 5, "cat": "Op"}', "expected a list of traceEvents"),
        (b'{"cat": "Op", "traceEvents": ' + b"[" * 200_000, "nested too deeply"),
        (content([process(0, "Scope:0"), scope("a.py:18:<module>", 0, 0, 5)]), "lines of code, not ops"),
    ],
)
def test_faults_are_named_in_one_sentence(tmp_path: Path, dump: bytes, words: str) -> None:
    assert words in refusal(tmp_path / "timeline.json", dump)


@pytest.mark.parametrize(
    "head",
    [
        b'{"traceEvents": [{"cat": "cpu_op", "args": {}}]}',
        b'{"traceEvents": [{"cat": "Operator"}]}',
        b'op "cat": "Op"',
        b"\xff\xfe",
        b"",
    ],
)
def test_other_traces_are_not_recognised(head: bytes) -> None:
    assert not timeline.recognises(head)


@pytest.mark.slow
@given(dump=damaged(content(STEP)) | damaged(content(TREE)))
def test_a_damaged_dump_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, dump: bytes) -> None:
    read_or_refuse(timeline, tmp_path_factory.mktemp("damaged") / "timeline.json", dump)


@pytest.mark.parametrize("threads", [1, 2])
def test_real_dumps_agree_with_the_same_steps_metadata(public_data: Callable[[str], Path], threads: int) -> None:
    folder = public_data(f"profiles/p1b3_tf1_t{threads}")
    step, metadata = (read_profile(folder / name) for name in ("timeline.json", "run_metadata.pb"))
    assert step.ops["time_s"].sum() == pytest.approx(metadata.ops["time_s"].sum(), rel=0.02)
    assert step.wall_step_s == pytest.approx(metadata.wall_step_s, rel=0.001)
    assert step.busy_step_s == pytest.approx(metadata.busy_step_s, rel=0.005)


@pytest.mark.parametrize("threads", [1, 2])
def test_tfprofs_timeline_is_a_step_without_its_updates(public_data: Callable[[str], Path], threads: int) -> None:
    folder = public_data(f"profiles/p1b3_tf1_t{threads}")
    tree, steps = (read_profile(folder / name) for name in ("tfprof_timeline_2", "run_metadata_5steps.pbs"))
    rest = steps.ops[~steps.ops["op_type"].eq("ApplyGradientDescent")]
    spread = 3 * rest["time_spread_s"].sum()  # one step against the mean of five
    assert tree.ops["time_s"].sum() == pytest.approx(rest["time_s"].sum(), abs=spread)
    assert any("no optimizer" in warning for warning in tree.warnings)


def test_rows_are_in_the_order_of_the_program(tmp_path: Path) -> None:
    ops = [op(name, "Mul", EPOCH + ts, 2) for name, ts in {"c": 9, "a": 1, "b": 5}.items()]
    assert read(tmp_path, [process(1, f"{CPU} Compute"), *ops]).ops["op"].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("category", ["Op", "Tensor", "DataFlow"])
def test_a_timeline_is_recognised_whatever_its_first_events_are(category: str) -> None:
    """Tensors stand first, for megabytes, where a timeline shows their memory."""
    assert timeline.recognises(f'{{"traceEvents": [{{"name": "x", "ph": "N", "cat": "{category}"}}'.encode())


@pytest.mark.parametrize(("node", "mode"), [("d/MatMul", "inference"), ("gradients/d/MatMul", "training")])
def test_inference_is_distinguished_from_training(node: str, mode: str, tmp_path: Path) -> None:
    assert read(tmp_path, [*STEP, op(node, "MatMul", EPOCH + 9, 5)]).workload.mode == mode
    tree = [*TREE[:4], scope("dense", 1, 0, 20), scope("dense/MatMul", 2, 0, 12), scope(node, 2, 12, 8)]
    assert read(tmp_path, tree).workload.mode == mode


def test_a_tree_that_leaves_ops_out_does_not_tell(tmp_path: Path) -> None:
    tree = [*TREE[:4], scope("dense", 1, 0, 15), scope("dense/MatMul", 2, 0, 15)]
    assert read(tmp_path, tree).workload.mode == "training"
