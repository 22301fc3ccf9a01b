"""Another precision: what changes, what stays, and the casts between, by hand."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.schema import PRECISIONS
from estimator.core.types import Profile, Workload
from estimator.profiles import read_profile
from estimator.work import convert_precision, count_work
from tests.conftest import make_ops, unpacked

TOY = Workload(name="toy", precision="fp32")
Row = dict[str, object]
FORWARD: Row = {"op_type": "MatMul", "shapes": "8x16;16x4", "output_shapes": "8x4", "phase": "forward"}  # weights 16x4
BACKWARD: Row = {"op_type": "MatMul", "shapes": "16x8;8x4", "phase": "backward"}
RELU: Row = {"op_type": "Relu", "shapes": "8x4", "phase": "forward"}
SOFTMAX: Row = {"op_type": "aten::softmax", "shapes": "8x4", "phase": "forward"}
UPDATE: Row = {"op_type": "ApplyGradientDescent", "shapes": "16x4;1;16x4", "phase": "optimizer"}
RELU_SHAPES: Row = {"shapes": "8x4;8x4", "output_shapes": "8x4"}
FORMATS = (("fp32", "bf16"), ("bf16", "fp32"), ("other", "fp32"))
STEP: tuple[Row, ...] = (FORWARD, RELU, SOFTMAX, BACKWARD, UPDATE)


def convert(
    *rows: Row, to: str = "bf16", workload: Workload = TOY, folded: bool = False
) -> tuple[pd.DataFrame, pd.DataFrame, tuple[str, ...]]:
    """The converted rows, the casts, and the notes."""
    work = count_work(make_ops(*rows), workload).work
    converted, notes = unpacked(convert_precision(work, workload, to, folded=folded))
    return converted.iloc[: len(work)], converted.iloc[len(work) :].set_index("op"), notes


def test_products_and_activations_narrow_and_other_ops_do_not() -> None:
    rows, _, _ = convert(*STEP)
    assert list(rows["precision"]) == ["bf16", "bf16", "fp32", "bf16", "fp32"]
    assert list(rows["bytes"]) == [2 * (128 + 64 + 32), 2 * 64, 4 * 64, 2 * (128 + 32 + 64), 4 * 3 * 64]
    assert rows["flop"].iloc[0] == 2 * 8 * 16 * 4
    assert list(rows["intensity"]) == pytest.approx(list(rows["flop"] / rows["bytes"]))


def test_casts_of_weights_gradients_and_around_fp32_ops() -> None:
    _, casts, notes = convert(*STEP)
    assert casts["bytes"].to_dict() == {
        "cast of weights of 64 elements, fp32 to bf16": 16 * 4 * (4 + 2),
        "cast of gradients of 64 elements, bf16 to fp32": 16 * 4 * (2 + 4),
        "casts around op2": 2 * 8 * 4 * (4 + 2),  # 32 elements to fp32 before the softmax, 32 back after it
    }
    assert list(casts["phase"]) == ["forward", "backward", "forward"]
    assert list(casts["calls"].iloc[:2]) == [1, 1]
    assert (casts["time_s"] == 0).all()
    assert (casts["precision"] == "fp32").all()
    assert "64 elements over all their uses, counted from the dimensions of forward products" in str(notes)


def test_the_largest_casts_are_named() -> None:
    *_, notes = convert({**SOFTMAX, "op": "huge", "shapes": "800x4"}, *STEP)
    assert "a step: casts around huge, cast of weights" in str(notes)


IMAGES: Row = {"shapes": "8x4x4x2;2", "output_shapes": "8x4x4x2"}


def of_norm(op: str, phase: str = "forward", op_type: str = "Mul") -> Row:
    """An op on images, as TensorFlow names those that it makes a normalization of."""
    return {"op": op, "op_type": op_type, "phase": phase, **IMAGES}


def test_a_normalization_made_of_several_ops_stays_as_a_whole() -> None:
    """As Keras has it: its input is cast to fp32 and its output back, and so are the gradients."""
    relu: Row = {"op_type": "Relu", **IMAGES, "phase": "forward"}
    rows, casts, notes = convert(
        FORWARD,
        {**relu, "op": "image"},
        of_norm("net/norm_1/moments/SquaredDifference", op_type="SquaredDifference"),
        of_norm("net/norm_1/batchnorm/mul_1"),
        {**relu, "op": "next"},
        {"op": "last/grad", "op_type": "ReluGrad", **IMAGES, "phase": "backward"},
        of_norm("gradient_tape/net/norm_1/batchnorm/mul_1/Mul", "backward"),
        of_norm("gradient_tape/net/mul", "backward"),
        BACKWARD,
    )
    assert list(rows["precision"]) == ["bf16", "bf16", "fp32", "fp32", "bf16", "bf16", "fp32", "bf16", "bf16"]
    around = casts[casts.index.str.startswith("casts around")]
    assert around["bytes"].to_dict() == {
        f"casts around {layer}": 2 * 8 * 4 * 4 * 2 * (4 + 2)  # in to fp32, out to bf16
        for layer in ("net/norm_1", "gradients of net/norm_1")
    }
    assert list(around["calls"]) == [2, 2]
    assert "moments and normalizations by them" in str(notes)


def test_a_layer_normalization_has_no_scope_of_its_own_for_the_rest() -> None:
    row = of_norm("net/layer/moments/mean", op_type="Mean")
    rows, _, _ = convert(FORWARD, row, of_norm("net/layer/mul_1"), of_norm("net/mul"), BACKWARD)
    assert list(rows["precision"]) == ["bf16", "fp32", "fp32", "bf16", "bf16"]


@pytest.mark.parametrize(
    "row", [of_norm("net/moments/mul"), of_norm("net/norm/batchnorm/mul", op_type="fusion")], ids=["net", "by XLA"]
)
def test_activations_outside_normalizations_narrow(row: Row) -> None:
    """A whole network in a scope of that name is none; of what XLA makes, casts are a part."""
    rows, casts, _ = convert({**FORWARD, "op": "net/dense/MatMul"}, row, BACKWARD)
    assert set(rows["precision"]) == {"bf16"}
    assert not casts.index.str.startswith("casts around").any()


def test_a_compiler_folds_the_casts_of_normalizations_too() -> None:
    rows, casts, _ = convert(FORWARD, of_norm("net/norm/batchnorm/mul"), BACKWARD, folded=True)
    assert set(rows["precision"]) == {"bf16"}
    assert not casts.index.str.startswith("casts around").any()


@pytest.mark.parametrize("row", [of_norm("net/norm/batchnorm/mul"), SOFTMAX], ids=["normalization", "softmax"])
def test_all_narrow_activations_widen_back(row: Row) -> None:
    rows, _, _ = convert(FORWARD, row, BACKWARD, to="fp32", workload=Workload(name="toy", precision="bf16"))
    assert set(rows["precision"]) == {"fp32"}


@pytest.mark.parametrize("shapes", ["8x4x4x2;2", "-1x4x4x2;2", None])
def test_a_normalization_of_unknown_size_is_cast_by_its_bytes(shapes: str | None) -> None:
    row: Row = {"op": "net/norm/batchnorm/mul", "op_type": "Mul", "phase": "forward", "shapes": shapes, "bytes": 2048}
    _, casts, _ = convert(FORWARD, row, BACKWARD)
    assert casts.loc["casts around net/norm", "bytes"] == 2048 / 4 * (4 + 2)


def test_fp16_scales_its_gradients_back() -> None:
    _, casts, _ = convert(*STEP, to="fp16")
    assert casts.loc["cast of gradients' scale, fp32 to fp32", "bytes"] == 16 * 4 * 8


def test_a_compiler_folds_all_casts_but_those_of_the_weights() -> None:
    rows, casts, notes = convert(*STEP, folded=True)
    assert list(casts.index) == ["cast of weights of 64 elements, fp32 to bf16"]
    assert rows["bytes"].iloc[2] == 2 * 64  # what the softmax reads and writes is narrow
    assert "fused into the ops beside them" in str(notes)


def test_weights_beyond_the_products_come_from_the_workload_file() -> None:
    workload = Workload(name="toy", precision="fp32", parameters=100, variables=7)
    _, casts, _ = convert(*STEP, workload=workload)
    notes = casts.loc[casts["phase"] == "forward", ["bytes", "calls", "work_source"]].iloc[:2]
    assert notes.to_numpy().tolist() == [[64 * 6, 1, "shapes"], [36 * 6, 6, "workload"]]


def test_other_weights_of_the_same_size_are_cast_too() -> None:
    _, casts, _ = convert(*STEP, workload=Workload(name="toy", precision="fp32", parameters=128))
    assert casts.loc[casts["phase"] == "backward", "bytes"].tolist() == [64 * 6, 64 * 6]


def test_a_table_of_embeddings_is_not_cast() -> None:
    table: Row = {"op_type": "GatherV2", "shapes": "1000x16;8;1", "output_shapes": "8x16", "phase": "forward"}
    workload = Workload(name="toy", precision="fp32", parameters=1000 * 16 + 64)
    rows, casts, _ = convert(table, *STEP, workload=workload)
    assert rows["precision"].iloc[0] == "fp32"
    assert casts.loc["cast of weights of 64 elements, fp32 to bf16", "bytes"] == 64 * 6
    assert list(casts.index[2:]) == ["casts around op0", "casts around op3"]  # of what it writes, for the product


def test_a_convolution_casts_its_kernel() -> None:
    sizes = dict(zip("nchwkrs", (2, 6, 5, 5, 10, 3, 3), strict=True))
    dims = {f"conv_{letter}": size for letter, size in sizes.items()}
    convolution: Row = {"op_class": "convolution", **dims, "groups": 2, "phase": "forward"}
    _, casts, _ = convert(convolution, UPDATE)
    assert casts.loc["cast of weights of 270 elements, fp32 to bf16", "bytes"] == 10 * 3 * 9 * 6


def test_fp8_products_read_operands_that_are_stored_in_bf16() -> None:
    rows, casts, _ = convert(*STEP, to="fp8")
    assert list(rows["precision"]) == ["fp8", "bf16", "fp32", "fp8", "fp32"]
    assert casts["bytes"].to_dict() == {
        "cast of weights of 64 elements, fp32 to fp8": 64 * (4 + 1),
        "cast of gradients of 64 elements, bf16 to fp32": 64 * (2 + 4),
        "cast of products' operands, bf16 to fp8": (8 * 16 + 8 * 4) * (2 + 1),  # input, and gradient of the output
        "casts around op2": 64 * 6,
    }


def test_fp8_products_of_a_step_in_bf16_read_casts_of_weights_and_operands() -> None:
    narrow: list[Row] = [{**row, "precision": "bf16"} for row in (FORWARD, RELU, BACKWARD)]
    rows, casts, _ = convert(*narrow, UPDATE, to="fp8")
    assert list(rows["precision"]) == ["fp8", "bf16", "fp8", "fp32"]
    assert casts["bytes"].to_dict() == {
        "cast of weights of 64 elements, bf16 to fp8": 64 * (2 + 1),
        "cast of products' operands, bf16 to fp8": (8 * 16 + 8 * 4) * (2 + 1),
    }
    _, casts, _ = convert(*({**row, "precision": "fp8"} for row in narrow), to="fp4")
    assert casts.empty  # they read narrow operands already


@pytest.mark.parametrize(("to", "attention"), [("bf16", "bf16"), ("fp8", "bf16"), ("tf32", "tf32")])
def test_attention_keeps_the_format_in_which_operands_of_fp8_are_stored(to: str, attention: str) -> None:
    row: Row = {"op_class": "attention", "batch": 4, "m": 8, "n": 8, "k": 16, "phase": "forward"}
    rows, _, _ = convert(FORWARD, row, to=to)
    assert list(rows["precision"]) == [to, attention]


def test_tf32_is_stored_as_fp32() -> None:
    rows, casts, _ = convert(*STEP, to="tf32")
    assert list(rows["precision"]) == ["tf32", "fp32", "fp32", "tf32", "fp32"]
    assert list(rows["bytes"]) == list(count_work(make_ops(*STEP), TOY).work["bytes"])
    assert casts.empty


def test_from_tf32_activations_are_those_of_fp32() -> None:
    rows, casts, _ = convert({**FORWARD, "precision": "tf32"}, RELU, {**BACKWARD, "precision": "tf32"})
    assert list(rows["bytes"]) == [2 * 224, 2 * 64, 2 * 224]
    assert len(casts) == 2


def test_from_bf16_to_fp32_bytes_grow_and_nothing_is_cast() -> None:
    narrow: list[Row] = [{**row, "precision": "bf16"} for row in (FORWARD, RELU, BACKWARD)]
    rows, casts, _ = convert(*narrow, {**UPDATE, "precision": "fp32"}, to="fp32")
    assert (rows["precision"] == "fp32").all()
    assert list(rows["bytes"]) == [4 * 224, 4 * 64, 4 * 224, 4 * 192]
    assert casts.empty


def test_from_bf16_to_fp32_casts_between_formats_are_removed() -> None:
    cast: Row = {"op_type": "Cast", "shapes": "8x4", "output_shapes": "8x4", "precision": "fp32", "phase": "forward"}
    formats = ("from=fp32;to=bf16", "from=other;to=fp32", None, "from=fp64;to=fp32")
    casts: list[Row] = [{**cast, "attributes": notes} for notes in formats]
    rows, _, notes = convert({**FORWARD, "precision": "bf16"}, *casts, to="fp32")
    assert list(rows["calls"].fillna(1.0).iloc[1:]) == [0, 1, 0, 1]
    assert list(rows["bytes"].iloc[1:]) == [0, 32 * 8, 0, 32 * 6]  # the last has nothing in fp64 any more
    assert (rows["time_s"] == 1e-3).all()  # as they ran on the source
    assert "2 casts between formats are dropped" in str(notes)


def test_products_that_are_narrow_already_have_their_casts() -> None:
    """One of two layers in bf16 as it is; the other is cast."""
    narrow: Row = {**FORWARD, "shapes": "8x32;32x4", "precision": "bf16"}
    workload = Workload(name="toy", precision="fp32", parameters=16 * 4 + 32 * 4 + 8)
    _, casts, _ = convert(narrow, FORWARD, BACKWARD, workload=workload)
    assert casts["bytes"].tolist() == [16 * 4 * 6, 16 * 4 * 6]


@pytest.mark.parametrize(("to", "left"), [("bf16", 0.0), ("fp32", 0.0), ("fp16", 1.0)])
def test_formats_with_the_range_of_fp32_need_no_loss_scaling(to: str, left: float) -> None:
    narrow: list[Row] = [{**row, "precision": "fp16"} for row in (FORWARD, BACKWARD)]
    names = ("aten::_amp_foreach_non_finite_check_and_unscale_", "IsFinite")
    scaling: list[Row] = [{"op_type": name, "shapes": "16x4", "phase": "optimizer"} for name in names]
    rows, _, notes = convert(*narrow, *scaling, UPDATE, to=to)
    assert list(rows["bytes"].iloc[2:4] > 0) == [left > 0] * 2
    assert list(rows["calls"].fillna(1.0).iloc[2:]) == [left, left, 1.0]
    assert any("loss scaling" in note for note in notes) == (left == 0)


def test_loss_scaling_that_is_not_added_is_noted() -> None:
    narrow: list[Row] = [{**row, "precision": "bf16"} for row in (FORWARD, BACKWARD)]
    assert any("loss scaling: its ops are not added" in note for note in convert(*narrow, UPDATE, to="fp16")[2])
    assert not any("loss scaling" in note for note in convert(*STEP, to="fp16")[2])  # its casts hold it


def test_a_step_given_as_layers_may_also_be_held_in_the_narrow_format() -> None:
    of_layers = [{**row, "time_s": 0.0} for row in STEP]
    assert any("'precision: bf16' in layers.yaml instead holds" in note for note in convert(*of_layers)[2])
    assert not any("layers.yaml" in note for note in convert(*STEP)[2])


def test_only_casts_between_mixed_formats_are_removed() -> None:
    cast: Row = {"op_type": "Cast", "shapes": "8x4", "output_shapes": "8x4", "phase": "forward"}
    rows, _, notes = convert(FORWARD, cast, to="fp64")
    assert rows["bytes"].iloc[1] > 0
    assert not any("dropped" in sentence for sentence in notes)


def test_a_copy_between_formats_is_a_cast() -> None:
    copy: Row = {"op_type": "aten::copy_", "shapes": "8x4;8x4", "phase": "forward"}
    product: Row = {**FORWARD, "precision": "bf16"}
    rows, _, notes = convert(product, copy, {**copy, "attributes": "from=bf16;to=fp32"}, to="fp32")
    assert list(rows["bytes"].iloc[1:]) == [32 * 8, 0]
    assert "1 casts between formats are dropped" in notes
    assert not any("dropped" in sentence for sentence in convert(product, to="fp32")[2])


@pytest.mark.parametrize(("dump_says", "of_unknown_format"), [("fp32", 8), ("bf16", 4), (None, 8)])
def test_a_cast_moves_each_format_once(dump_says: str | None, of_unknown_format: int) -> None:
    cast: Row = {"op_type": "Cast", "shapes": "8x4", "output_shapes": "8x4", "precision": dump_says}
    rows = count_work(make_ops(*({**cast, "attributes": f"from={a};to={b}"} for a, b in FORMATS)), TOY).work
    assert list(rows["bytes"].iloc[:2]) == [32 * 6, 32 * 6]
    assert list(rows["precision"].iloc[:2]) == ["fp32", "fp32"]
    assert rows["bytes"].iloc[2] == 32 * of_unknown_format


def test_each_use_of_a_weight_is_cast_but_autocast_of_pytorch_keeps_the_first() -> None:
    steps: Row = {**FORWARD, "calls": 5}
    workload = Workload(name="toy", precision="fp32", parameters=64)
    _, casts, _ = convert(steps, BACKWARD, workload=workload)
    assert casts.loc["cast of gradients of 64 elements, bf16 to fp32", ["bytes", "calls"]].tolist() == [5 * 64 * 6, 5]
    _, casts, _ = convert({**steps, "op_type": "aten::mm"}, BACKWARD, workload=workload)
    assert casts.loc["cast of gradients of 64 elements, bf16 to fp32", ["bytes", "calls"]].tolist() == [64 * 6, 1]


def test_each_use_of_a_bias_is_cast() -> None:
    gradient: Row = {"op_type": "BiasAddGrad", "op_class": "reduction", "shapes": "4x8", "output_shapes": "8",
                     "phase": "backward", "calls": 5}  # fmt: skip
    _, casts, _ = convert({**FORWARD, "calls": 5}, BACKWARD, gradient)
    assert casts.loc["cast of weights of 8 elements, fp32 to bf16", ["bytes", "calls"]].tolist() == [5 * 8 * 6, 5]
    assert casts.loc["cast of gradients of 8 elements, bf16 to fp32", "calls"] == 5


@pytest.mark.parametrize(("source", "to", "state"), [("fp64", "fp32", "fp32"), ("fp32", "fp64", "fp64")])
def test_double_precision_holds_for_the_whole_step(source: str, to: str, state: str) -> None:
    rows, casts, _ = convert(*({**row, "precision": source} for row in STEP), to=to)
    assert set(rows["precision"]) == {to}
    assert rows["precision"].iloc[-1] == state
    assert casts.empty


def test_without_a_backward_pass_no_weights_are_cast() -> None:
    _, casts, notes = convert(FORWARD, RELU)
    assert casts.empty
    assert "taken to be cast beforehand" in str(notes)


def test_rows_of_a_weights_shape_and_unknown_phase_are_updates() -> None:
    fusion: Row = {"op_type": "fusion", "kernel": "subtract", "output_shapes": "16x4", "phase": "unknown"}
    rows, _, _ = convert(FORWARD, BACKWARD, {**fusion, "shapes": "16x4;16x4"}, {**fusion, **RELU_SHAPES})
    assert list(rows["precision"].iloc[2:]) == ["fp32", "bf16"]


@pytest.mark.parametrize("phase", ["forward", "backward", "unknown"])
@pytest.mark.parametrize(
    "shapes", [{"shapes": "16x4;16x4"}, {"shapes": "4x16"}, {"shapes": "1x1;2", "output_shapes": "16x4"}]
)
def test_fp32_rows_of_a_weights_shape_stay_in_fp32(phase: str, shapes: Row) -> None:
    """A penalty on weights: their squares, and the sum of its gradient and that of the loss."""
    rows, casts, _ = convert(*STEP, {"op_type": "Mul", "phase": phase, **shapes}, {**RELU, "phase": phase})
    assert list(rows["precision"].iloc[-2:]) == ["fp32", "bf16"]
    assert len(casts) == 3  # and none around it


def test_products_with_unknown_sizes_give_no_weights() -> None:
    partly: Row = {"op_type": "MatMul", "m": 8, "n": 4, "phase": "forward"}
    rows, _, _ = convert(*STEP, partly, {"op_type": "Mul", "phase": "backward", "shapes": "8x4"})
    assert rows["precision"].iloc[-1] == "bf16"


def test_a_convolutions_kernel_is_a_weight() -> None:
    sizes = dict(zip("nchwkrs", (2, 6, 5, 5, 10, 3, 3), strict=True))
    convolution: Row = {"op_class": "convolution", **{f"conv_{x}": size for x, size in sizes.items()}}
    square: Row = {"op_type": "Square", "phase": "backward"}
    beside: list[Row] = [{**square, "shapes": shape} for shape in ("3x3x6x10", "10x6x3x3", "2x5x5x6")]
    rows, _, _ = convert({**convolution, "phase": "forward"}, *beside, UPDATE)
    assert list(rows["precision"].iloc[1:4]) == ["fp32", "fp32", "bf16"]


def test_an_activation_that_is_as_large_as_a_weight_goes_by_its_phase() -> None:
    square: Row = {**FORWARD, "shapes": "16x16;16x4", "output_shapes": "16x4"}
    relu: Row = {**RELU, "shapes": "16x4"}
    rows, _, _ = convert(square, relu, BACKWARD, {**relu, "phase": "optimizer"}, {**relu, "phase": "unknown"})
    assert list(rows["precision"]) == ["bf16", "bf16", "bf16", "fp32", "fp32"]


def test_weights_that_are_transposed_before_their_product_are_cast_first() -> None:
    turned: Row = {"op_type": "Transpose", "shapes": "16x4;2", "output_shapes": "4x16"}
    rows, _, _ = convert(*STEP, {**turned, "phase": "forward"}, {**turned, "phase": "backward"})
    assert list(rows["precision"].iloc[-2:]) == ["bf16", "fp32"]


def test_a_step_that_is_narrow_as_a_whole_widens_with_its_weights() -> None:
    narrow: list[Row] = [{**row, "precision": "bf16"} for row in (FORWARD, BACKWARD, {**RELU, "shapes": "16x4"})]
    rows, _, _ = convert(*narrow, to="fp32")
    assert list(rows["precision"]) == ["fp32", "fp32", "fp32"]


def test_stated_amounts_do_not_freeze_the_precision() -> None:
    product: Row = {"op_type": "MatMul", "m": 8, "n": 8, "k": 8, "flop": 1024.0, "bytes": 768.0}
    stream: Row = {"op_class": "elementwise", "flop": 10.0, "bytes": 80.0}
    assert list(convert(product, stream)[0]["bytes"]) == [384, 40]


def test_host_input_and_collectives_stay() -> None:
    others: list[Row] = [
        {"op_type": name, "reported_bytes": 100.0} for name in ("Const", "Placeholder", "CollectiveReduceV2")
    ]
    rows, _, _ = convert(FORWARD, *others)
    assert list(rows["precision"].iloc[1:]) == ["fp32"] * 3


KEPT_NAMES = (
    "SparseSoftmaxCrossEntropyWithLogits aten::_softmax aten::_log_softmax_backward_data Exp Pow "
    "aten::pow aten::exp aten::log aten::native_layer_norm aten::native_layer_norm_backward aten::nll_loss_forward "
    "aten::mse_loss aten::binary_cross_entropy_with_logits aten::sum aten::cumsum aten::prod aten::rsqrt "
    "aten::native_group_norm aten::softmax Sum exponential log-plus-one aten::softplus"
)
NARROWED_NAMES = (
    "Relu Mul Softmax LogSoftmax AddV2 MaxPool BiasAddGrad aten::relu aten::native_batch_norm aten::gelu "
    "aten::native_dropout aten::add_ aten::max_pool2d_with_indices FusedBatchNormV3 aten::expand_copy maximum "
    "Expm1Like aten::tanh SelectV2 aten::mean"
)


@pytest.mark.slow
@pytest.mark.parametrize("name", KEPT_NAMES.split())
def test_the_lists_of_automatic_mixed_precision(name: str) -> None:
    row: Row = {"op_type": name, "op_class": "elementwise", "flop": 1.0, "bytes": 8.0, "phase": "forward"}
    assert convert(FORWARD, row)[0]["precision"].iloc[1] == "fp32"


@pytest.mark.slow
@pytest.mark.parametrize("name", NARROWED_NAMES.split())
def test_all_other_activations_are_narrow(name: str) -> None:
    row: Row = {"op_type": name, "op_class": "elementwise", "flop": 1.0, "bytes": 8.0, "phase": "forward"}
    assert convert(FORWARD, row)[0]["precision"].iloc[1] == "bf16"


def test_sums_of_the_backward_pass_take_the_gradients_format() -> None:
    rows: list[Row] = [{"op_type": "aten::sum", "shapes": "8x4", "phase": phase} for phase in ("forward", "backward")]
    assert list(convert(FORWARD, *rows)[0]["precision"].iloc[1:]) == ["fp32", "bf16"]


def test_a_kernel_without_an_op_is_known_by_its_own_name() -> None:
    kernel: Row = {"kernel": "void cunn_SoftMaxForward<4>", "op_class": "normalization", "flop": 1.0, "bytes": 8.0}
    assert convert(FORWARD, {**kernel, "op_type": None})[0]["precision"].iloc[1] == "fp32"


def test_a_step_in_the_target_precision_stays_as_it_is() -> None:
    rows: list[Row] = [{**row, "precision": "bf16"} for row in STEP[:4]]
    work = count_work(make_ops(*rows, UPDATE), TOY).work
    converted, notes = unpacked(convert_precision(work, TOY, "bf16"))
    pd.testing.assert_frame_equal(converted, work)
    assert notes == ()


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.sampled_from(STEP), min_size=1, max_size=8), st.sampled_from(PRECISIONS), st.booleans())
def test_source_times_rows_and_arithmetic_stay(rows: list[Row], to: str, folded: bool) -> None:
    work = count_work(make_ops(FORWARD, *rows), TOY).work
    converted = convert_precision(work, TOY, to, folded=folded).work
    assert converted["time_s"].sum() == work["time_s"].sum()
    kept = converted.iloc[: len(work)]
    pd.testing.assert_frame_equal(kept[["op", "time_s", "flop", "calls"]], work[["op", "time_s", "flop", "calls"]])
    assert (converted.dtypes == work.dtypes).all()
    again, notes = unpacked(convert_precision(converted, TOY, to, folded=folded))
    assert again is converted
    assert notes == ()


@pytest.mark.slow
@settings(max_examples=10)
@given(st.lists(st.sampled_from(STEP), min_size=1, max_size=24))
def test_unknown_traffic_stays_unknown(rows: list[Row]) -> None:
    work = count_work(make_ops(*rows, {"op_type": "Relu", "phase": "forward"}, {"op_type": "Mystery"}), TOY).work
    converted = convert_precision(work, TOY, "bf16").work
    assert converted["bytes"].iloc[len(rows) : len(rows) + 2].isna().all()


def test_casts_of_the_shipped_profile(p1b3: Profile) -> None:
    work = count_work(p1b3.ops, p1b3.workload).work
    converted = convert_precision(work, p1b3.workload, "bf16").work
    casts = converted.iloc[len(work) :]
    assert casts["bytes"].sum() == 2 * 30088701 * 6
    updates = work["phase"] == "optimizer"
    assert converted.iloc[: len(work)].loc[updates, "bytes"].sum() == work.loc[updates, "bytes"].sum()
    products = work["op_class"] == "gemm"
    assert converted.iloc[: len(work)].loc[products, "bytes"].sum() == work.loc[products, "bytes"].sum() / 2


@pytest.mark.parametrize("dump", ["p1b3_torch_t1/kineto.json", "p1b3_jax_t1", "p1b3_tf2_xla_h3_t1"])
def test_real_updates_keep_their_traffic(dump: str, public_data: Callable[[str], Path]) -> None:
    profile = read_profile(str(public_data(f"profiles/{dump}")))
    work = count_work(profile.ops, profile.workload).work
    converted = convert_precision(work, profile.workload, "bf16").work
    update = work.loc[work["op_class"] == "elementwise", "bytes"].idxmax()  # of 29,532 x 1,000 weights
    assert converted["bytes"][update] == work["bytes"][update] == pytest.approx(3 * 4 * 29532000, rel=1e-6)
    weights = converted.iloc[len(work) :]["op"].str.startswith("cast of weights")
    assert converted.iloc[len(work) :].loc[weights, "bytes"].sum() == pytest.approx(30.087e6 * 6, rel=1e-3)
    assert converted["bytes"].iloc[len(work)] == 29532000 * 6
