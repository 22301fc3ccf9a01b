"""Whatever a dump writes into its texts, an op is counted, stays unknown, or is refused in a sentence."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.types import Workload
from estimator.work import count_work
from tests.conftest import make_ops

TYPES = st.sampled_from(
    [
        "MatMul", "Einsum", "dot", "aten::addmm", "aten::linear", "Conv2D", "Conv3DBackpropInputV2", "convolution",
        "Conv2DBackpropFilter", "DepthwiseConv2dNative", "aten::convolution", "aten::convolution_backward", "BlockLSTM",
        "aten::_flash_attention_backward", "GatherV2", "ScatterNd", "ResourceApplyAdam", "ResourceSparseApplyAdagrad",
        "aten::_foreach_add_", "aten::_fused_adam_", "Sum", "MaxPoolGrad", "Transpose", "dynamic-update-slice",
        "fusion", "aten::scatter_", "Fill", "ConcatV2", "AddV2",
    ]
)  # fmt: skip
KERNELS = st.sampled_from(
    ["", "_MklFusedMatMul", "sm80_xmma_wgrad_gemm", "__cudnn$convBackwardFilter", "dot", "gather"]
)
NUMBER = st.one_of(st.integers(-2, 5), st.sampled_from([0, 2**31, 2**52, 2**53, 10**16, 10**400])).map(
    lambda n: str(n) if n < 10**300 else "9" * 400
)
SHAPE = st.one_of(st.lists(NUMBER, max_size=6).map("x".join), st.sampled_from(["unknown", "", "x", "abc"]))
SHAPES = st.lists(SHAPE, max_size=5).map(";".join)
KEYS = st.sampled_from(
    [
        "trans_a", "trans_b", "contract_a", "contract_b", "batch_a", "equation", "strides", "padding", "pads", "groups",
        "dilations", "layout", "kernel_layout", "pass", "transposed", "labels", "lhs_dilations", "rhs_dilations",
        "batch_groups", "dispatch",
    ]
)  # fmt: skip
VALUES = st.one_of(
    st.lists(NUMBER, max_size=4).map("x".join), st.text("abNHWCIO01_->.,;=xt", max_size=12),
    st.sampled_from(["SAME", "VALID", "NCHW", "NHWC", "HWIO", "b01f_01io->b01f", "bf01_oi01->bf01", "bf_io->bf", "t",
                     "n", "ab,bc->ac", "...ab,bc", "1_1x0_1", "grad_input", "backward", "sideways", "1"]),
)  # fmt: skip
ATTRIBUTES = st.lists(st.tuples(KEYS, VALUES), max_size=6).map(lambda items: ";".join(f"{k}={v}" for k, v in items))


@pytest.mark.slow
@settings(max_examples=150)
@given(
    rows=st.lists(st.tuples(TYPES, KERNELS, SHAPES, SHAPES, ATTRIBUTES), min_size=1, max_size=3),
    batch=st.sampled_from([None, 8]),
)
def test_only_sentences_come_out(rows: list[tuple[str, ...]], batch: int | None) -> None:
    names = ("op_type", "kernel", "shapes", "output_shapes", "attributes")
    ops = make_ops(*(dict(zip(names, row, strict=True)) for row in rows))
    try:
        work = count_work(ops, Workload(name="toy", batch_size=batch)).work
    except EstimatorError as error:
        assert all(fault.startswith("profile: ") or " in row " in fault for fault in error.faults)
    else:
        assert not (work["flop"] < 0).any()
