"""Batch normalizations as a library's kernels, by hand."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import convert_precision, count_work, merge_normalizations
from tests.conftest import make_ops

TOY = Workload(name="toy", batch_size=8, precision="fp32")
IMAGE, ONES = "8x20x30x6", "1x1x1x6"
SIZE = 8 * 20 * 30 * 6 * 4  # bytes of the image
FORWARD = (
    {"op": "net/bn/moments/mean", "op_type": "Mean", "shapes": f"{IMAGE};3", "output_shapes": ONES},
    {"op": "net/bn/moments/SquaredDifference", "op_type": "SquaredDifference", "shapes": f"{IMAGE};{ONES}"},
    {"op": "net/bn/moments/variance", "op_type": "Mean", "shapes": f"{IMAGE};3", "output_shapes": ONES},
    {"op": "net/bn/batchnorm/Rsqrt", "op_type": "Rsqrt", "shapes": ONES},
    {"op": "net/bn/batchnorm/mul_1", "op_type": "Mul", "shapes": f"{IMAGE};{ONES}"},
    {"op": "net/bn/batchnorm/add_1", "op_type": "AddV2", "shapes": f"{IMAGE};{ONES}"},
    {"op": "net/bn/AssignVariableOp", "op_type": "AssignVariableOp", "shapes": "6;6"},
)
BACKWARD = (
    {"op": "batchnorm/add_1/Sum", "op_type": "Sum", "shapes": f"{IMAGE};3", "output_shapes": ONES},
    {"op": "batchnorm/mul_1/Mul", "op_type": "Mul", "shapes": f"{IMAGE};{ONES}"},
    {"op": "batchnorm/mul_1/Mul_1", "op_type": "Mul", "shapes": f"{IMAGE};{IMAGE}"},
    {"op": "batchnorm/mul_1/Sum", "op_type": "Sum", "shapes": f"{IMAGE};3", "output_shapes": ONES},
    {"op": "moments/Tile", "op_type": "Tile", "shapes": f"{ONES};4", "output_shapes": IMAGE},
    {"op": "moments/mul_1", "op_type": "Mul", "shapes": f"{IMAGE};{IMAGE}"},
)
SUM = {"op": "AddN_3", "op_type": "AddN", "phase": "backward", "calls": 1.0}
SHIFT = {"op": "net/add/ArithmeticOptimizer/AddOpsRewrite_Add", "op_type": "AddV2", "shapes": f"{ONES};{IMAGE}"}
RELU = {"op": "net/relu/Relu", "op_type": "Relu", "shapes": IMAGE, "phase": "forward", "calls": 1.0}


def made(ops: tuple[dict[str, str], ...], phase: str, scope: str = "") -> list[dict[str, object]]:
    """OPS rows; a row without a result has that of its first operand."""
    return [
        {
            **op,
            "op": scope + op["op"],
            "phase": phase,
            "calls": 1.0,
            "output_shapes": op.get("output_shapes", IMAGE if IMAGE in op["shapes"] else ONES),
        }
        for op in ops
    ]


def forward() -> list[dict[str, object]]:
    return made(FORWARD, "forward")


def backward() -> list[dict[str, object]]:
    return made(BACKWARD, "backward", "gradient_tape/net/bn/")


def merged_bytes(*rows: dict[str, object]) -> dict[str, float]:
    """Bytes of the ops that still move any, by the op's own name."""
    work = count_work(make_ops(*rows), TOY).work
    merged = merge_normalizations(work, TOY).work
    assert list(merged.index) == list(work.index)
    pd.testing.assert_series_equal(merged["time_s"], work["time_s"])
    moving = merged[merged["bytes"] > 100]
    assert (moving["calls"] == 1).all()
    return {
        name.replace("net/bn/library/", ""): moved for name, moved in zip(moving["op"], moving["bytes"], strict=True)
    }


def test_forward_reads_the_image_twice_and_writes_it_once() -> None:
    moved = merged_bytes(*forward(), RELU)
    assert list(moved) == ["mean", "add_1", "net/relu/Relu"]
    assert sum(moved.values()) == pytest.approx((3 + 2) * SIZE, rel=0.001)


def test_backward_reads_image_and_gradient_twice_and_writes_once() -> None:
    moved = merged_bytes(*backward())
    assert list(moved) == ["gradient_tape/add_1/Sum", "gradient_tape/mul_1/Sum", "gradient_tape/mul_1"]
    assert sum(moved.values()) == pytest.approx(5 * SIZE, rel=0.001)


@pytest.mark.parametrize(("others", "left"), [(0, 0), (1, 3), (2, 4)])
def test_the_sum_of_the_layers_three_gradients_is_part_of_it(others: int, left: int) -> None:
    terms = {"shapes": ";".join([IMAGE] * (3 + others)), "output_shapes": IMAGE}
    moved = merged_bytes(*backward(), {**SUM, **terms}, {**SUM, **terms, "op": "AddN_4"})
    assert moved.get("AddN_3", 0.0) == pytest.approx(left * SIZE)
    assert moved["AddN_4"] == (4 + others) * SIZE, "the layer has one such sum"


def test_a_sum_of_two_gradients_is_none_of_a_normalization() -> None:
    moved = merged_bytes(*backward(), {**SUM, "shapes": f"{IMAGE};{IMAGE}", "output_shapes": IMAGE})
    assert moved["AddN_3"] == 3 * SIZE


def test_a_shift_behind_the_residual_sum_is_part_of_the_layer() -> None:
    residual = {**SHIFT, "op": "net/add/ArithmeticOptimizer/AddOpsRewrite_Leaf_1_Add", "shapes": f"{IMAGE};{IMAGE}"}
    ops = [op for op in forward() if op["op"] != "net/bn/batchnorm/add_1"]
    moved = merged_bytes(*ops, *made((residual, SHIFT), "forward"))
    assert list(moved) == ["mean", "mul_1", residual["op"]]


def test_inference_has_one_pass() -> None:
    moved = merged_bytes(*[op for op in forward() if "batchnorm" in str(op["op"])])
    assert moved == {"add_1": pytest.approx(2 * SIZE, rel=0.001)}


def test_a_layer_that_sums_over_the_channels_stays() -> None:
    rows = made(
        (
            {"op": "net/ln/moments/mean", "op_type": "Mean", "shapes": "8x20x6;1", "output_shapes": "8x20x1"},
            {"op": "net/ln/batchnorm/mul_1", "op_type": "Mul", "shapes": "8x20x6;8x20x1", "output_shapes": "8x20x6"},
        ),
        "forward",
    )
    work = count_work(make_ops(*rows), TOY).work
    transformed = merge_normalizations(work, TOY)
    assert not transformed.changed
    pd.testing.assert_frame_equal(transformed.work, work)


def test_a_librarys_normalization_narrows_without_casts() -> None:
    product = {"op": "net/dense/MatMul", "op_type": "MatMul", "shapes": "8x6;6x6", "output_shapes": "8x6"}
    work = count_work(make_ops(*forward(), {**product, "phase": "forward"}), TOY).work
    merged = merge_normalizations(work, TOY)
    narrow = convert_precision(merged.work, TOY, "fp16").work
    assert narrow["bytes"][5] == pytest.approx(SIZE, rel=0.001)
    assert not narrow["op"].str.contains("bn.*cast").any()
    (note,) = merged.notes
    assert note.code == "normalization-merged"
    assert note.text.startswith("5 ops of batch normalizations become 2 kernels")


def test_the_profiles_shapes_tell_a_layers_ops_at_any_batch() -> None:
    """At a batch of 1, a row of channels looks like an image."""
    work = count_work(make_ops(*forward()), TOY).work
    single = work.assign(shapes=work["shapes"].str.replace("8x20x30x6", "1x1x1x6"), bytes=work["bytes"] / 8)
    left = merge_normalizations(single, TOY, work).work
    assert (left["calls"] == 0).tolist() == (merge_normalizations(work, TOY).work["calls"] == 0).tolist()
    assert left["bytes"].sum() == merge_normalizations(work, TOY).work["bytes"].sum() / 8
