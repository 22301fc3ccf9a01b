"""Chains of element-wise ops that run as one kernel, by hand."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.operators import benchmark_kernels
from estimator.core.types import Fusion, Workload
from estimator.profiles import read_profile
from estimator.work import count_work, fuse
from tests.conftest import make_ops, unpacked_fusion
from tests.profiles.layers.models import profile as layers_profile

TOY = Workload(name="toy", batch_size=8, precision="fp32")
Row = dict[str, object]


def op(op_type: str, shapes: str, output: str | None = None, **more: object) -> Row:
    return {"op_type": op_type, "shapes": shapes, "output_shapes": output, "calls": 1.0, **more}


def fused(*rows: Row) -> tuple[pd.DataFrame, pd.DataFrame, Fusion, tuple[str, ...]]:
    """WORK before and after fusion, the savings, and warnings."""
    work = count_work(make_ops(*rows), TOY).work
    return work, *unpacked_fusion(fuse(work, TOY, "elementwise"))


BIAS, RELU = op("BiasAdd", "100x50;50", "100x50"), op("Relu", "100x50", "100x50")
MUL = op("Mul", "100x50;100x50", "100x50")


def test_a_chain_moves_its_operands_and_its_result() -> None:
    _, fused_work, saved, warnings = fused(BIAS, RELU, MUL)
    operands_and_result = 4 * (5000 + 50 + 5000 + 5000)  # image, bias, the product's other factor; the result
    assert list(fused_work["bytes"]) == [operands_and_result, 0, 0]
    assert list(fused_work["flop"]) == [3 * 5000, 0, 0]
    assert list(fused_work["calls"]) == [1, 0, 0]
    assert fused_work["intensity"].iloc[0] == 15000 / operands_and_result
    assert saved == Fusion("elementwise", chains=1, ops=3, saved_bytes=2 * 2 * 4 * 5000, saved_launches=2)
    assert warnings == ()


def test_a_chain_has_no_channels_wherever_its_bias_is() -> None:
    for rows in ((BIAS, RELU), (MUL, BIAS)):
        _, fused_work, saved, _ = fused(*rows)
        assert saved.chains == 1
        assert benchmark_kernels(fused_work)[0] not in ("bias_add", "channel_sum", "bias_grad")


def test_a_cast_in_a_chain_saves_its_result() -> None:
    """In bf16 up to the cast; its fp32 result, which the next op reads, is neither written nor read."""
    cast = op("Cast", "100x50", "100x50", attributes="from=bf16;to=fp32")
    _, fused_work, saved, _ = fused({**BIAS, "precision": "bf16"}, cast, {**RELU, "precision": "fp32"})
    assert saved.saved_bytes == 2 * 5000 * (2 + 4)
    assert fused_work["bytes"].iloc[0] == 2 * (5000 + 50) + 4 * 5000


def test_rows_without_calls_do_not_interrupt_a_chain() -> None:
    gone = op("Cast", "100x50", "100x50", attributes="from=bf16;to=fp32")
    work = count_work(make_ops(BIAS, gone, RELU), TOY).work
    gone_work = work.assign(calls=work["calls"].where(work["op_type"] != "Cast", 0.0))
    assert fuse(gone_work, TOY, "elementwise").saved.ops == 2


def test_a_chain_with_an_activation_has_its_operator() -> None:
    tanh, sigmoid = op("Tanh", "100x50", "100x50"), op("Sigmoid", "100x50", "100x50")
    _, fused_work, _, _ = fused(BIAS, RELU, tanh, sigmoid, op("Sum", "100x50", "50"), BIAS, RELU)
    assert fused_work["operator"].tolist() == ["tanh", "relu", "tanh", "sigmoid", "sum", "bias_add", "relu"]


def test_fusion_none_changes_nothing() -> None:
    work = count_work(make_ops(BIAS, RELU), TOY).work
    fused_work, saved, warnings = unpacked_fusion(fuse(work, TOY, "none"))
    assert fused_work is work
    assert (saved, warnings) == (Fusion(), ())


def test_times_of_the_source_are_kept() -> None:
    work, fused_work, _, _ = fused({**BIAS, "time_s": 3.0}, {**RELU, "time_s": 2.0})
    assert list(fused_work["time_s"]) == [3, 2]
    assert list(fused_work["op"]) == list(work["op"])


def test_amounts_are_those_of_all_calls() -> None:
    _, fused_work, saved, _ = fused({**BIAS, "calls": 12.0}, {**RELU, "calls": 12.0})
    assert fused_work["bytes"].iloc[0] == 12 * 4 * (5000 + 50 + 5000)
    assert saved.saved_launches == 12


def test_traffic_of_a_fused_update() -> None:
    mul = op("Mul", "29532x1000;1", "29532x1000", phase="optimizer")
    assign = op("AssignSubVariableOp", "1;29532x1000", None, phase="optimizer")
    _, fused_work, _, _ = fused(mul, assign)
    assert fused_work["bytes"].iloc[0] == 4 * (3 * 29532000 + 1)  # gradient, rate and variable read, variable written


def test_updates_of_two_equal_variables_are_not_fused() -> None:
    assign = op("AssignSubVariableOp", "1;100x50", None, phase="optimizer")
    mul = op("Mul", "100x50;1", "100x50", phase="optimizer")
    apply = op("ApplyGradientDescent", "100x50;1;100x50", "100x50", phase="optimizer")
    add = op("aten::add_", "100x50;100x50", None, phase="optimizer")
    assert fused(mul, assign, mul, assign)[2].chains == 2
    assert fused(mul, mul)[2].ops == 0
    assert fused(apply, apply)[2].ops == 0
    assert fused(add, op("aten::mul_", "100x50;1", None, phase="optimizer"))[2].ops == 0


def test_results_are_broadcast_operands_where_the_dump_has_none() -> None:
    rows = [op(name, "100x50;1", None, placement="cpu", op=name) for name in ("aten::mul", "aten::tanh", "aten::add")]
    _, fused_work, saved, _ = fused(*rows)
    assert saved.ops == 3
    assert fused_work["bytes"].iloc[0] == 4 * (5000 + 3 + 5000)


def test_host_ops_do_not_interrupt_a_chain() -> None:
    assert fused(BIAS, op("Identity", "100x50", "100x50"), RELU)[2].ops == 2


KEPT_APART: dict[str, tuple[Row, ...]] = {
    "a product between": (BIAS, op("MatMul", "100x50;50x50", "100x50"), RELU),
    "a reduction after": (RELU, op("BiasAddGrad", "100x50", "50")),
    "another shape": (BIAS, op("Relu", "50x100", "50x100")),
    "a broadcast": (op("Relu", "50", "50"), BIAS),
    "another phase": ({**BIAS, "phase": "forward"}, {**RELU, "phase": "backward"}),
    "another stream": ({**BIAS, "stream": "7"}, {**RELU, "stream": "8"}),
    "another rank": ({**BIAS, "rank": 0}, {**RELU, "rank": 1}),
    "other calls": (BIAS, {**RELU, "calls": 2.0}),
    "fusions already": (op("fusion", "100x50", "100x50", kernel="add"),) * 2,
    "fused kernels": ({**BIAS, "kernel": "triton_poi_fused_add_0"}, {**RELU, "kernel": "triton_poi_fused_relu_1"}),
    "what reads nothing": (RELU, op("ZerosLike", "100x50", "100x50")),
    "unknown shapes": (op("Mul", "unknown;100x50", "100x50"), RELU),
    "stated traffic": ({**BIAS, "flop": 1.0, "bytes": 8.0}, RELU),
}


@pytest.mark.parametrize("rows", KEPT_APART.values(), ids=KEPT_APART)
def test_ops_that_are_not_fused(rows: tuple[Row, ...]) -> None:
    work, fused_work, saved, _ = fused(*rows)
    assert (saved.chains, saved.ops, saved.saved_bytes, saved.saved_launches) == (0, 0, 0, 0)
    pd.testing.assert_frame_equal(fused_work, work)


def test_streams_are_each_followed_in_their_own_order() -> None:
    one, two = {"stream": "7"}, {"stream": "8"}
    _, fused_work, saved, _ = fused({**BIAS, **one}, {**MUL, **two}, {**RELU, **one}, {**RELU, **two})
    assert saved.chains == 2
    assert list(fused_work["bytes"] > 0) == [True, True, False, False]


def test_rows_sorted_by_time_are_not_fused() -> None:
    rows = [{**row, "time_s": 1.0 / (i + 1)} for i, row in enumerate([BIAS, RELU] * 5)]
    _, _, saved, (warning,) = fused(*rows)
    assert saved.ops == 0
    assert warning.startswith("10 element-wise rows are not fused")
    assert "by their times" in warning


def test_rows_summed_by_op_type_are_not_fused() -> None:
    _, _, saved, (warning,) = fused({**BIAS, "op": "BiasAdd 100x50;50"}, {**RELU, "op": "Relu"})
    assert saved.ops == 0
    assert "2 element-wise rows are not fused" in warning
    assert "each row sums up like ops" in warning


ELEMENTWISE = st.sampled_from([BIAS, RELU, MUL, op("Sum", "100x50;1", "100"), op("Relu", "50x100", "50x100")])


@pytest.mark.slow
@settings(max_examples=20)
@given(
    st.lists(st.tuples(ELEMENTWISE, st.sampled_from([1.0, 3.0]), st.sampled_from(["7", "8"])), min_size=1, max_size=18)
)
def test_traffic_never_grows_and_is_at_least_operands_and_result(drawn: list[tuple[Row, float, str]]) -> None:
    rows = [
        {**row, "calls": calls, "stream": stream, "time_s": 1.0 + i} for i, (row, calls, stream) in enumerate(drawn)
    ]
    work, fused_work, saved, _ = fused(*rows)
    assert fused_work["bytes"].sum() == work["bytes"].sum() - saved.saved_bytes <= work["bytes"].sum()
    assert fused_work["flop"].sum() == work["flop"].sum()
    assert fused_work["calls"].sum() == work["calls"].sum() - saved.saved_launches
    alone = fused_work["calls"] == 0
    assert (fused_work.loc[alone, ["bytes", "flop"]] == 0).all(axis=None)
    heads = fused_work[~alone & (fused_work["op_type"] != "Sum")]
    assert (heads["bytes"] >= 2 * 4 * 5000 * heads["calls"]).all()  # an operand read and the result written
    assert list(fused_work["time_s"]) == list(work["time_s"])


@pytest.mark.slow
@settings(max_examples=20)
@given(st.lists(ELEMENTWISE, min_size=1, max_size=6))
def test_unknown_traffic_stays_unknown(rows: list[Row]) -> None:
    _, fused_work, _, _ = fused(*rows, {"op_type": "Relu"}, *rows)
    assert pd.isna(fused_work["bytes"].iloc[len(rows)])


def test_a_plain_run_fused_moves_what_xla_moved(public_data: Callable[[str], Path]) -> None:
    """The same model under XLA has the update of the first layer as one fusion."""
    profile = read_profile("p1b3/amd-epyc.tfprof")
    work = count_work(profile.ops, profile.workload).work
    fused_work, saved, _ = unpacked_fusion(fuse(work, profile.workload, "elementwise"))
    xla = read_profile(str(public_data("profiles/p1b3_tf2_xla_h3_t1")))
    by_xla = count_work(xla.ops, xla.workload).work
    update = by_xla.set_index("op").loc["multiply_subtract_fusion.8", "bytes"]
    assert fused_work.loc[fused_work["op"].str.endswith("sgd/Mul"), "bytes"].tolist() == [update]
    assert saved.saved_bytes > 2 * 4 * 29532000


def test_fusions_of_xla_are_not_fused_again(public_data: Callable[[str], Path]) -> None:
    profile = read_profile(str(public_data("profiles/p1b3_jax_t1")))
    work = count_work(profile.ops, profile.workload).work
    fused_work, saved, warnings = unpacked_fusion(fuse(work, profile.workload, "elementwise"))
    pd.testing.assert_frame_equal(fused_work, work)
    assert (saved.ops, warnings) == (0, ())


def test_both_captures_of_one_model_have_the_same_chains() -> None:
    """TensorFlow's session and its XPlane profiler, of which the one keeps ops as they ran, the other sums them up."""
    folder = Path(__file__).resolve().parents[2] / "profiles" / "p1b3"
    profiles = [read_profile(folder / name) for name in ("amd-epyc.tfprof", "amd-epyc.xplane")]
    first, second = (fuse(count_work(p.ops, p.workload).work, p.workload, "elementwise").saved for p in profiles)
    assert first == second
    assert first.chains > 0


def test_layers_are_fused_in_their_order_though_nothing_ran() -> None:
    read = layers_profile(kind="llama")
    fused = fuse(count_work(read.ops, read.workload).work, read.workload, "elementwise")
    assert fused.saved.ops > 0
    assert [note.code for note in fused.notes] == ["fusion"]
