"""Attention as XLA's calls of cuDNN; configurations as in xla/service/gpu/tests/gpu_fused_mha_test.cc and in JAX."""

import json
from collections.abc import Mapping

import pytest

from estimator.core.types import Workload
from estimator.profiles.xplane import attention
from estimator.profiles.xplane.instructions import Instruction
from estimator.work import count_work
from estimator.work.transformed import Transformed
from tests.conftest import make_ops
from tests.profiles.xplane.test_hlo import BF16, array, parameter, program

BATCH, HEADS, QUERIES, KEYS, SIZE, VALUES = 2, 6, 128, 100, 64, 32
PRODUCT = BATCH * HEADS * QUERIES * KEYS * (SIZE + VALUES)  # FLOP of one product, on average over both kinds
HEADS_FIRST = ((2, 6, 128, 64), (2, 6, 100, 64), (2, 6, 100, 32))
POSITIONS_FIRST = ((2, 128, 6, 64), (2, 100, 6, 64), (2, 100, 6, 32))
WRITTEN = "2x6x128x64;2x6x100x64;2x6x100x32"
Axes = tuple[int, int]


def numbers(product: str, lhs: tuple[int, Axes], rhs: tuple[int, Axes]) -> dict[str, object]:
    """The axes of a product as protobuf writes them in JSON: summed ones and the batch's."""
    sides = {"lhs": lhs, "rhs": rhs}
    summed = {f"{side}_contracting_dimensions": [str(axis)] for side, (axis, _) in sides.items()}
    batch = {f"{side}_batch_dimensions": [str(axis) for axis in axes] for side, (_, axes) in sides.items()}
    return {f"{product}_dot_dimension_numbers": {**summed, **batch}}


SCORES: Axes = (0, 1)  # axes of batch and heads
FORWARD = {  # by the place of the heads
    1: {**numbers("bmm1", (3, (0, 1)), (3, (0, 1))), **numbers("bmm2", (3, SCORES), (2, (0, 1)))},
    2: {**numbers("bmm1", (3, (0, 2)), (3, (0, 2))), **numbers("bmm2", (3, SCORES), (1, (0, 2)))},
}
BACKWARD = {
    heads: {
        **numbers("bmm1_grad_gemm1", (2, SCORES), (positions, (0, heads))),
        **numbers("bmm1_grad_gemm2", (3, SCORES), (positions, (0, heads))),
        **numbers("bmm2_grad_gemm1", (2, SCORES), (positions, (0, heads))),
        **numbers("bmm2_grad_gemm2", (3, (0, heads)), (3, (0, heads))),
    }
    for heads, positions in ((1, 2), (2, 1))
}
STATED = {
    "fmha_scale": 0.125,
    "intermediate_tensor_shape": {"element_type": "BF16", "dimensions": ["2", "6", "128", "100"]},
    "is_flash_attention": True,
    "mask_type": "NO_MASK",
}


def config(axes: Mapping[str, object], **stated: object) -> bytes:
    return json.dumps({"cudnn_fmha_backend_config": {**STATED, **axes, **stated}}).encode()


def call(target: str, configuration: bytes, *operands: tuple[int, ...]) -> Instruction:
    """The instruction of a call with queries, keys, values and other operands."""
    parameters = [parameter(number, *sizes, kind=BF16) for number, sizes in enumerate(operands, start=1)]
    instruction = {
        "name": "fmha", "id": 99, "opcode": "custom-call", "custom_call_target": target, "shape": array(2, 6, 128, 32),
        "operand_ids": [each["id"] for each in parameters], "backend_config": configuration,
    }  # fmt: skip
    (part,) = program([*parameters, instruction])["fmha"]
    return part


def counted(part: Instruction) -> Transformed:
    columns = ("op_type", "kernel", "shapes", "output_shapes", "attributes")
    row = {name: getattr(part, name) for name in columns}
    return count_work(make_ops({"op": "fmha", "calls": 1, "time_s": 1.0, **row}), Workload(name="toy"))


def flop(part: Instruction) -> float:
    work = counted(part).work
    assert work["op_class"].item() == "attention"
    return float(work["flop"].item())


@pytest.mark.parametrize(("heads", "operands"), [(1, HEADS_FIRST), (2, POSITIONS_FIRST)])
@pytest.mark.parametrize("target", ["Softmax", "ScaleBiasSoftmax", "SoftmaxDropout", "SoftmaxF8"])
def test_the_forward_pass_is_two_products(target: str, heads: int, operands: tuple[tuple[int, ...], ...]) -> None:
    part = call(f"__cudnn$fmha{target}", config(FORWARD[heads]), *operands, (1, 6, 128, 100))
    assert (part.shapes, part.attributes, part.precision) == (WRITTEN, None, "bf16")
    assert flop(part) == 2 * PRODUCT


@pytest.mark.parametrize(("heads", "operands"), [(1, HEADS_FIRST), (2, POSITIONS_FIRST)])
@pytest.mark.parametrize("target", ["SoftmaxBackward", "ScaleBiasSoftmaxDropoutBackward", "SoftmaxBackwardF8"])
def test_the_backward_pass_is_five_products(target: str, heads: int, operands: tuple[tuple[int, ...], ...]) -> None:
    part = call(f"__cudnn$fmha{target}", config(BACKWARD[heads]), *operands, (2, 6, 128), (2, 128, 6, 32))
    assert part.shapes == WRITTEN
    assert flop(part) == 5 * PRODUCT


def test_axes_may_be_in_any_order() -> None:
    turned = {**FORWARD[1], **numbers("bmm1", (3, (0, 1)), (2, (0, 1)))}
    part = call("__cudnn$fmhaSoftmax", config(turned), HEADS_FIRST[0], (2, 6, 64, 100), HEADS_FIRST[2])
    assert part.shapes == WRITTEN


def test_queries_may_share_keys() -> None:
    part = call("__cudnn$fmhaSoftmax", config(FORWARD[1]), HEADS_FIRST[0], (2, 3, 100, 64), (2, 3, 100, 32))
    assert flop(part) == 2 * PRODUCT


@pytest.mark.parametrize(
    ("stated", "attributes", "share"),
    [
        ({"mask_type": "CAUSAL"}, "causal=1", 1 / 2),
        ({"mask_type": None, "is_causal_mask": True}, "causal=1", 1 / 2),  # of older versions
        ({"mask_type": "CAUSAL", "is_causal_mask": False, "sliding_window_length": 0}, "causal=1", 1 / 2),
        ({"mask_type": "CAUSAL", "sliding_window_length": 50}, "causal=1;window=50", 3 / 8),
        ({"sliding_window_length": 50}, "window=50", 7 / 8),
        ({"sliding_window_length": 1000}, "window=1000", 1),
        ({"mask_type": "ALIBI"}, None, 1),  # a bias
    ],
)
def test_masks(stated: Mapping[str, object], attributes: str | None, share: float) -> None:
    part = call("__cudnn$fmhaSoftmax", config(FORWARD[1], **stated), *HEADS_FIRST)
    assert part.attributes == attributes
    assert flop(part) == pytest.approx(share * 2 * PRODUCT)


@pytest.mark.parametrize(
    "stated", [{"mask_type": "PADDING"}, {"mask_type": "PADDING_CAUSAL"}, {"max_seg_per_batch": 3}]
)
def test_sequences_of_unknown_lengths_stay_uncounted(stated: Mapping[str, object]) -> None:
    part = call("__cudnn$fmhaSoftmax", config(FORWARD[1], **stated), *HEADS_FIRST)
    assert (part.shapes, part.attributes) == (None, None)
    transformed = counted(part)
    assert transformed.work["flop"].isna().all()
    assert "product-unknown" in {note.code for note in transformed.notes}


def test_pages_of_a_cache_are_no_keys() -> None:
    pages = ((500, 6, 16, 64), (500, 6, 16, 32))
    assert call("__cudnn$fmhaSoftmax", config(FORWARD[1]), HEADS_FIRST[0], *pages).shapes is None


UNREADABLE = (
    b"", b"{}", b"[]", b"\xff", b'{"cudnn_fmha_backend_config":7}', b'{"cudnn_fmha_backend_config":{}}',
    config({}), config(FORWARD[1], intermediate_tensor_shape={}), config(FORWARD[1], max_seg_per_batch=[]),
    config(FORWARD[1] | numbers("bmm1", (9, (0, 1)), (3, (0, 1)))),
    config(FORWARD[1] | numbers("bmm1", (0, (0, 1)), (3, (0, 1)))),
)  # fmt: skip


@pytest.mark.parametrize("content", UNREADABLE)
def test_a_configuration_that_cannot_be_read_tells_nothing(content: bytes) -> None:
    assert attention.read_operands(content, HEADS_FIRST) == ([], "")


def test_too_few_operands_tell_nothing() -> None:
    assert attention.read_operands(config(FORWARD[1]), HEADS_FIRST[:2]) == ([], "")
