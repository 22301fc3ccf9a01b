"""Parameters of a transformer, and the tensors that hold them, by part: of one block, and outside the blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from estimator.profiles.layers.model import SPAN_ENDS, Layers

Shapes = tuple[tuple[int, ...], ...]
NEXT_OR_NOT = 2  # classes of BERT's prediction of the next sentence


@dataclass(frozen=True)
class Parameters:
    """Parameters of a part of a model, and how many tensors hold them."""

    count: int
    tensors: int


def of_block(layers: Layers, expert_parts: int = 1) -> Parameters:
    """Of one block: attention, feed-forward layers and norms; of one of so many parts of its experts."""
    return _sum(_block(layers, layers.experts // expert_parts))


def outside_blocks(layers: Layers) -> Parameters:
    """Of embeddings, last norm and head."""
    return _sum(_outside(layers))


def total(layers: Layers, expert_parts: int = 1) -> Parameters:
    """Of the whole model: ``blocks × of_block + outside_blocks``; with one of so many parts of the experts."""
    block, outside = of_block(layers, expert_parts), outside_blocks(layers)
    return Parameters(
        count=layers.blocks * block.count + outside.count, tensors=layers.blocks * block.tensors + outside.tensors
    )


def experts_share(layers: Layers, expert_parts: int) -> float:
    """The share of the parameters that are those of one of so many parts of the experts."""
    without = layers.blocks * _sum(_block(layers, 0)).count + outside_blocks(layers).count
    return 1.0 - without / total(layers, expert_parts).count


def _sum(shapes: Iterator[tuple[int, ...]]) -> Parameters:
    sizes = [math.prod(shape) for shape in shapes]
    return Parameters(count=sum(sizes), tensors=len(sizes))


def _block(layers: Layers, experts: int) -> Iterator[tuple[int, ...]]:
    hidden, wide = layers.hidden_size, layers.feed_forward
    yield from _norm(layers)
    yield from _product(layers, hidden, layers.attention_width)
    yield from _product(layers, layers.heads * layers.head_size, hidden)
    yield from _norm(layers)
    if layers.experts > 1:
        yield hidden, layers.experts
    for _ in range(experts):
        for _ in range(1 + layers.gated):
            yield from _product(layers, hidden, wide)
        yield from _product(layers, wide, hidden)


def _outside(layers: Layers) -> Iterator[tuple[int, ...]]:
    hidden = layers.hidden_size
    tables = (layers.vocabulary, layers.table_rows, layers.token_types)
    yield from ((rows, hidden) for rows in tables if rows)
    yield from _norm(layers) if layers.embedding_norm else ()
    yield from _norm(layers) if layers.norm_first else ()
    if layers.head == "span":
        yield from _product(layers, hidden, SPAN_ENDS)
    elif not layers.tied_embeddings:
        yield layers.vocabulary, hidden
    if layers.head == "masked":
        yield from (*_product(layers, hidden, hidden), *_norm(layers), (layers.vocabulary,))
    if layers.pooler:
        yield from (*_product(layers, hidden, hidden), *_product(layers, hidden, NEXT_OR_NOT))


def _norm(layers: Layers) -> Shapes:
    """A gain, and of a layer norm an offset where products have one."""
    return ((layers.hidden_size,),) * (1 + (layers.norm == "layer_norm" and layers.bias))


def _product(layers: Layers, rows: int, columns: int) -> Shapes:
    """A weight, and a bias where there is one."""
    return ((rows, columns), (columns,)) if layers.bias else ((rows, columns),)
