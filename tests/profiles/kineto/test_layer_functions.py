"""Layers of Transformer Engine: functions of autograd that run products without ops of their own."""

import json

import pytest

from estimator.profiles.kineto.arguments import Call
from estimator.profiles.kineto.layer_functions import describe_layer


@pytest.mark.parametrize(
    ("name", "shapes"),
    [("_Linear", ["32x64;192x64"]), ("_LinearBackward", ["32x192;192x64", "32x192;32x64"])],
)
def test_the_products_of_a_layer_and_of_its_gradient(name: str, shapes: list[str]) -> None:
    works = describe_layer(Call(name, json.dumps([[192, 64], [16, 2, 64], [192]]).encode()))
    assert [work.shapes for work in works] == shapes


@pytest.mark.parametrize(
    "dims", [b"", b"[[192, 64]]", b"[[], [192]]", b"[[192, 64], [2, 63]]", b"[[1, 192, 64], [2, 64]]"]
)
def test_a_layer_whose_tensors_do_not_fit_has_no_operands(dims: bytes) -> None:
    assert [work.shapes for work in describe_layer(Call("_Linear", dims))] == [None]
