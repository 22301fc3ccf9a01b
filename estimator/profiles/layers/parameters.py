"""Parameters of a transformer, and the tensors that hold them, by part: of one block, and outside the blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from estimator.core.parallel import End
from estimator.profiles.layers.model import SPAN_ENDS, Layers

Shapes = tuple[tuple[int, ...], ...]
NEXT_OR_NOT = 2  # classes of BERT's prediction of the next sentence


@dataclass(frozen=True)
class Parameters:
    """Parameters of a part of a model, and how many tensors hold them."""

    count: int
    tensors: int


def of_block(layers: Layers, expert_parts: int = 1) -> Parameters:
    """Trained ones of one block: attention, feed-forward layers and norms, or adapters of its products; of one of so
    many parts of its experts.
    """
    return _sum(_adapters(layers) if layers.adapted else _block(layers, layers.experts // expert_parts))


def outside_blocks(layers: Layers, end: End | None = None) -> Parameters:
    """Trained ones of embeddings, last norm and head; none where adapters are trained.

    ``end``: of embeddings alone in the first stage of a pipeline; of the others in the last, which has a copy of a
    table of tokens that its product uses too.
    """
    return Parameters(0, 0) if layers.adapted else _all_outside(layers, end)


def frozen(layers: Layers, end: End | None = None) -> int:
    """Parameters that are not trained, as adapters are in their place; ``end``: as for :func:`total`."""
    if not layers.adapted:
        return 0
    return layers.blocks * _sum(_block(layers, 1)).count + _all_outside(layers, end).count


def _all_outside(layers: Layers, end: End | None) -> Parameters:
    return _sum({None: _outside, "first": _before, "last": _behind}[end](layers))


def total(layers: Layers, expert_parts: int = 1, end: End | None = None) -> Parameters:
    """Trained ones of the whole model, ``blocks × of_block + outside_blocks``; with one of so many parts of experts.

    ``end``: of a stage of a pipeline, whose blocks these are.
    """
    block, outside = of_block(layers, expert_parts), outside_blocks(layers, end)
    return Parameters(
        count=layers.blocks * block.count + outside.count, tensors=layers.blocks * block.tensors + outside.tensors
    )


def experts_share(layers: Layers, expert_parts: int, end: End | None = None) -> float:
    """The share of the parameters that are those of one of so many parts of the experts; ``end``: as for
    :func:`total`.
    """
    return 1.0 - without_experts(layers, end) / total(layers, expert_parts, end).count


def without_experts(layers: Layers, end: End | None = None) -> int:
    """Parameters that are not those of experts; ``end``: as for :func:`total`."""
    return layers.blocks * _sum(_block(layers, 0)).count + outside_blocks(layers, end).count


def tied(layers: Layers) -> int:
    """Trained elements of the table of tokens where the head's product uses it too; else 0."""
    is_tied = layers.tied_embeddings and layers.head != "span" and not layers.adapted
    return layers.vocabulary * layers.hidden_size if is_tied else 0


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


def _adapters(layers: Layers) -> Iterator[tuple[int, ...]]:
    """Two matrices for each product that has an adapter, k × r and r × n (Hu et al., LoRA, 2022, section 4.1)."""
    hidden, wide, rank = layers.hidden_size, layers.feed_forward, layers.lora_rank or 0
    sizes = {
        "attention/query_key_value": (hidden, layers.attention_width),
        "attention/output": (layers.heads * layers.head_size, hidden),
        "feed_forward/up": (hidden, wide),
        **({"feed_forward/gated": (hidden, wide)} if layers.gated else {}),
        "feed_forward/down": (wide, hidden),
    }
    for rows, columns in (size for name, size in sizes.items() if name in layers.adapted):
        yield from ((rows, rank), (rank, columns))


def _outside(layers: Layers) -> Iterator[tuple[int, ...]]:
    yield from _before(layers)
    yield from _behind(layers, has_table=True)


def _before(layers: Layers) -> Iterator[tuple[int, ...]]:
    tables = (layers.vocabulary, layers.table_rows, layers.token_types)
    yield from ((rows, layers.hidden_size) for rows in tables if rows)
    yield from _norm(layers) if layers.embedding_norm else ()


def _behind(layers: Layers, *, has_table: bool = False) -> Iterator[tuple[int, ...]]:
    """``has_table``: whether a table of tokens lies on the same device."""
    hidden = layers.hidden_size
    yield from _norm(layers) if layers.norm_first else ()
    if layers.head == "span":
        yield from _product(layers, hidden, SPAN_ENDS)
    elif not (layers.tied_embeddings and has_table):
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
