"""Differentiable ops: what each gradient reads, and by which equation products are made."""

import numpy as np
import pytest

from estimator.profiles.layers.blocks import CONTEXT, DENSE, EXPERTS, SCORES
from estimator.profiles.layers.nodes import (
    BATCH,
    Add,
    Dropout,
    Embedding,
    FusedAttention,
    FusedLoss,
    Loss,
    Move,
    Multiply,
    Node,
    Product,
    Row,
    Stream,
    Tensor,
    parameter,
)

X, Y, G = (Tensor(name, (BATCH, 4, 8)) for name in "xyg")


def rows(node: Node, gradient: Tensor | None = G, kept: dict[str, str] | None = None) -> list[Row]:
    return [made for _, made in node.backward(gradient, kept or {}) if isinstance(made, Row)]


def targets(node: Node) -> list[str | None]:
    return [target.name if target else None for target, _ in node.backward(G, {})]


@pytest.mark.parametrize("equations", [DENSE, EXPERTS, SCORES, CONTEXT])
def test_equations_of_gradients_are_those_of_the_product(equations: tuple[str, str, str]) -> None:
    """Sum of (C · G) has the gradients that the equations give, by finite differences of a bilinear function."""
    forward, grad_a, grad_b = equations
    size = dict(zip("bskntgcdxe", (2, 3, 4, 5, 3, 2, 2, 4, 4, 3), strict=True))
    rng = np.random.default_rng(0)
    (left, right), result = forward.split("->")[0].split(","), forward.split("->")[1]
    a, b, g = (rng.normal(size=[size[axis] for axis in term]) for term in (left, right, result))
    value = float((np.einsum(forward, a, b) * g).sum())
    by_a = g, b if grad_a.split("->")[0] == f"{result},{right}" else pytest.fail("operands are exchanged")
    assert float((np.einsum(grad_a, *by_a) * a).sum()) == pytest.approx(value)
    assert grad_a.endswith(f"->{left}")
    assert grad_b.startswith(f"{left},{result}->")
    assert float((np.einsum(grad_b, a, g) * b).sum()) == pytest.approx(value)


def test_a_product_has_a_gradient_for_each_operand_and_for_its_bias() -> None:
    node = Product("p", (X, parameter(8, 16)), (BATCH, 4, 16), DENSE, "bf16", bias=True)
    assert [row.op for row in rows(node)] == ["p/grad_a", "p/grad_b", "p/grad_bias"]
    assert [row.results[0] for row in rows(node)] == [(BATCH, 4, 8), (8, 16), (16,)]
    assert targets(node) == ["x", None, None]


def test_the_data_have_no_gradient() -> None:
    node = Product("p", (parameter(BATCH, 4, 8), parameter(8, 16)), (BATCH, 4, 16), DENSE)
    assert [row.op for row in rows(node)] == ["p/grad_b"]


@pytest.mark.parametrize(("keeps", "read"), [("input", ["g", "x"]), ("result", ["g", "s"]), ("nothing", ["g"])])
def test_a_stream_reads_what_it_keeps(keeps: str, read: list[str]) -> None:
    node = Stream("s", (X,), X.shape, ("aten::gelu", "aten::gelu_backward"), keeps)
    (row,) = rows(node)
    assert [each.name for each in row.operands] == read


def test_what_was_computed_again_is_read_in_its_place() -> None:
    node = Stream("s", (X,), X.shape, ("aten::gelu", "aten::gelu_backward"))
    assert rows(node, kept={"x": "x/again"})[0].operands[1].name == "x/again"
    assert node.renamed("/again", {"x": "x/again"}) == Stream(
        "s/again", (Tensor("x/again", X.shape),), X.shape, node.types
    )


def test_a_sum_hands_on_its_gradient_and_sums_that_of_a_table() -> None:
    assert rows(Add("a", (X, Y), X.shape)) == []
    assert targets(Add("a", (X, Y), X.shape)) == ["x", "y"]
    (row,) = rows(Add("a", (X, parameter(4, 8)), X.shape, has_table=True))
    assert row.results == ((4, 8),)
    assert rows(Add("mask", (X, parameter(4, 8)), X.shape)) == []


def test_a_mask_takes_one_byte_an_element() -> None:
    assert Dropout("d", (X,), X.shape, itemsize=2.0).forward().results[1] == (BATCH, 4, 4)
    assert Dropout("d", (X,), (BATCH, 4, 7), itemsize=4.0).forward().results[1] == (BATCH, 4, 2)


def test_a_gradient_reads_the_mask_of_the_dropout_that_ran_last() -> None:
    node = Dropout("d", (X,), X.shape, itemsize=2.0)
    for kept, name in (({}, "d:1"), ({"d": "d/again"}, "d/again:1")):
        assert rows(node, kept=kept)[0].operands == (G, Tensor(name, (BATCH, 4, 4)))


def test_a_gate_has_two_gradients() -> None:
    assert [[each.name for each in row.operands] for row in rows(Multiply("m", (X, Y), X.shape))] == [
        ["g", "y"],
        ["g", "x"],
    ]


def test_attention_takes_values_from_where_they_are_and_has_one_gradient() -> None:
    heads = (BATCH, 4, 2, 4), (BATCH, 4, 1, 4)
    projected = Tensor("qkv", (BATCH, 4, 16))
    node = FusedAttention("a", (Tensor("turned", (BATCH, 4, 12)), projected), (BATCH, 4, 8), heads, causal=True)
    assert [each.shape for each in node.forward().operands] == [heads[0], heads[1], heads[1]]
    (row,) = rows(node)
    assert [each.name for each in row.operands] == ["g", "turned", "turned", "qkv", "a"]
    assert row.results == ((BATCH, 4, 16),)
    assert row.attributes == "causal=1"


def test_tables_moves_and_losses() -> None:
    assert rows(Embedding("e", (parameter(100, 8), parameter(BATCH, 4)), X.shape))[0].results == ((100, 8),)
    moved = Move("m", (X, Y), (BATCH, 2, 8), ("aten::index_select", "aten::sum"))
    assert targets(moved) == ["x", "y"]
    assert [[each.name for each in row.operands] for row in rows(moved)] == [["g"], ["g", "x"]]  # weights': g · x
    assert rows(moved, kept={"x": "x/again"})[1].operands[1].name == "x/again"
    loss = Loss("l", (X,), (1,))
    assert rows(loss, gradient=None)[0].results == (X.shape,)
    fused = rows(FusedLoss("l", (X,), (1,)), gradient=None)[0]
    assert (fused.results, fused.operands[0]) == ((X.shape,), X)  # it reads the logits, not the gradient of a result
    with pytest.raises(TypeError, match="only a loss"):
        rows(Embedding("e", (parameter(100, 8), parameter(BATCH, 4)), X.shape), gradient=None)
