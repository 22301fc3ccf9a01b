from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given

from estimator.core.types import Profile
from estimator.profiles import messages, read_profile
from estimator.profiles.tfprof import proto
from tests.profiles.tensorflow_dumps import CPU, P1B3_FLOP, damaged, matrix_flop, read_or_refuse, refusal

NODES = (  # name, type, inputs, shape of the result
    ("x", "Placeholder", (), (-1, 3)),
    ("w", "VariableV2", (), (3, 2)),
    ("b", "VariableV2", (), (2,)),
    ("d/MatMul", "MatMul", (0, 1), (-1, 2)),
    ("d/BiasAdd", "BiasAdd", (3, 2), (-1, 2)),
    ("d/Relu", "Relu", (4,), (-1, 2)),
    ("d/Tanh", "Tanh", (4,), (-1, 2)),
)


def profile_proto(runs: dict[str, list[int]], start: int = 100) -> Any:
    """A ProfileProto of NODES: how long [us] each node ran in each step."""
    profile = messages.get("ProfileProto")()
    for key, (name, op, inputs, shape) in enumerate(NODES):
        node = profile.nodes[key]
        node.name, node.op, node.id = name, op, key
        node.attrs["T"].type = 1
        node.output_shapes[0].int64_values.extend(shape)
        for port, source in enumerate(inputs):
            node.inputs[port] = source
        for step, duration in enumerate(runs.get(name, ())):
            node.execs[step].run_count = 1
            node.execs[step].cpu_execs[CPU].times.add(int64_values=[start + 100 * key, duration])
    return profile


FUSED = profile_proto({"w": [1, 1], "b": [1, 1], "d/Relu": [20, 40]}).SerializeToString()


def read(tmp_path: Path, content: bytes) -> Profile:
    path = tmp_path / "profile_1"
    path.write_bytes(content)
    return read_profile(path, batch=4)


def test_a_fused_kernel_is_the_product_that_never_ran(tmp_path: Path) -> None:
    profile = read(tmp_path, FUSED)
    row = profile.ops.set_index("op").loc["d/Relu"]
    assert (row["op_type"], row["kernel"], row["shapes"]) == ("Relu", "_FusedMatMul", "-1x3;3x2")
    assert (row["calls"], row["time_s"]) == (1, pytest.approx(30e-6))
    assert row["time_spread_s"] == pytest.approx(20e-6 / 2**0.5)
    assert row["precision"] == "fp32"
    assert profile.steps == 2
    assert profile.wall_step_s == pytest.approx((600 - 200 + (20 + 40) / 2) / 1e6)
    assert profile.busy_step_s == pytest.approx(32e-6)
    assert matrix_flop(profile) == 2 * 4 * 3 * 2
    assert "d/Relu" in profile.warnings[0]
    assert profile.workload.framework == "TensorFlow"


@pytest.mark.parametrize(
    "runs",
    [
        {"d/MatMul": [9], "d/BiasAdd": [1], "d/Relu": [2]},
        {"d/BiasAdd": [1], "w": [1], "d/MatMul": [1]},
        {"d/Relu": [2], "d/Tanh": [2]},
        {"d/Relu": [2, 2], "d/MatMul": [5, 5]},
    ],
)
def test_nothing_is_fused_where_the_product_ran_or_fits_two_ops(tmp_path: Path, runs: dict[str, list[int]]) -> None:
    assert read(tmp_path, profile_proto(runs).SerializeToString()).ops["kernel"].isna().all()


def test_a_gpus_kernels_count_without_their_launches(tmp_path: Path) -> None:
    proto = profile_proto({"d/MatMul": [9]})
    exec_ = proto.nodes[3].execs[0]
    for duration in (30, 10):
        exec_.accelerator_execs["/device:gpu:0/stream:all"].times.add(int64_values=[500, duration])
    profile = read(tmp_path, proto.SerializeToString())
    row = profile.ops.iloc[0]
    assert (row["calls"], row["time_s"], row["placement"]) == (1, pytest.approx(40e-6), "/device:gpu:0/stream:all")
    assert "launching kernels, 0.009 ms" in profile.warnings[0]


def test_requested_bytes_are_summed_over_memory_execs(tmp_path: Path) -> None:
    proto = profile_proto({"d/MatMul": [9], "w": [1]})
    for size in (30, 10):
        proto.nodes[3].execs[0].memory_execs.add(requested_bytes=size)
    reported = read(tmp_path, proto.SerializeToString()).ops.set_index("op")["reported_bytes"]
    assert reported["d/MatMul"] == 40
    assert pd.isna(reported["w"])


def test_attributes_and_operands_from_other_output_slots(tmp_path: Path) -> None:
    proto = profile_proto({"d/MatMul": [9]})
    proto.nodes[1].output_shapes[1].int64_values.extend([2, 3])
    proto.nodes[3].src_output_index[1] = 1
    proto.nodes[3].attrs["transpose_b"].b = True
    row = read(tmp_path, proto.SerializeToString()).ops.iloc[0]
    assert (row["shapes"], row["attributes"]) == ("-1x3;2x3", "trans_b=t")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (FUSED[:-9], "no whole ProfileProto message"),
        (profile_proto({}).SerializeToString(), "no node of this graph ran"),
        (profile_proto({"w": [-3]}).SerializeToString(), "'w' in step 0: its time is (200, -3)"),
        (profile_proto({"w": [1 << 62]}).SerializeToString(), "'w' in step 0: its time is"),
        (profile_proto({"w": [1]}, start=-900).SerializeToString(), "expected a start"),
    ],
)
def test_faults_are_named_in_one_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in refusal(tmp_path / "profile_1", content)


def test_shapes_that_do_not_multiply_are_refused(tmp_path: Path) -> None:
    proto = profile_proto({"d/MatMul": [9]})
    proto.nodes[1].output_shapes[0].int64_values[:] = [7, 5]
    assert "do not multiply" in refusal(tmp_path / "profile_1", proto.SerializeToString())


@given(content=damaged(FUSED))
def test_a_damaged_dump_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    read_or_refuse(proto, tmp_path_factory.mktemp("damaged") / "profile_1", content)


@pytest.mark.parametrize("threads", [1, 2])
def test_real_dumps_agree_with_the_same_steps_metadata(public_data: Callable[[str], Path], threads: int) -> None:
    folder = public_data(f"profiles/p1b3_tf1_t{threads}")
    proto = read_profile(folder / "profile_5", batch=100)
    metadata = read_profile(folder / "run_metadata_5steps.pbs")
    assert matrix_flop(proto) == P1B3_FLOP
    assert proto.steps == metadata.steps == 5
    assert proto.ops["time_s"].sum() == pytest.approx(metadata.ops["time_s"].sum(), rel=0.02)
    assert proto.wall_step_s == pytest.approx(metadata.wall_step_s, rel=0.001)
    ours, theirs = (p.ops[p.ops["shapes"].notna()].set_index("op")["time_s"] for p in (proto, metadata))
    both = pd.DataFrame({"proto": ours, "metadata": theirs}).dropna()
    assert (both.loc[both["metadata"] > 1e-4].diff(axis=1)["metadata"].abs() < 1e-5).all()


@pytest.mark.parametrize(("last", "mode"), [("Relu", "inference"), ("ReluGrad", "training")])
def test_inference_is_distinguished_from_training(last: str, mode: str, tmp_path: Path) -> None:
    """The gradient is a node of either graph: it must have run."""
    profile = profile_proto({"d/MatMul": [9], "d/Relu": [5]})
    profile.nodes[len(NODES)].name, profile.nodes[len(NODES)].op = "gradients/d/ReluGrad", "ReluGrad"
    next(node for node in profile.nodes.values() if node.name == "d/Relu").op = last
    assert read(tmp_path, profile.SerializeToString()).workload.mode == mode
