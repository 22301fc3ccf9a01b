"""Torch's lists of tensors, from the arguments in a trace to bytes."""

import json

import pytest

from estimator.profiles.kineto.arguments import Call
from estimator.profiles.kineto.torch_ops import describe

SQUARE = [64, 64]


@pytest.mark.parametrize(
    ("types", "attributes"),
    [
        (["c10::BFloat16", "float", "Scalar"], "from=fp32;to=bf16"),
        (["float", "long int", "Scalar"], "from=other;to=fp32"),
        (["float", "float", "Scalar"], None),
        ([], None),
    ],
)
def test_a_copy_between_types_is_a_cast(types: list[str], attributes: str | None) -> None:
    (work,) = describe(Call("aten::copy_", json.dumps([SQUARE, SQUARE, []]).encode(), json.dumps(types).encode()))
    assert (work.shapes, work.attributes) == ("64x64;64x64", attributes)


@pytest.mark.parametrize(
    ("dims", "types", "shapes", "attributes"),
    [
        ([[SQUARE] * 3, [SQUARE] * 3, [], []], ["TensorList"] * 2 + ["Scalar", ""], 6, "lists=2"),
        ([[SQUARE] * 2, []], ["TensorList", "Scalar"], 2, "lists=1"),
        ([[SQUARE] * 2] * 4 + [[], [[], []]], ["TensorList"] * 6, 10, "lists=4"),  # fused Adam, with its step counts
        ([[], []], ["TensorList", "Scalar"], 0, None),  # more than 30 tensors: the trace leaves them out
        ([SQUARE, SQUARE], ["float", "float"], 2, None),
    ],
)
def test_shapes_and_count_of_tensor_lists(
    dims: list[object], types: list[str], shapes: int, attributes: str | None
) -> None:
    (work,) = describe(Call("aten::_foreach_op_", json.dumps(dims).encode(), json.dumps(types).encode()))
    assert len((work.shapes or "").split(";")) == max(shapes, 1)
    assert (work.shapes is None) == (shapes == 0)
    assert work.attributes == attributes


@pytest.mark.parametrize(
    ("dims", "types", "attributes"),
    [
        ([SQUARE, []], ["float", "double"], "single=number"),
        ([SQUARE, []], ["c10::BFloat16", "long int"], "single=number"),
        ([SQUARE, []], ["float", "float"], "single=weight"),  # a parameter without dimensions
        ([SQUARE, [1]], ["float", "float"], "single=weight"),
        ([SQUARE, [1, 1, 1]], ["float", "float"], "single=weight"),
        ([SQUARE, [], [1]], ["float", "double", "float"], "single=weight"),
        ([[], []], ["float", "double"], None),
        ([SQUARE, [64]], ["float", "float"], None),
        ([SQUARE, []], ["float", "Scalar"], None),
        ([SQUARE, []], [], None),  # nothing tells whether it is a tensor
    ],
)
def test_numbers_and_weights_of_one_element_differ(
    dims: list[object], types: list[str], attributes: str | None
) -> None:
    (work,) = describe(Call("aten::mul", json.dumps(dims).encode(), json.dumps(types).encode()))
    assert work.attributes == attributes
