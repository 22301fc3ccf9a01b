from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.types import Profile
from estimator.profiles import messages, read_profile
from estimator.profiles.tfprof import step_stats
from tests.profiles.tensorflow_dumps import (
    CPU,
    ENDS,
    GPU,
    P1B3_FLOP,
    damaged,
    fused_step,
    matrix_flop,
    read_or_refuse,
    refusal,
    traced,
)

FUSED = fused_step().SerializeToString()


def read(tmp_path: Path, content: bytes) -> Profile:
    path = tmp_path / "run_metadata.pb"
    path.write_bytes(content)
    return read_profile(path)


def read_step(tmp_path: Path, *ops: dict[str, Any]) -> Profile:
    return read(tmp_path, traced(*ops).SerializeToString())


def fixed(*contents: bytes) -> bytes:
    return b"".join(len(content).to_bytes(8, "little") + content for content in contents)


def delimited(*contents: bytes) -> bytes:
    out = b""
    for content in contents:
        size = len(content)
        assert 128 <= size < 1 << 14
        out += bytes([size & 0x7F | 0x80, size >> 7]) + content
    return out


def test_the_kernel_that_ran_and_the_shapes_of_its_operands(tmp_path: Path) -> None:
    profile = read(tmp_path, FUSED)
    row = profile.ops.set_index("op").loc["d/Relu"]
    assert (row["kernel"], row["shapes"], row["output_shapes"]) == ("_MklNativeFusedMatMul", "4x3;3x2;2", "4x2")
    assert (row["precision"], row["placement"], row["time_s"]) == ("fp32", CPU, ENDS / 1e9)
    assert profile.wall_step_s == profile.busy_step_s == pytest.approx(4 * ENDS / 1e9)
    assert matrix_flop(profile) == 2 * 4 * 3 * 2
    assert profile.workload.framework == "TensorFlow"


@pytest.mark.parametrize("frame", [fixed, delimited])
def test_several_steps_in_one_file(tmp_path: Path, frame: Callable[..., bytes]) -> None:
    contents = [fused_step(duration=duration).SerializeToString() for duration in (2000, 4000)]
    profile = read(tmp_path, frame(*contents))
    row = profile.ops.set_index("op").loc["d/Relu"]
    assert profile.steps == 2
    assert (row["calls"], row["time_s"]) == (1, pytest.approx(3e-6))
    assert row["time_spread_s"] == pytest.approx(2e-6 / 2**0.5)


@pytest.mark.parametrize(
    ("label", "shapes"),
    [
        ("y = Add(two:1, x)", "7;4x3"),
        ("y = Add(two, nowhere)", "5;unknown"),
        ("y = Add(x, two:", "4x3;unknown"),
        ("y = Add(scalar, x)", "1;4x3"),
        ("y = Const()", None),
        ("y", None),
        ("", None),
    ],
)
def test_operand_shapes_come_from_the_nodes_in_labels(tmp_path: Path, label: str, shapes: str | None) -> None:
    profile = read_step(
        tmp_path,
        {"name": "x", "label": "x = _Arg()", "shape": (4, 3)},
        {"name": "two", "label": "two = Split()", "shape": (5,)},
        {"name": "two", "label": "two = Split()", "shape": (7,), "slot": 1},
        {"name": "scalar", "label": "scalar = Const()", "shape": ()},
        {"name": "y", "label": label},
    )
    operand_shapes = profile.ops.set_index("op").loc["y", "shapes"]
    assert operand_shapes == shapes if shapes else pd.isna(operand_shapes)


def test_each_kernel_of_a_gpu_counts_once(tmp_path: Path) -> None:
    kernel = {"name": "d/MatMul:MatMul", "label": "volta_sgemm regs:32 shared:0 grid:1,1,1"}
    reduce = kernel | {"label": "splitK_reduce regs:8", "duration": 500}
    profile = read_step(
        tmp_path,
        {"name": "x", "label": "x = _Arg()", "shape": (4, 3), "device": CPU},
        {"name": "w", "label": "w = _Arg()", "shape": (3, 2), "device": CPU},
        {"name": "d/MatMul", "label": "d/MatMul = MatMul(x, w)", "shape": (4, 2), "device": GPU, "duration": 9000},
        *(op | {"device": f"/device:GPU:0/stream:{stream}"} for op in (kernel, reduce) for stream in ("all", "13")),
        {"name": "edge_1_x:MEMCPYHtoD", "label": "MEMCPYHtoD bytes:48", "device": "/device:GPU:0/memcpy"},
    )
    ops = profile.ops.set_index("op")
    assert (ops.loc["d/MatMul", "kernel"], ops.loc["d/MatMul", "op_type"]) == ("volta_sgemm", "MatMul")
    assert (ops.loc["d/MatMul", "time_s"], ops.loc["d/MatMul", "calls"]) == (pytest.approx(1.5e-6), 1)
    assert ops.loc["edge_1_x", "op_type"] == "MEMCPYHtoD"
    assert matrix_flop(profile) == 2 * 4 * 3 * 2
    assert "launching" in profile.warnings[0]


def test_a_gpu_without_streams_gives_a_warning(tmp_path: Path) -> None:
    profile = read_step(tmp_path, {"name": "a", "label": "a = MatMul()", "device": GPU})
    assert "launching kernels alone" in profile.warnings[0]


def test_attributes_come_from_the_partition_graphs(tmp_path: Path) -> None:
    metadata = fused_step(label="d/Relu = _FusedConv2D(x, w, b, ^x)")
    node = metadata.partition_graphs.add().node.add(name="d/Relu", op="_FusedConv2D", input=["x", "w", "b", "^x"])
    node.attr["strides"].list.i.extend([1, 2, 3, 1])
    node.attr["padding"].s = b"SAME"
    node.attr["transpose_b"].b = True
    row = read(tmp_path, metadata.SerializeToString()).ops.set_index("op").loc["d/Relu"]
    assert row["attributes"].startswith("trans_b=t;strides=2x3;padding=SAME;layout=NHWC;")
    assert row["op_type"] == "_FusedConv2D"


def functions(metadata: Any) -> Any:
    """A step of a graph's product "m", and of two functions with a product of that name and an argument "x" each.

    As TensorFlow 2.21 traces functions that it does not inline.
    """
    ops = [("a", "_Arg()", (4, 3)), ("w", "Const()", (3, 2)), ("m", "MatMul(a, w)", (4, 2))]
    for call, argument, result in (("Other_dYs7aETWK70", (7, 5), (7, 7)), ("inner", (8, 6), (6, 6))):
        ops += [("x", "_Arg()", argument), ("m", "BatchMatMulV2(x, x)", result), (call, f"{call}(a)", result)]
    lines = [{"name": name, "label": f"{name} = {label}", "shape": shape} for name, label, shape in ops]
    return traced(*lines, metadata=metadata)


def test_functions_may_have_nodes_of_one_name(tmp_path: Path) -> None:
    metadata = messages.get("RunMetadata")()
    node = metadata.partition_graphs.add().node.add(name="m", op="MatMul", input=["a", "w"])
    node.attr["transpose_b"].b = False
    profile = read(tmp_path, functions(metadata).SerializeToString())
    ops = profile.ops[profile.ops["op"] == "m"]
    assert ops["shapes"].tolist() == ["4x3;3x2", "7x5;7x5", "8x6;8x6"]
    assert ops["attributes"].fillna("").tolist() == ["trans_b=n", "", ""]
    assert matrix_flop(profile) == 2 * (4 * 3 * 2 + 7 * 7 * 5 + 6 * 6 * 8)


def test_a_call_by_a_functions_name_is_no_work_of_its_own(tmp_path: Path) -> None:
    call = {"name": "c", "start": 10_000, "duration": 5000}
    inner = {"name": "i", "label": "i = _FusedMatMul()", "start": 11_000, "duration": 3000}
    for name in ("inner_7Aj6eKevH40", "Other_dYs7aETWK70", "__inference_step_12", "core"):
        ops = read_step(tmp_path, call | {"label": f"c = {name}(x)"}, inner).ops.set_index("op")
        assert (ops.loc["c", "op_type"], ops.loc["c", "kernel"]) == ("PartitionedCall", name)
        assert (ops.loc["i", "op_type"], ops.loc["c", "time_s"]) == ("_FusedMatMul", pytest.approx(2e-6))


def test_types_and_attributes_of_a_functions_nodes_come_from_the_library(tmp_path: Path) -> None:
    metadata = traced({"name": "m", "shape": (7, 7)})
    library = metadata.partition_graphs.add().library
    node = library.function.add().node_def.add(name="m", op="BatchMatMulV2", input=["x", "x"])
    node.attr["adj_y"].b = True
    (row,) = read(tmp_path, metadata.SerializeToString()).ops[["op_type", "attributes"]].to_numpy().tolist()
    assert row == ["BatchMatMulV2", "trans_b=t"]


def test_the_precision_is_that_of_the_same_run(tmp_path: Path) -> None:
    half, single = ({"name": "x", "label": "x = _Arg()", "shape": (4, 3), "dtype": dtype} for dtype in (19, 1))
    cast = {"name": "y", "label": "y = Neg(x)", "shape": (4, 3)}
    ops = read_step(tmp_path, half, cast, single).ops
    assert ops.loc[ops["op"] == "y", "precision"].tolist() == ["fp16"]


def test_an_operand_that_ends_later_by_another_clock_is_still_the_operand(tmp_path: Path) -> None:
    later = {"name": "x", "label": "x = _Arg()", "shape": (4, 3), "start": 90_000}
    ops = read_step(tmp_path, {"name": "y", "label": "y = Neg(x)"}, later).ops.set_index("op")
    assert ops.loc["y", "shapes"] == "4x3"
    ops = read_step(tmp_path, {"name": "y", "label": "y = Neg(x)"}, later, later | {"shape": (5, 3)}).ops
    assert ops.loc[ops["op"] == "y", "shapes"].isna().all()


def test_an_op_that_calls_others_keeps_its_own_time(tmp_path: Path) -> None:
    call = {"name": "c", "label": "c = PartitionedCall()", "start": 10_000, "duration": 5000}
    inner = {"name": "i", "label": "i = MatMul()", "start": 11_000, "duration": 3000}
    times = read_step(tmp_path, call, inner).ops.set_index("op")["time_s"]
    assert (times["c"], times["i"]) == (pytest.approx(2e-6), pytest.approx(3e-6))


def test_wall_time_ends_with_all_bookkeeping_and_busy_time_excludes_gaps(tmp_path: Path) -> None:
    first, last = {"name": "a", "start": 10_000, "duration": 3000}, {"name": "b", "start": 20_000, "duration": 1000}
    metadata = traced(first, last)
    stats = metadata.step_stats.dev_stats[0].node_stats[1]
    stats.all_end_rel_nanos = stats.op_end_rel_nanos + 500
    profile = read(tmp_path, metadata.SerializeToString())
    assert profile.busy_step_s == pytest.approx(4e-6)
    assert profile.wall_step_s == pytest.approx(11.5e-6)


def test_times_of_older_dumps_are_microseconds(tmp_path: Path) -> None:
    metadata = messages.get("RunMetadata")()
    stats = metadata.step_stats.dev_stats.add(device="/cpu:0").node_stats
    stats.add(node_name="a", timeline_label="a = Add()", all_start_micros=7, op_start_rel_micros=1, op_end_rel_micros=4)
    assert read(tmp_path, metadata.SerializeToString()).ops["time_s"].item() == pytest.approx(3e-6)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (FUSED[:-7], "no whole RunMetadata message"),
        (fixed(FUSED, FUSED)[:-7], "ends within the step"),
        (fixed(FUSED) + b"\xff", "ends within the step"),
        (delimited(FUSED) + b"\xff" * 12, "no length of a step"),
        (traced({"name": "a", "duration": -5}).SerializeToString(), "'a' runs from 0 to -5 ns"),
        (traced({"name": "a", "duration": 1 << 62}).SerializeToString(), "the dump is damaged"),
        (traced({"name": "a", "duration": 0}).SerializeToString(), "no op took any time"),
        (
            traced(
                {"name": "x", "label": "x = _Arg()", "shape": (4, 3)},
                {"name": "w", "label": "w = _Arg()", "shape": (5, 2)},
                {"name": "y", "label": "y = MatMul(x, w)"},
            ).SerializeToString(),
            "do not multiply",
        ),
    ],
)
def test_faults_are_named_in_one_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in refusal(tmp_path / "run_metadata.pb", content)


@pytest.mark.slow
@given(content=st.one_of(damaged(FUSED), damaged(fixed(FUSED, FUSED)), damaged(delimited(FUSED, FUSED))))
def test_a_damaged_dump_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    read_or_refuse(step_stats, tmp_path_factory.mktemp("damaged") / "run_metadata.pb", content)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["run_metadata.pb", "run_metadata_5steps.pbs"])
def test_flop_and_busy_time_of_real_dumps(public_data: Callable[[str], Path], name: str, threads: int) -> None:
    profile = read_profile(public_data(f"profiles/p1b3_tf1_t{threads}/{name}"))
    assert matrix_flop(profile) == P1B3_FLOP
    assert profile.ops["phase"].notna().all()
    assert profile.busy_step_s == pytest.approx(profile.wall_step_s, rel=0.01)


def test_rows_are_in_the_order_of_the_program(tmp_path: Path) -> None:
    starts = {"c": 9000, "a": 1000, "b": 5000}
    steps = [{"name": name, "label": f"{name} = Mul()", "start": at} for name, at in starts.items()]
    assert read_step(tmp_path, *steps).ops["op"].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(("name", "mode"), [("d/Add", "inference"), ("gradients/d/MatMul_grad/MatMul", "training")])
def test_inference_is_distinguished_from_training(name: str, mode: str, tmp_path: Path) -> None:
    product = {"name": "d/MatMul", "label": "d/MatMul = MatMul(x, w)", "shape": (4, 2)}
    assert read_step(tmp_path, product, {"name": name, "label": f"{name} = Add(x, x)"}).workload.mode == mode
