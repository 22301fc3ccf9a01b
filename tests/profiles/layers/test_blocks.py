"""The forward pass: which ops a description has, and that each takes what was made before it."""

import pytest

from estimator.profiles.layers.blocks import block, embeddings, head
from estimator.profiles.layers.model import Layers
from estimator.profiles.layers.nodes import BATCH, Node, Tensor
from tests.profiles.layers.models import small

X = Tensor("x", (BATCH, 32, 64))


def names(nodes: list[Node]) -> list[str]:
    return [node.name.split("/", 1)[1] for node in nodes]


def test_a_decoders_block() -> None:
    nodes, given = block(small(), 1, X)
    assert names(nodes) == [
        "attention/norm", "attention/query_key_value", "attention/core/flash", "attention/output", "attention/dropout",
        "attention/residual", "feed_forward/norm", "feed_forward/up", "feed_forward/activation", "feed_forward/down",
        "feed_forward/dropout", "feed_forward/residual",
    ]  # fmt: skip
    assert given == Tensor("block_1/feed_forward/residual", X.shape)


def test_norms_stand_behind_where_they_are_not_first() -> None:
    made = names(block(small(norm_first=False, dropout=0.0), 0, X)[0])
    assert made.index("attention/norm") == made.index("attention/residual") + 1
    assert "dropout" not in " ".join(made)


def test_unfused_attention_is_two_products_and_a_softmax() -> None:
    nodes = {node.name.split("/", 1)[1]: node for node in block(small(attention="unfused"), 0, X)[0]}
    assert nodes["attention/core/scores"].shape == (BATCH, 4, 1, 32, 32)
    assert [name for name, node in nodes.items() if node.is_attention_core] == [
        f"attention/core/{part}" for part in ("scores", "mask", "softmax", "dropout", "context")
    ]


def test_shared_keys_are_read_by_several_queries() -> None:
    nodes = {node.name.split("/", 1)[1]: node for node in block(small(attention="unfused", key_value_heads=2), 0, X)[0]}
    assert nodes["attention/queries"].shape == (BATCH, 2, 2, 32, 16)
    assert nodes["attention/keys"].shape == (BATCH, 2, 32, 16)


def test_a_gated_block_with_rotary_positions() -> None:
    made = names(block(small(kind="llama"), 0, X)[0])
    assert {"attention/rotary", "feed_forward/gated", "feed_forward/gate"} <= set(made)


@pytest.mark.parametrize("attention", ["fused", "unfused"])
def test_all_heads_turn_by_one_table(attention: str) -> None:
    """Its row of 16 elements for each of 32 positions, whatever the 4 heads of queries and 2 of keys."""
    nodes = block(small(positions="rotary", key_value_heads=2, attention=attention), 0, X)[0]
    (turned,) = (node for node in nodes if node.name.endswith("attention/rotary"))
    assert [each.shape for each in turned.inputs] == [(BATCH, 32, 6, 16), (32, 1, 16)]
    assert turned.shape == (BATCH, 32, 6, 16)


def test_experts_share_the_tokens() -> None:
    nodes = {node.name.split("/", 1)[1]: node for node in block(small(experts=8, experts_per_token=2), 0, X)[0]}
    assert nodes["feed_forward/to_experts"].shape == (BATCH, 8, 8, 64)
    assert nodes["feed_forward/down"].inputs[1].shape == (8, 256, 64)
    assert nodes["feed_forward/from_experts"].shape == X.shape


def test_embeddings_and_heads() -> None:
    assert names(embeddings(small())[0]) == ["tokens", "positions", "dropout"]
    assert names(embeddings(small(kind="bert"))[0]) == [
        "tokens",
        "positions",
        "types",
        "types_added",
        "norm",
        "dropout",
    ]
    assert names(embeddings(small(kind="llama"))[0]) == ["tokens"]
    masked = {node.name: node for node in head(small(kind="bert"), X)}
    assert masked["head/logits"].shape == (BATCH, 5, 1000)
    assert masked["head/next_or_not"].shape == (BATCH, 1, 2)
    spans = head(small(kind="bert", head="span", pooler=False), X)
    assert spans[0].shape == (BATCH, 32, 2)


@pytest.mark.parametrize("given", [{}, {"kind": "bert"}, {"kind": "llama"}, {"experts": 4}, {"attention": "unfused"}])
def test_every_op_takes_what_was_made_before_it(given: dict[str, object]) -> None:
    layers: Layers = small(**given)
    nodes, after = embeddings(layers)
    inside, after = block(layers, 0, after)
    made: set[str] = {""}
    for node in (*nodes, *inside, *head(layers, after)):
        assert {each.name for each in node.inputs} <= made
        assert node.name not in made
        made.add(node.name)
