import gzip
import itertools
import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, Workload
from estimator.profiles import chrome_trace, kineto
from estimator.profiles.dump import Dump
from estimator.profiles.kineto import steps
from estimator.work import count_work
from tests.profiles import plain_trace
from tests.profiles.kineto.torch_training import profile_training

DATA = Path(__file__).resolve().parents[2] / "data"
LAYERS = (29532, 1000, 500, 100, 50, 1)
Event = dict[str, Any]


def event(name: str, ts: float, dur: float, cat: str = "cpu_op", /, tid: int = 1, **args: Any) -> Event:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def op_args(*dims: Any, types: Any = None, values: Any = None) -> Mapping[str, Any]:
    """The arguments of an op: tensors of these sizes that lie as they are, or values."""
    strides = [[1] * len(sizes) if len(sizes) < 2 else [sizes[-1], 1] for sizes in dims]
    types = types or ["float" if sizes else "Scalar" for sizes in dims]
    return {
        "Input Dims": dims,
        "Input Strides": strides,
        "Input type": types,
        "Concrete Inputs": values or [""] * len(dims),
    }


def read(tmp_path: Path, *events: Event, **metadata: Any) -> Profile:
    path = tmp_path / "kineto.json"
    path.write_text(json.dumps(metadata | {"traceEvents": events}))
    return kineto.read([Dump(path)], Workload(name="toy"))


def only_row(profile: Profile, **values: Any) -> Mapping[str, Any]:
    """The one row with these values."""
    ops = profile.ops
    matches = ops[(ops[list(values)] == pd.Series(values)).all(axis=1)]
    assert len(matches) == 1, matches
    return dict(matches.iloc[0].dropna())


def sorted_rows(profile: Profile) -> pd.DataFrame:
    columns = list(profile.ops.columns)
    return profile.ops.sort_values(columns).reset_index(drop=True)


@pytest.mark.parametrize("sample", ["p1b3_torch_t1", "p1b3_torch_t2"])
def test_flop_and_step_times_of_real_steps(sample: str, public_data: Callable[[str], Path]) -> None:
    path = public_data(f"profiles/{sample}/kineto.json")
    profile = kineto.read([Dump(path)], Workload(name="p1b3", batch_size=100))
    work = count_work(profile.ops, profile.workload).work
    layers = [2 * 100 * i * o for i, o in itertools.pairwise(LAYERS)]
    passes = 3 * sum(layers) - layers[0]  # forward, and both gradients but the first layer's input's
    assert work.loc[work["op_class"] == "gemm", "flop"].sum() == passes == pytest.approx(12.146e9, rel=1e-4)
    assert work.loc[work["op_class"] == "gemm", "calls"].sum() == 14
    assert profile.steps == 2  # three updates bound them
    assert profile.warnings[0] == steps.FROM_UPDATES.format(mark="ProfilerStep#", steps=2)
    manifest = json.loads(path.with_name("manifest.json").read_text())
    measured = sum(manifest["step_ms_profiled"][1:]) / 2000
    assert profile.wall_step_s == pytest.approx(measured, rel=0.01)
    assert 0.95 * measured < profile.ops["time_s"].sum() <= measured
    assert profile.busy_step_s == pytest.approx(profile.ops["time_s"].sum())
    phases = profile.ops.groupby("phase")["time_s"].sum()
    assert phases.index.tolist() == ["backward", "forward", "optimizer"]


def test_flop_by_class_and_phase_of_a_small_dump() -> None:
    profile = kineto.read([Dump(DATA / "kineto_cpu.json.gz")], Workload(name="toy"))
    work = count_work(profile.ops, profile.workload).work
    flop = work.groupby(["op_class", "phase"])["flop"].sum()
    first, grouped, transposed = 2 * 4 * 8 * 8 * 8 * 27, 2 * 4 * 12 * 6 * 6 * 36, 2 * 4 * 12 * 6 * 6 * 36
    products = 2 * 4 * 676 * 16, 2 * 4 * 16 * 5
    assert flop["convolution", "forward"] == first + grouped + transposed
    assert flop["convolution", "backward"] == first + 2 * grouped + 2 * transposed
    assert flop["gemm", "forward"] == sum(products)
    assert flop["gemm", "backward"] == 2 * sum(products)
    assert profile.steps == 2


def test_flop_of_a_fresh_dump_equal_those_of_torch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    counted = profile_training(tmp_path / "fresh.json")
    profile = kineto.read([Dump(tmp_path / "fresh.json")], Workload(name="toy"))
    work = count_work(profile.ops, profile.workload).work
    plain = ~work["attributes"].str.contains("transposed=1").fillna(False)
    forward = (work["op_class"] == "convolution") & (work["phase"] == "forward") & plain
    ours = work.loc[forward | (work["op_class"] == "gemm"), "flop"].sum()
    assert ours == pytest.approx(counted, rel=0.01)


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("chunk", [1, 997, 1 << 20])
def test_chunked_reading_equals_plain_reading(
    chunk: int, indent: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = json.loads(gzip.decompress((DATA / "kineto_cpu.json.gz").read_bytes()))
    events = whole["traceEvents"]
    random.Random(7).shuffle(events)
    extra = {
        "name": 'braces },{"ph": "X" \\" in \u2028 strings',
        "tid": "thread",
        "pid": -5,
        "ph": "X",
        "cat": "cpu_op",
    }
    events += [extra | {"ts": 4411757397201, "dur": 1.5e1, "args": {"External id": "a", "Input Dims": 5}}]
    path = tmp_path / "kineto.json"
    path.write_text(json.dumps({"first": [{"a": 1}, {"b": 2}], **whole, "last": [{"c": 3}, {"d": 4}]}, indent=indent))
    monkeypatch.setattr(chrome_trace, "CHUNK", chunk)
    fast = kineto.read([Dump(path)], Workload(name="toy"))
    monkeypatch.setattr(chrome_trace, "scan", plain_trace.scan)
    plain = kineto.read([Dump(path)], Workload(name="toy"))
    pd.testing.assert_frame_equal(sorted_rows(fast), sorted_rows(plain), check_exact=True)
    for what in ("steps", "wall_step_s", "busy_step_s", "warnings", "tool_version"):
        assert getattr(fast, what) == getattr(plain, what)


def test_row_order_does_not_matter(tmp_path: Path) -> None:
    events = [event("aten::mm", 10 * i, 7, **op_args([2, 3], [3, 4])) for i in range(9)] + [event("aten::add", 1, 2)]
    forwards = read(tmp_path, *events)
    backwards = read(tmp_path, *events[::-1])
    pd.testing.assert_frame_equal(sorted_rows(forwards), sorted_rows(backwards), check_exact=True)


def test_only_the_innermost_op_does_the_work(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        event("aten::linear", 0, 100, **op_args([8, 3], [5, 3], [5])),
        event("aten::addmm", 10, 80, **op_args([5], [8, 3], [3, 5], [], [])),
        event("aten::to", 200, 50, **op_args([8, 3], [])),
        event("aten::copy_", 205, 40, **op_args([8, 3], [8, 3])),
    )
    assert only_row(profile, op="aten::linear")["attributes"] == "dispatch=1"
    assert only_row(profile, op="aten::linear")["time_s"] == pytest.approx(20e-6)
    assert only_row(profile, op="aten::addmm")["shapes"] == "5;8x3;3x5"
    assert only_row(profile, op="aten::addmm")["precision"] == "fp32"
    assert only_row(profile, op="aten::to")["attributes"] == "dispatch=1"
    assert only_row(profile, op="aten::copy_")["shapes"] == "8x3;8x3"
    work = count_work(profile.ops, profile.workload).work
    assert work["flop"].max() == 2 * 8 * 3 * 5
    assert work.loc[work["op"] == "aten::linear", "op_class"].item() == "host"


def test_shapes_of_factors_follow_their_strides(tmp_path: Path) -> None:
    args = op_args([8, 3], [3, 5])
    profile = read(tmp_path, event("aten::mm", 0, 1, **{**args, "Input Strides": [[1, 8], [1, 3]]}))
    assert only_row(profile, op="aten::mm")["shapes"] == "3x8;5x3"
    assert only_row(profile, op="aten::mm")["attributes"] == "trans_a=t;trans_b=t"
    work = count_work(profile.ops, profile.workload).work
    assert work[["m", "n", "k"]].iloc[0].tolist() == [8, 5, 3]


@pytest.mark.parametrize(
    ("name", "dims", "flop"),
    [
        ("aten::mm", ([2, 3], [3, 4]), 2 * 2 * 3 * 4),
        ("aten::bmm", ([6, 2, 3], [6, 3, 4]), 2 * 6 * 2 * 3 * 4),
        ("aten::baddbmm", ([6, 2, 4], [6, 2, 3], [6, 3, 4]), 2 * 6 * 2 * 3 * 4),
        ("aten::addmm", ([4], [2, 3], [3, 4]), 2 * 2 * 3 * 4),
        ("aten::addmm_", ([2, 4], [2, 3], [3, 4]), 2 * 2 * 3 * 4),
        ("aten::linear", ([7, 2, 3], [4, 3], [4]), 2 * 7 * 2 * 3 * 4),
        ("aten::mv", ([2, 3], [3]), 2 * 2 * 3),
        ("aten::addmv_", ([2], [2, 3], [3]), 2 * 2 * 3),
        ("aten::dot", ([3], [3]), 2 * 3),
        ("aten::matmul", ([7, 2, 3], [3, 4]), 2 * 7 * 2 * 3 * 4),
    ],
)
def test_counts_products(name: str, dims: tuple[list[int], ...], flop: int, tmp_path: Path) -> None:
    work = count_work(read(tmp_path, event(name, 0, 1, **op_args(*dims))).ops, Workload(name="toy")).work
    assert work["flop"].item() == flop
    assert work["op_class"].item() == "gemm"


FORWARD = ["[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]


@pytest.mark.parametrize(
    ("name", "dims", "values"),
    [
        ("aten::convolution", 3, FORWARD),
        ("aten::mkldnn_convolution", 3, ["[1, 1]", "[2, 2]", "[1, 1]", "1"]),
        ("aten::cudnn_convolution", 2, ["[1, 1]", "[2, 2]", "[1, 1]", "1", "True", "False", "True"]),
        ("aten::_slow_conv2d_forward", 2, ["[3, 3]", "", "[2, 2]", "[1, 1]"]),
        ("aten::conv2d", 3, ["[2]", "[1]", "[1]", "1"]),
    ],
)
def test_counts_convolutions(name: str, dims: int, values: list[str], tmp_path: Path) -> None:
    tensors = [[4, 3, 16, 16], [8, 3, 3, 3], [8]][:dims]
    args = op_args(*tensors, *[[]] * len(values), values=[""] * dims + values)
    work = count_work(read(tmp_path, event(name, 0, 1, **args)).ops, Workload(name="toy")).work
    assert work["flop"].item() == 2 * 4 * 8 * 8 * 8 * 27


@pytest.mark.parametrize(("mask", "passes"), [("[True, True, False]", 2), ("[False, True, True]", 1)])
def test_a_backward_convolution_is_one_row_per_gradient(mask: str, passes: int, tmp_path: Path) -> None:
    tensors = [[4, 8, 8, 8], [4, 3, 16, 16], [8, 3, 3, 3]]
    args = op_args(*tensors, *[[]] * 8, values=["", "", "", "[8]", *FORWARD, mask])
    profile = read(tmp_path, event("aten::convolution_backward", 0, 6, **args))
    work = count_work(profile.ops, profile.workload).work
    assert work["flop"].tolist() == [2 * 4 * 8 * 8 * 8 * 27] * passes
    assert work["pass"].tolist() == ["grad_input", "grad_weights"][-passes:]
    assert work["time_s"].tolist() == pytest.approx([6e-6 / passes] * passes)


def test_a_backward_convolution_counts_where_the_inner_op_does_the_work(tmp_path: Path) -> None:
    tensors = [[4, 8, 14, 14], [4, 3, 16, 16], [8, 3, 3, 3]]
    mask = "[False, True, True]"
    outer = op_args(*tensors, *[[]] * 8, values=["", "", "", "[8]", *FORWARD, mask])
    inner = op_args(*tensors, *[[]] * 4, values=["", "", "", "[3, 3]", "[1, 1]", "[0, 0]", mask])
    profile = read(
        tmp_path,
        event("aten::convolution_backward", 0, 10, **outer),
        event("aten::_slow_conv2d_backward", 1, 8, **inner),
    )
    work = count_work(profile.ops, profile.workload).work
    assert work.set_index("op_type")["op_class"].to_dict()["aten::convolution_backward"] == "host"
    assert work.set_index("op_type")["flop"].to_dict()["aten::_slow_conv2d_backward"] == 2 * 4 * 8 * 14 * 14 * 27


def test_an_op_inside_one_of_its_own_kind_does_work(tmp_path: Path) -> None:
    profile = read(tmp_path, event("aten::div", 0, 10), event("aten::div", 1, 8))
    work = count_work(profile.ops, profile.workload).work
    assert work["op_class"].tolist() == ["elementwise"]


def test_phases_and_steps(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        event("before", 0, 10),
        event("ProfilerStep#7", 100, 100, "user_annotation"),
        event("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 100, 10, "user_annotation"),
        event("aten::stack", 102, 5),
        event("aten::mul", 120, 10),
        event("autograd::engine::evaluate_function: MulBackward0", 140, 20, tid=2),
        event("aten::mul", 145, 10, tid=2),
        event("Optimizer.step#SGD.step", 170, 20, "user_annotation"),
        event("aten::mul", 172, 10),
        event("ProfilerStep#8", 200, 60, "user_annotation"),
        event("aten::mul", 205, 10),
        event("python", 0, 500, "python_function"),
        distributedInfo={"rank": 3},
    )
    assert profile.steps == 2
    assert profile.wall_step_s == pytest.approx(80e-6)
    calls = profile.ops[profile.ops["op"] == "aten::mul"].set_index("phase")["calls"]
    assert calls.to_dict() == {"forward": 1.0, "backward": 0.5, "optimizer": 0.5}
    assert only_row(profile, op="aten::stack")["phase"] == "input"
    assert set(profile.ops["rank"]) == {3}
    assert any("outside the steps" in warning for warning in profile.warnings)


def test_updates_bound_the_steps_without_step_marks(tmp_path: Path) -> None:
    updates = [event("Optimizer.step#Adam.step", 100 * i, 10, "user_annotation") for i in range(1, 6)]
    autotuning, step = event("aten::sum", 0, 90), event("aten::mul", 350, 50)
    profile = read(tmp_path, autotuning, step, *updates)
    assert profile.steps == 4
    assert profile.wall_step_s == pytest.approx(100e-6)
    assert profile.ops["op"].tolist() == ["aten::mul"]
    assert any("updates bound 4 steps" in w and "--steps" in w for w in profile.warnings)
    assert any("64 % of the ops' time lies outside the steps" in w for w in profile.warnings)


def test_optimizers_of_one_class_that_update_in_a_row_are_one_update(tmp_path: Path) -> None:
    """As where one optimizer has the matrices and another one the rest; a product between them begins a step."""
    marks = [(10, 10), (25, 10), (110, 10), (125, 10), (210, 10), (225, 10)]
    updates = [event("Optimizer.step#Adam.step", *mark, "user_annotation") for mark in marks]
    shapes = {"args": {"Input Dims": [[4, 4], [4, 4]]}}
    products = [event("aten::mm", 100 * i + 40, 50) | shapes for i in range(2)]
    profile = read(tmp_path, *products, *updates)
    assert profile.steps == 2
    assert profile.wall_step_s == pytest.approx(100e-6)
    assert read(tmp_path, event("aten::mul", 50, 50), *updates).steps == 5  # without products, nothing tells


def test_a_trace_without_marks_counts_as_one_step(tmp_path: Path) -> None:
    for marks in ([], [event("Optimizer.step#Adam.step", 10, 10, "user_annotation")]):
        unmarked = read(tmp_path, event("aten::mul", 0, 50), *marks)
        assert unmarked.steps == 1
        assert any("--steps" in warning for warning in unmarked.warnings)


def test_every_optimizer_updates_at_least_once_a_step(tmp_path: Path) -> None:
    generator = [event("Optimizer.step#Adam.step", 100 * i, 10, "user_annotation") for i in range(3)]
    critic = [event("Optimizer.step#RMSprop.step", 20 * i, 10, "user_annotation") for i in range(15)]
    assert read(tmp_path, event("aten::mul", 50, 50), *generator, *critic).steps == 2


def test_missing_shapes_are_a_warning(tmp_path: Path) -> None:
    advice = "profile with record_shapes=True"
    assert f"the trace has no operand shapes: {advice}" in read(tmp_path, event("aten::mm", 0, 1)).warnings
    asked_for = read(tmp_path, event("aten::mm", 0, 1), record_shapes=1).warnings
    assert "the trace has no operand shapes" in asked_for


LAUNCHED = "cuda_runtime"


def gpu_step(tmp_path: Path, *, by_id: bool) -> Profile:
    def kernel(name: str, ts: float, dur: float, id_: int, correlation: int, cat: str = "kernel", **more: Any) -> Event:
        ids = {"External id": id_} if by_id else {}
        args = {"device": 0, "stream": 7, "correlation": correlation, **ids, **more}
        return {**event(name, ts, dur, cat, 7), "pid": 0, "args": args}

    def launch(ts: float, correlation: int) -> Event:
        return event("cudaLaunchKernel", ts, 1, LAUNCHED, correlation=correlation)

    tensors = [[4, 8, 8, 8], [4, 3, 16, 16], [8, 3, 3, 3]]
    backward = op_args(*tensors, *[[]] * 8, values=["", "", "", "[8]", *FORWARD, "[True, True, False]"])
    names = ["aten::mm", "aten::convolution_backward", "aten::_foreach_add_", "aten::copy_"]
    arguments = [
        op_args([64, 32], [32, 16]),
        backward,
        op_args([[9], [9]], [], types=["TensorList", "Scalar"]),
        op_args([9], [9]),
    ]
    ops = [
        event(name, 100 * i, 90, **{"External id": i + 1}, **args)
        for i, (name, args) in enumerate(zip(names, arguments, strict=True))
    ]
    return read(
        tmp_path,
        *ops,
        event("autograd::engine::evaluate_function: ConvolutionBackward0", 95, 99, **{"External id": 77}),
        *[launch(100 * i + 10 + j, 10 * i + j) for i in range(4) for j in range(4)],
        kernel("sgemm_128x64_nn", 1000, 50, 1, 0),
        kernel("splitKreduce_kernel", 1051, 5, 1, 1),
        kernel("nchwToNhwcKernel", 1060, 2, 2, 10),
        kernel("cudnn_dgrad", 1063, 20, 2, 11),
        kernel("cudnn_wgrad", 1084, 30, 2, 12),
        kernel("multi_tensor_apply_kernel", 1120, 5, 3, 20),
        kernel("multi_tensor_apply_kernel", 1126, 7, 3, 21),
        kernel("Memcpy HtoD (Pageable -> Device)", 1140, 4, 4, 30, "gpu_memcpy", bytes=4096),
        kernel("ncclDevKernel_AllReduce_Sum_f32", 1130, 30, 0, 999),  # overlaps the copy: no fault on a stream
        event("Optimizer.step#SGD.step", 0, 1200, "user_annotation", 3),
    )  # fmt: skip


@pytest.mark.parametrize("by_id", [True, False])
def test_rows_of_a_gpu_run_are_device_events(by_id: bool, tmp_path: Path) -> None:
    profile = gpu_step(tmp_path, by_id=by_id)
    assert set(profile.ops["placement"]) == {"gpu:0"}
    assert set(profile.ops["stream"]) == {"7"}
    product = only_row(profile, kernel="sgemm_128x64_nn")
    assert (product["op"], product["shapes"], product["phase"]) == ("aten::mm", "64x32;32x16", "forward")
    helper = only_row(profile, kernel="splitKreduce_kernel")
    assert (helper["op_type"], "shapes" in helper) == ("splitKreduce_kernel", False)
    assert only_row(profile, kernel="cudnn_dgrad")["attributes"].endswith("pass=grad_input")
    assert only_row(profile, kernel="cudnn_wgrad")["attributes"].endswith("pass=grad_weights")
    assert only_row(profile, kernel="cudnn_wgrad")["phase"] == "backward"
    assert only_row(profile, op="aten::_foreach_add_")["calls"] == 1
    assert only_row(profile, op="aten::_foreach_add_")["time_s"] == pytest.approx(12e-6)
    copy = only_row(profile, op_type="Memcpy HtoD (Pageable -> Device)")
    assert copy["reported_bytes"] == 4096
    assert only_row(profile, op_type="ncclDevKernel_AllReduce_Sum_f32")["phase"] == "unknown"
    work = count_work(profile.ops, profile.workload).work
    matrix = work[work["op_class"].isin(["gemm", "convolution"])]
    assert matrix["flop"].sum() == 2 * 64 * 32 * 16 + 2 * 2 * 4 * 8 * 8 * 8 * 27
    assert profile.busy_step_s == pytest.approx((50 + 5 + 2 + 20 + 30 + 5 + 34) * 1e-6)


@pytest.mark.parametrize("region", ["CompiledFunction", "CompiledFunctionBackward", "Torch-Compiled Region: 0/0"])
def test_what_compiled_code_of_a_processor_runs_between_its_ops_is_work(region: str, tmp_path: Path) -> None:
    """Its kernels have no events, and most of its time lies in an op as large as its inputs."""
    inputs = op_args([64, 32], [32, 16])
    actual = read(tmp_path, event(region, 0, 100, **inputs), event("aten::mm", 10, 60, **inputs))
    work = count_work(actual.ops, Workload(name="toy")).work.set_index("op")
    assert work["op_class"].to_dict() == {region: "elementwise", "aten::mm": "gemm"}
    assert work["time_s"].tolist() == pytest.approx([40e-6, 60e-6])
    assert work["shapes"].isna().tolist() == [True, False]
    assert "40 % of the time of ops is code that torch.compile generated" in actual.warnings[-1]


def test_compiled_code_whose_kernels_are_recorded_has_no_warning(tmp_path: Path) -> None:
    """What is left of it is its host's time."""
    inner = event("graph_0_cpp_fused_add_0", 1, 40)
    actual = read(tmp_path, event("CompiledFunction", 0, 100, **op_args([64, 32])), inner)
    work = count_work(actual.ops, Workload(name="toy")).work.set_index("op")
    assert work["op_class"].to_dict() == {"CompiledFunction": "host", "graph_0_cpp_fused_add_0": "elementwise"}
    assert not [warning for warning in actual.warnings if "torch.compile" in warning]


def test_a_launch_belongs_to_the_innermost_op_still_running(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        event("aten::outer", 0, 100, **op_args([9])),
        event("aten::inner", 10, 10, **op_args([3])),
        event("cudaLaunchKernel", 50, 1, "cuda_runtime", correlation=5),
        event("cudaLaunchKernel", 150, 1, "cuda_runtime", correlation=6),
        event("outer_kernel", 200, 7, "kernel", 7, correlation=5),
        event("lone_kernel", 210, 7, "kernel", 7, correlation=6),
    )
    assert only_row(profile, kernel="outer_kernel")["op"] == "aten::outer"
    assert only_row(profile, kernel="lone_kernel")["op"] == "lone_kernel"


@pytest.mark.parametrize(
    ("types", "precision"),
    [("double", "fp64"), ("c10::Half", "fp16"), ("c10::BFloat16", "bf16"), ("c10::Float8_e4m3fn", "fp8")],
)
def test_precision_of_operand_types(types: str, precision: str, tmp_path: Path) -> None:
    args = op_args([4, 4], [4, 4], types=["long int", types])
    assert only_row(read(tmp_path, event("aten::index", 0, 1, **args)), op="aten::index")["precision"] == precision


def test_refuses_ops_that_do_not_nest(tmp_path: Path) -> None:
    first = event("outer", 0, 10)
    read(tmp_path, first, event("inner", 5, 6))  # within the rounding of old traces
    with pytest.raises(EstimatorError, match=r"kineto\.json: nesting that does not close: 'inner' begins in 'outer'"):
        read(tmp_path, first, event("inner", 5, 6.001))
    read(tmp_path, first, event("inner", 5, 60, tid=2))
    launched = event("launch", 30, 1, "cuda_runtime", correlation=1), event("work", 32, 5, "kernel", 7, correlation=1)
    crossing = read(tmp_path, first, event("inner", 5, 60), *launched)
    assert crossing.ops["op"].tolist() == ["inner"]  # where a device's events count, the host's times do not


def test_ops_that_do_not_nest_still_launch_the_kernels_of_a_device(tmp_path: Path) -> None:
    ops = [event("outer", 0, 10), event("gloo:all_reduce", 5, 60), event("next", 20, 10)]
    calls = [event("cudaLaunchKernel", ts, 1, "cuda_runtime", correlation=ts) for ts in (7, 22)]
    kernels = [event("work", 100 + ts, 5, "kernel", 7, correlation=ts) for ts in (7, 22)]
    profile = read(tmp_path, *ops, *calls, *kernels)
    assert sorted(profile.ops["op"]) == ["gloo:all_reduce", "next"]
    assert [text for text in profile.warnings if text.startswith("1 of the host's ops")]


def test_overlap_within_rounding_is_tolerated(tmp_path: Path) -> None:
    times = read(tmp_path, event("outer", 0, 10), event("inner", 5, 6), event("next", 10, 10)).ops
    assert times.set_index("op")["time_s"].to_dict() == pytest.approx({"outer": 5e-6, "inner": 5e-6, "next": 10e-6})
    factors = op_args([2, 3], [3, 4])
    products = [event("aten::mm", 5, 6, **factors), event("aten::bmm", 10, 10, **op_args([1, 2, 3], [1, 3, 4]))]
    ops = read(tmp_path, event("outer", 0, 10), *products).ops.set_index("op")
    assert ops.loc["aten::mm", "shapes"] == "2x3;3x4"
    assert ops.loc["aten::mm", "time_s"] == pytest.approx(5e-6)


def test_refuses_a_crossing_beside_a_tolerated_overlap(tmp_path: Path) -> None:
    rounded = [event("outer", 0, 10), event("inner", 5, 6), event("next", 10, 10)]
    with pytest.raises(EstimatorError, match=r"'late' begins in 'next' and ends 5\.000 µs after it"):
        read(tmp_path, *rounded, event("late", 15, 10))


def test_refuses_times_whose_sum_overflows_64_bits(tmp_path: Path) -> None:
    ops = [event("aten::mul", 0, 4.4e12, tid=tid) for tid in range(5)]
    kernels = [event("sgemm", 0, 4.4e12, "kernel", stream) for stream in range(5)]
    for events in (ops, kernels):
        with pytest.raises(EstimatorError, match=r"kineto\.json: its ops last 2\.2e\+07 s in all"):
            read(tmp_path, *events)


@pytest.mark.parametrize(
    ("outer", "inner", "lasts", "dispatches"), [(9, 9, 60, True), (9, 9, 40, False), (9, 1, 60, False)]
)
def test_an_op_dispatches_an_op_of_most_of_its_time_and_as_large_an_operand(
    outer: int, inner: int, lasts: int, dispatches: bool, tmp_path: Path
) -> None:
    ops = event("aten::outer", 0, 100, **op_args([outer])), event("aten::inner", 10, lasts, **op_args([inner]))
    outer_row = only_row(read(tmp_path, *ops), op="aten::outer")
    assert (outer_row.get("attributes"), outer_row.get("shapes")) == (
        ("dispatch=1", None) if dispatches else (None, "9")
    )


@pytest.mark.parametrize("dur", [float("nan"), 1e300, "1 ms", [1]])
def test_an_unreadable_duration_names_its_event(dur: Any, tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match=r"kineto\.json: dur of 'aten::odd'"):
        read(tmp_path, event("aten::fine", 0, 1), {**event("aten::odd", 0, 1), "dur": dur})


@pytest.mark.parametrize(
    ("name", "info", "rank"),
    [
        ("rank-3.pt.trace.json", {}, 3),
        ("inference_rank_12.json", {}, 12),
        ("rank-3.pt.trace.json", {"rank": 5}, 5),
        ("frank3.json", {}, None),
        ("ranks.json", {"rank": -1}, None),
    ],
)
def test_the_rank_that_the_trace_or_its_files_name_states(
    name: str, info: dict[str, int], rank: int | None, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(json.dumps({"distributedInfo": info, "traceEvents": [event("aten::mul", 0, 1)]}))
    stated = kineto.read([Dump(path)], Workload(name="toy")).ops["rank"].dropna().tolist()
    assert stated == ([] if rank is None else [rank])


@pytest.mark.parametrize("dur", [-1, "-1", None])
def test_events_that_never_ended_are_left_out(dur: Any, tmp_path: Path) -> None:
    profile = read(tmp_path, event("aten::fine", 0, 1), {**event("aten::open", 0, 1), "dur": dur})
    assert profile.ops["op"].tolist() == ["aten::fine"]
    assert any(warning.startswith("1 event(s) have no end or last less than 0 µs") for warning in profile.warnings)


@pytest.mark.parametrize("dims", [5, "x", [5], ["x"], [[-1]], [[1e300, 2]], [[[["a"]]]], [None], {"a": 1}, [[2**80]]])
def test_unreadable_operands_stay_unknown(dims: Any, tmp_path: Path) -> None:
    for name in ("aten::mm", "aten::convolution", "aten::add"):
        profile = read(tmp_path, event(name, 0, 1, **{"Input Dims": dims, "Input Strides": dims, "Input type": dims}))
        assert profile.ops["time_s"].item() == pytest.approx(1e-6)


def test_refuses_a_trace_without_ops(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="it holds no op"):
        read(tmp_path, event("x", 0, 1, "python_function"))
    with pytest.raises(EstimatorError, match="no op took any time"):
        read(tmp_path, event("x", 0, 0))


@pytest.mark.slow
def test_reads_100000_distinct_op_names(tmp_path: Path) -> None:
    path = tmp_path / "kineto.json"
    lines = (f'{{"ph":"X","cat":"cpu_op","name":"op{i}","pid":1,"tid":1,"ts":{3 * i},"dur":2}}' for i in range(10**5))
    path.write_text('{"traceEvents":[' + ",\n".join(lines) + "]}")
    assert len(kineto.read([Dump(path)], Workload(name="toy")).ops) == 10**5


def test_recognises_kineto_traces_only() -> None:
    assert kineto.recognises(Dump(DATA / "kineto_cpu.json.gz").head)
    for category in ("xpu_runtime", "gpu_memset", "privateuse1_driver", "cpu_instant_event"):
        assert kineto.recognises(b'{"traceEvents": [{"ph": "X", "cat": "%s"' % category.encode())
    for other in (b"", b"{}", b"op_type,time_s\n", b'{"traceEvents": [{"cat": "Op"}]}', b'{"displayTimeUnit":"ns"}'):
        assert not kineto.recognises(other)


@given(data=st.data())
def test_damaged_dumps_raise_only_estimator_errors(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(gzip.decompress((DATA / "kineto_cpu.json.gz").read_bytes())[:40000])
    content += b"{}]}" if data.draw(st.booleans()) else b""
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "kineto.json"
    path.write_bytes(content)
    try:
        kineto.read([Dump(path)], Workload(name="toy"))
    except EstimatorError as error:
        assert "kineto.json" in str(error)
