"""Memory-bound ops: elements read and written, by hand."""

import pandas as pd
import pytest

from estimator.core.operators import class_of
from estimator.core.types import Workload
from estimator.work import count_work
from estimator.work.operators import operator_of
from estimator.work.shapes import Op, read_shapes
from estimator.work.traffic import Traffic, read_traffic
from tests.conftest import make_ops, unpacked

TOY = Workload(name="toy", batch_size=8, precision="fp32")
CASES = [  # op type, operands, results, elements read, elements written
    ("Add", "10x50;50", "", 550, 500),
    ("AddV2", "10x1;1x50", "", 60, 500),
    ("aten::add_", "10x50;10x50;1", "", 1001, 500),
    ("Relu", "10x50", "10x50", 500, 500),
    ("fusion", "10x50;50;50", "10x50;10x50", 600, 1000),
    ("Sum", "10x50;1", "10", 501, 10),
    ("aten::sum", "10x50", "", 500, 0),
    ("MaxPool", "8x32x32x3", "8x16x16x3", 24576, 6144),
    ("MaxPoolGrad", "8x4x4x3;8x2x2x3;8x2x2x3", "", 384 + 192, 384),
    ("BiasAddGrad", "10x50", "50", 500, 50),
    ("FusedBatchNormV3", "8x4x4x3;3;3;3;3", "8x4x4x3;3;3;3;3", 396, 396),
    ("aten::_softmax", "10x50", "10x50", 500, 500),
    ("SoftmaxCrossEntropyWithLogits", "10x50;10x50", "10;10x50", 1000, 510),
    ("GatherV2", "1000x16;8x20;1", "8x20x16", 2560, 2560),
    ("GatherV2", "1000x16;8x20;1", "", 2560, 2560),
    ("ResourceGather", "unknown;8x20", "8x20x16", 2560, 2560),
    ("ResourceGather", "unknown;8x20", "", None, None),
    ("aten::embedding", "1000x16;8x20", "", 2560, 2560),
    ("aten::embedding_dense_backward", "8x20x16;8x20", "", 5120, 2560),
    ("SparseSegmentSum", "1000x16;160;160", "20x16", 2560, 320),
    ("UnsortedSegmentSum", "160x16;160;1", "20x16", 2721, 320),
    ("ResourceScatterAdd", "unknown;160;160x16", "", 5120, 2560),
    ("aten::scatter_add_", "1000x16;1;160x16;160x16", "", 5120, 2560),
    ("aten::nll_loss_forward", "4096x50000;4096;unknown", "", 4096, 4096),
    ("aten::sort", "4x50", "", 12 * 200, 12 * 200),
    ("aten::nll_loss_forward", "1x2;1", "", 1, 1),
    ("aten::nll_loss_backward", "1;4096x500;4096", "", 0, 4096 * 500),
    ("ApplyGradientDescent", "100x50;1;100x50", "", 10000, 5000),
    ("ResourceApplyGradientDescent", "unknown;1;100x50", "", 10000, 5000),
    ("ResourceApplyKerasMomentum", "unknown;unknown;1;100x50;1", "", 15000, 10000),
    ("ResourceApplyAdam", "unknown;unknown;unknown;1;1;1;1;1;1;100x50", "", 20000, 15000),
    ("ApplyAdam", "100x50;100x50;100x50;1;1;1;1;1;1;100x50", "", 20000, 15000),
    ("ResourceApplyAdam", "unknown;unknown;unknown;1;1;1;1;1;1;unknown", "", None, None),
    ("SparseApplyAdagrad", "1000x16;1000x16;1;20x16;20", "", 960, 640),
    ("ResourceSparseApplyMomentum", "unknown;unknown;1;32x64;32;1", "", 6144, 4096),
    ("SparseApplyFtrl", "1000x64;1000x64;1000x64;32x64;32;1;1;1;1", "", 8192, 6144),
    ("ResourceSparseApplyAdagradDA", "unknown;unknown;unknown;32x64;32;1;1;1;1", "", 8192, 6144),
    ("ResourceSparseApplyRMSProp", "unknown;unknown;unknown;1;1;1;1;32x64;32", "", 8192, 6144),
    ("ApplyMystery", "100;100", "", None, None),
    ("AssignSubVariableOp", "unknown;100x50", "", 10000, 5000),
    ("AssignVariableOp", "unknown;100x50", "", 5000, 5000),
    ("Assign", "100x50;100x50", "100x50", 5000, 5000),
    ("aten::_foreach_norm", "10x5;5", "", 55, 0),
    ("aten::copy_", "10x5;10x5;1", "", 50, 50),
    ("aten::fill_", "10x5;1", "", 0, 50),
    ("aten::cat", "10x5;20x5;1", "", 150, 150),
    ("ConcatV2", "10x5;20x5;1", "30x5", 150, 150),
    ("Transpose", "10x5;2", "5x10", 50, 50),
    ("Transpose", "unknown;2", "", None, None),
    ("Fill", "2;1", "10x5", 0, 50),
    ("Fill", "2;1", "", None, None),
    ("RandomUniform", "2", "10x5", 0, 50),
    ("ZerosLike", "10x5", "", 0, 50),
    ("StridedSlice", "1000x50;2;2;2", "10x50", 500, 500),
    ("StridedSlice", "1000x50;2;2;2", "", None, None),
    ("dynamic-slice", "1000x50;1;1", "10x50", 500, 500),
    ("dynamic-update-slice", "1000x50;10x50;1;1", "1000x50", 502, 502),
    ("broadcast", "50", "10x50", 0, 500),
    ("scatter", "1000x16;160x1;160x16", "1000x16", 5120, 2560),
    ("Mul", "10x50;unknown", "", None, None),
    ("Mul", "0x50;0x50", "", None, None),
]


@pytest.mark.parametrize(("op_type", "operands", "results", "read", "written"), CASES)
def test_elements_read_and_written_by_each_op(
    op_type: str, operands: str, results: str, read: int | None, written: int | None
) -> None:
    op_class = class_of(operator_of("", op_type))
    traffic = read_traffic(Op(op_type, "", read_shapes(operands, None), read_shapes(results, None), {}, op_class))
    assert (traffic.read, traffic.written) == (read, written) if traffic else read is None


@pytest.mark.parametrize(
    ("name", "operands", "lists", "read", "written"),
    [
        ("foreach_add_", "10x5;5;10x5;5;1", 2, 110, 55),
        ("foreach_mul_", "64x64;64x64", 1, 8192, 8192),
        ("foreach_addcdiv_", "10x5;5;10x5;5;10x5;5", 3, 165, 55),
        ("foreach_zero_", "10x5;5", 1, 0, 55),
        ("foreach_copy_", "10x5;5;10x5;5", 2, 55, 55),
        ("foreach_mul_", "10x5;unknown", 1, None, None),
        ("foreach_mul_", "10x5;10x5", 0, None, None),
        ("fused_adam_", "10x5;5;10x5;5;10x5;5;10x5;5;1;1", 4, 220, 165),
        ("fused_sgd_", "64x64;64x64;64x64;64x64;64x64;64x64", 2, 24576, 12288),
        ("fused_sgd_", "10x5;5;10x5;5;10x5;5", 3, 165, 110),
        ("fused_sgd_", "10x5;10x5", 1, None, None),
    ],
)
def test_traffic_of_lists_of_tensors(
    name: str, operands: str, lists: int, read: int | None, written: int | None
) -> None:
    attributes = {"lists": str(lists)} if lists else {}
    traffic = read_traffic(Op(f"aten::_{name}", "", read_shapes(operands, None), (), attributes, "elementwise"))
    assert (traffic.read, traffic.written) == (read, written) if traffic else read is None


def test_a_fusion_moves_what_its_dump_lists() -> None:
    rows = [
        {"op_type": "fusion", "kernel": "dynamic-update-slice", "shapes": "10x50", "output_shapes": "10x50"},
        {"op_type": "fusion", "kernel": "iota", "output_shapes": "10x50"},
        {"op_type": "fusion", "kernel": "dynamic-slice"},
    ]
    assert count_work(make_ops(*rows), TOY).work["bytes"].fillna(-1).tolist() == [4 * 1000, 4 * 500, -1]


def test_flop_of_an_update_grow_with_its_states() -> None:
    rows = [{"op_type": f"Apply{name}", "shapes": "9;9;9"} for name in ("GradientDescent", "Momentum", "Adam")]
    work = count_work(make_ops(*rows), TOY).work
    assert list(work["flop"]) == [9 * 2, 9 * 4, 9 * 12]


def test_kernels_that_help_a_product_do_not_have_its_shapes() -> None:
    kernel = "void cublasLt::splitKreduce_kernel<32, 16, int, float>(params)"
    work, warnings = unpacked(count_work(make_ops({"op_type": "aten::mm", "kernel": kernel, "shapes": "8x9;9x7"}), TOY))
    assert work["op_class"].iloc[0] == "reduction"
    assert pd.isna(work["bytes"].iloc[0])
    assert (
        "1 memory-bound ops, 100.0 % of the time, have no shapes that give their traffic (such as op0)" in warnings[0]
    )


def test_copies_move_the_bytes_that_the_profiler_reports() -> None:
    copy = {"op_type": "Memcpy DtoD (Device -> Device)", "calls": 3, "reported_bytes": 3000.0}
    fill = {"op_type": "aten::zero_", "kernel": "Memset (Device)", "reported_bytes": 100.0}
    host = {"op_type": "Memcpy HtoD (Pageable -> Device)", "reported_bytes": 100.0}
    work = count_work(make_ops(copy, fill, host), TOY).work
    assert work["bytes"].fillna(0).tolist() == [6000, 100, 0]
    assert work["work_source"].tolist() == ["reported", "reported", "none"]


@pytest.mark.parametrize(
    ("op_type", "operands", "results", "attributes", "flop"),
    [
        ("AddV2", "10x1;1x50", "", {}, 500),  # of the result, which is larger than any operand
        ("Sum", "10x50;1", "10", {}, 500),
        ("AssignSubVariableOp", "unknown;10x50", "", {}, 500),
        ("Assign", "10x50;10x50", "", {}, 0),
        ("Transpose", "10x50;2", "", {}, 0),
        ("Fill", "2;1", "10x50", {}, 0),
        ("ConcatV2", "10x5;20x5;1", "30x5", {}, 0),
        ("dynamic-update-slice", "1000x50;10x50;1;1", "1000x50", {}, 0),
        ("SparseSegmentSum", "1000x16;160;160", "20x16", {}, 160 * 16),
        ("SparseSegmentSum", "1000x16;160;160", "", {}, 160 * 16),
        ("ResourceScatterAdd", "unknown;160;160x16", "", {}, 160 * 16),
        ("aten::_foreach_add_", "10x5;5;10x5;5;1", "", {"lists": "2"}, 55),
        ("aten::_foreach_zero_", "10x5;5", "", {"lists": "1"}, 0),
        ("aten::_foreach_copy_", "10x5;5;10x5;5", "", {"lists": "2"}, 0),
    ],
)
def test_arithmetic(op_type: str, operands: str, results: str, attributes: dict[str, str], flop: int) -> None:
    op_class = class_of(operator_of("", op_type))
    op = Op(op_type, "", read_shapes(operands, None), read_shapes(results, None), attributes, op_class)
    actual = read_traffic(op)
    assert actual is not None
    assert actual.flop == flop


def test_segments_of_unknown_number_are_taken_to_be_as_many_as_rows() -> None:
    actual = read_traffic(Op("SparseSegmentSum", "", read_shapes("1000x16;160;160", None), (), {}, "embedding"))
    assert actual == Traffic(160 * 16, 160 * 16, 160 * 16)
