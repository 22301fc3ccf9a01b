from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile
from estimator.profiles import read_profile
from estimator.profiles.tfprof import text
from estimator.work import count_work
from tests.conftest import unpacked
from tests.profiles.tensorflow_dumps import P1B3_FLOP, matrix_flop

TENSORFLOW_LAYOUT = """
node name | requested bytes | total execution time | accelerator execution time | cpu execution time | op occurrence
MatMul    121.01MB (100.00%, 50.00%),   67.25ms (100.00%, 90.00%),  0us (0.00%, 0.00%), 67.25ms (100.00%, 90.00%), 2|3

input_type: 0:-1x500,\t1:1000x500\t(run*1|defined*1)\texec_time: 1.25ms
input_type: 0:-1x29532,\t1:-1x1000\t(run*1|defined*1)\texec_time: 66.00ms
input_type: 0:-1x1000,\t1:29532x1000\t(run*0|defined*1)\texec_time: 0us

VariableV2  120.35MB (50.00%, 50.00%),   7.47ms (10.00%, 10.00%),  0us (0.00%, 0.00%),  7.47ms (10.00%, 10.00%), 10|10

input_type: \t(run*10|defined*10)\texec_time: 7.47ms
"""


def read(tmp_path: Path, text: str) -> Profile:
    path = tmp_path / "dump.txt"
    path.write_text(text)
    return read_profile(path)


def test_reads_tensorflows_layout(tmp_path: Path) -> None:
    profile = read(tmp_path, TENSORFLOW_LAYOUT)
    ops = profile.ops
    assert profile.workload.framework == "TensorFlow"
    assert list(ops["op_type"]) == ["MatMul"] * 3 + ["VariableV2"]
    assert list(ops["calls"]) == [1, 1, 0, 10]
    assert ops["time_s"].sum() == pytest.approx(74.72e-3)
    assert "unlisted" not in set(ops["op"])


def test_reads_the_lectures_layout_and_its_unlisted_time(p1b3: Profile) -> None:
    assert p1b3.format == "tfprof text"
    assert p1b3.device == "lecture-x86"
    times = p1b3.ops.groupby("op_type")["time_s"].sum()
    assert times["MatMul"] == pytest.approx(115.528e-3)
    assert times["unlisted"] == pytest.approx(2.77e-3, abs=0.02e-3)
    assert times.sum() == pytest.approx(287.3e-3, abs=0.05e-3)


def test_reads_the_tutorials_listing(tmp_path: Path) -> None:
    text = (
        "node name | requested bytes | total execution time | accelerator execution time | cpu execution time\n"
        "SoftmaxCrossEntropyWithLogits      36.58MB (100.00%, 0.05%),      1.37sec (100.00%, 26.68%)\n"
        "MatMul                           2720.57MB (99.95%, 3.66%),    708.14ms (73.32%, 13.83%)\n"
    )
    ops = read(tmp_path, text).ops
    assert ops["time_s"].iloc[0] == 1.37
    assert ops["reported_bytes"].iloc[1] == pytest.approx(2720.57e6)
    assert ops["time_s"].sum() == pytest.approx(1.37 / 0.2668, rel=1e-3)  # the rest is unlisted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("hello, this is no dump\n", "no reader knows this dump"),
        ("\x00\x01\x02", "no reader knows this dump"),
        (TENSORFLOW_LAYOUT.replace("0:-1x500", "0:-1y500"), "the shape '0:-1y500' cannot be read"),
        (TENSORFLOW_LAYOUT.replace("exec_time: 1.25ms", "exec_time: soon"), "this shape line cannot be read"),
        (TENSORFLOW_LAYOUT.replace("exec_time: 1.25ms", "exec_time: -1.25ms"), "below zero"),
        (TENSORFLOW_LAYOUT + "\nAssign  0B garbage\n", "no time can be read for 'Assign'"),
        (
            TENSORFLOW_LAYOUT.replace("67.25ms (100.00%, 90.00%),  0us", "0us (100.00%, 90.00%),  0us"),
            "has 90.00 % of the time but 0us",
        ),
        ("MatMul  0B (0.00%, 0.00%), 0us (0.00%, 0.00%)\n", "no op took any time"),
        ("MatMul 1B (1%, 1%), 5us (1.0%, 1.0%)\nMatMul 1B (1%, 1%), 3us (1.0%, 1.0%)\n", "expected views of one run"),
        ("0:1x2, 1:2x3 (run*1|defined*1) exec_time: 5us\nAdd  1us\n", "which is no op line"),
    ],
)
def test_faults_name_their_line_in_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(EstimatorError, match=r".") as caught:
        read(tmp_path, text)
    assert words in str(caught.value)
    assert "dump.txt" in str(caught.value) or str(tmp_path) in str(caught.value)


@pytest.mark.slow
@given(data=st.data())
def test_a_damaged_dump_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    text = list(TENSORFLOW_LAYOUT)
    for _ in range(data.draw(st.integers(1, 8))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.characters(codec="utf-8"))
    path = tmp_path_factory.mktemp("damaged") / "dump.txt"
    path.write_text("".join(text), encoding="utf-8", newline="")
    try:
        profile = read_profile(path, batch=100)
        count_work(profile.ops, profile.workload)
    except EstimatorError as error:
        assert error.faults


FUSED = """
MatMul  20us (100.00%, 40.00%), 0 float_ops (0.00%, 0.00%), 1|3

input_type: 0:-1x7,\t1:-1x5\t(run*1|defined*1)\texec_time: 20us
input_type: 0:-1x7,\t1:7x5\t(run*0|defined*1)\texec_time: 0us
input_type: 0:-1x5,\t1:7x5\t(run*0|defined*1)\texec_time: 0us

Relu  30us (60.00%, 60.00%), 1.50k float_ops (1.00%, 1.00%), 1|1

input_type: 0:-1x5\t(run*1|defined*1)\texec_time: 30us
"""


def test_a_fused_kernel_takes_the_operands_of_the_product_that_never_ran(tmp_path: Path) -> None:
    profile = read(tmp_path, FUSED)
    ops = profile.ops.set_index("op")
    assert (ops.loc["Relu -1x5", "kernel"], ops.loc["Relu -1x5", "shapes"]) == ("_FusedMatMul", "-1x7;7x5")
    assert ops.loc["Relu -1x5", "op_type"] == "Relu"
    assert sorted(ops.loc[ops["op_type"] == "MatMul", "shapes"]) == ["-1x5;7x5", "-1x7;-1x5"]
    assert "1 forward products never ran" in profile.warnings[0]
    flop = 2 * 4 * 7 * 5
    assert matrix_flop(replace(profile, workload=profile.workload.model_copy(update={"batch_size": 4}))) == 2 * flop


def test_nothing_is_fused_where_more_products_are_defined_than_kernels_ran(tmp_path: Path) -> None:
    profile = read(tmp_path, FUSED.replace("7x5\t(run*0|defined*1", "7x5\t(run*0|defined*2"))
    assert profile.ops["kernel"].isna().all()
    assert not profile.warnings


def test_float_ops_are_kept_where_no_shape_lines_split_them(tmp_path: Path) -> None:
    ops = read(tmp_path, "Conv2D  5us (100.0%, 100.0%), 1.25b float_ops (1.0%, 1.0%), 1|1\nAdd  1us\n").ops
    assert ops["reported_flop"].iloc[0] == pytest.approx(1.25e9)
    assert ops["reported_flop"].isna().iloc[1]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["op_input_shapes", "op_input_shapes_opcounts_5steps"])
def test_products_of_real_dumps_with_shapes(public_data: Callable[[str], Path], name: str, threads: int) -> None:
    profile = read_profile(public_data(f"profiles/p1b3_tf1_t{threads}/{name}.txt"), batch=100)
    work, warnings = unpacked(count_work(profile.ops, profile.workload))
    products = work[work["op_class"] == "gemm"]
    assert products.loc[products["calls"] > 0, "flop"].sum() == P1B3_FLOP
    assert products["calls"].sum() == 14  # the five forward ones under the names of Relu and BiasAdd
    assert list(products.loc[products["kernel"].notna(), "op_type"]).count("Relu") == 4
    assert not any("forward" in warning for warning in warnings)


@pytest.mark.parametrize("threads", [1, 2])
def test_views_agree_with_the_same_steps_metadata(public_data: Callable[[str], Path], threads: int) -> None:
    folder = public_data(f"profiles/p1b3_tf1_t{threads}")
    same = {
        "run_metadata.pb": ("op_input_shapes", "op_micros_bytes_occ", "op_time_and_memory"),
        "run_metadata_5steps.pbs": ("op_input_shapes_opcounts_5steps",),
    }
    for metadata, views in same.items():
        expected = read_profile(folder / metadata).ops["time_s"].sum()
        for view in views:
            assert read_profile(folder / f"{view}.txt").ops["time_s"].sum() == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_view_of_products_alone_warns_of_missing_forward_products(
    public_data: Callable[[str], Path], threads: int
) -> None:
    profile = read_profile(public_data(f"profiles/p1b3_tf1_t{threads}/op_matmul_input_shapes.txt"), batch=100)
    work, warnings = unpacked(count_work(profile.ops, profile.workload))
    assert work.loc[work["op_class"] == "gemm", "calls"].sum() == 9
    assert any("forward" in warning for warning in warnings)


def test_recognises_op_views_by_content() -> None:
    assert text.recognises(TENSORFLOW_LAYOUT.encode())
    assert not text.recognises(b"op_type,time_s\nMatMul,1\n")


def test_a_view_by_type_may_leave_ops_out_and_does_not_tell_inference(tmp_path: Path) -> None:
    assert read(tmp_path, TENSORFLOW_LAYOUT).workload.mode == "training"
