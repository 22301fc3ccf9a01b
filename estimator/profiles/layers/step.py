"""One training step of a transformer as OPS: forward pass, gradients in reverse order, and the optimizer's update.

A gradient that reaches a tensor by several ways is added up, as PyTorch's autograd does. What recomputation has not
kept is computed again before the gradients of its block (Korthikanti et al., Reducing Activation Recomputation in Large
Transformer Models, 2022): with ``full`` the whole block, with ``selective`` the core of its attention. A format
narrower than fp32 keeps parameters, their gradients and the optimizer's states in fp32 (Micikevicius et al., Mixed
Precision Training, ICLR 2018); fp16 also scales its gradients back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from estimator.core.number_formats import WIDE
from estimator.core.parallel import WHOLE, End, Split
from estimator.core.schema import OPS
from estimator.profiles.layers import blocks
from estimator.profiles.layers.model import AGAIN, Layers
from estimator.profiles.layers.nodes import Node, Renamed, Row, Shape, Tensor, elements, parameter
from estimator.profiles.layers.parameters import of_block, outside_blocks

UNSCALE = "aten::_amp_foreach_non_finite_check_and_unscale_"
Parts = Sequence[tuple[int | None, Sequence[Node]]]  # the ops of each block, and of what is outside blocks (None)
UPDATES = {  # ops of each optimizer's update, and the lists of parameters that each of them holds
    "adam": (("aten::_fused_adam_", 4),),
    "adamw": (("aten::_fused_adamw_", 4),),
    "sgd": (("aten::_foreach_add_", 2),),
    "momentum": (("aten::_fused_sgd_", 3),),
    # the norms of gradients, of parameters and of their updates around two stages; NVIDIA/apex, FusedLAMB
    "lamb": (
        ("aten::_foreach_norm", 1), ("aten::_fused_adam_", 4), ("aten::_foreach_norm", 2), ("aten::_foreach_add_", 2),
    ),
}  # fmt: skip


@dataclass
class Rows:
    """The rows of a step by column."""

    layers: Layers
    split: Split
    end: End | None = None
    columns: dict[str, list[object]] = field(default_factory=dict)

    def add(self, rows: Iterable[Row], phase: str, block: int | None) -> list[Row]:
        """Append rows; the rows as a list."""
        added = list(rows)
        for row in added:
            precision = row.precision or blocks.stored(self.layers)
            inputs = ";".join((*(each.name for each in row.operands), *row.reads))
            values = {
                "op": row.op, "op_type": row.op_type, "phase": phase, "precision": precision, "block": block,
                "shapes": _text(each.shape for each in row.operands), "output_shapes": _text(row.results),
                "inputs": inputs, "attributes": row.attributes,
            }  # fmt: skip
            for name, value in values.items():
                self.columns.setdefault(name, []).append(value)
        return added


@dataclass
class Gradients:
    """The gradients of tensors so far: of each the sum, or the gradients of its parts, as ops have read them."""

    shapes: Mapping[str, Shape]  # of whole tensors, as others read them
    sums: dict[str, Tensor] = field(default_factory=dict)
    parts: dict[str, list[Tensor]] = field(default_factory=dict)

    def add(self, node: Node, target: Tensor, gradient: Tensor) -> list[Row]:
        """Add an op's gradient of one of its operands; the row that adds it to others."""
        name, shape = target.name, self.shapes[target.name]
        if elements(target.shape) < elements(shape):
            self.parts.setdefault(name, []).append(replace(gradient, shape=target.shape))
            return []
        whole = replace(gradient, shape=shape)
        if name not in self.sums:
            self.sums[name] = whole
            return []
        row = Row(f"{node.name}/grad_sum", "aten::add", (self.sums[name], whole), (shape,))
        self.sums[name] = row.result
        return [row]

    def receive(self, node: Node) -> None:
        """Take the gradient of an op's result from the next stage of a pipeline; no op of this one writes it."""
        self.sums[node.name] = replace(node.result, name=f"{node.name}/received_grad")

    def take(self, node: Node) -> tuple[Tensor | None, list[Row]]:
        """The gradient of an op's result, and the row that joins its parts; a single part is written in place."""
        parts, whole = self.parts.pop(node.name, []), self.sums.pop(node.name, None)
        if len(parts) < 2:
            given = parts[0] if parts else whole
            return given and replace(given, shape=node.shape), []
        row = Row(f"{node.name}/grad_joined", "aten::cat", tuple(parts), (node.shape,))
        return row.result, [row]


def ops_of(layers: Layers, split: Split = WHOLE, end: End | None = None) -> pd.DataFrame:
    """OPS of one step in the order of execution, without times, as nothing ran.

    Args:
        layers: of the model.
        split: how devices share its tokens and experts; products that they share are those of ``layers``.
        end: stage of a pipeline, whose blocks these are: the first has no head, and the last no embeddings.
    """
    rows, whole = Rows(layers, split, end), _parts(layers, split)
    parts = {None: whole, "first": whole[:-1], "last": whole[1:]}[end]
    for block, nodes in parts:
        rows.add((node.forward() for node in nodes), "forward", block)
    gradients = Gradients({node.name: node.result.shape for _, nodes in whole for node in nodes})
    if end == "first":
        gradients.receive(parts[-1][1][-1])
    made = _add_gradients(rows, parts, gradients)
    for block in sorted(made, key=lambda number: -1 if number is None else number):
        if made[block]:
            _update(rows, block, made[block])
    return OPS.conform(pd.DataFrame(rows.columns).assign(time_s=0.0), "layers")


def _add_gradients(rows: Rows, parts: Parts, gradients: Gradients) -> dict[int | None, list[str]]:
    """Append the backward pass; the ops that hold the gradients of each block's parameters."""
    earliest = dict(reversed(parts))  # whose gradients come last
    made: dict[int | None, list[str]] = {}
    if rows.layers.adapted and rows.end != "last":
        parts = parts[1:]  # nothing that is trained stands before the blocks
    for block, nodes in reversed(parts):
        again, kept = _again(rows.layers, nodes) if block is not None else ([], {})
        rows.add((node.forward() for node in again), "backward", block)
        added = rows.add(_backward(nodes, gradients, kept), "backward", block)
        made.setdefault(block, []).extend(row.op for row in added if _is_of_parameters(row))
        if nodes is earliest[block]:
            made[block] = _cast_gradients(rows, block, made[block])
    return made


def _parts(layers: Layers, split: Split) -> Parts:
    """The ops of the forward pass in their order."""
    nodes, given = blocks.embeddings(layers, split)
    parts: list[tuple[int | None, Sequence[Node]]] = [(None, nodes)]
    for number in range(layers.blocks):
        nodes, given = blocks.block(layers, number, given, split)
        parts.append((number, nodes))
    return [*parts, (None, blocks.head(layers, given, split))]


def _again(layers: Layers, nodes: Sequence[Node]) -> tuple[list[Node], Renamed]:
    """The ops of a block that recomputation runs again, and their new names."""
    chosen = [node for node in nodes if layers.recompute == "full" or node.is_attention_core]
    if layers.recompute == "none":
        return [], {}
    names = {node.name: node.name + AGAIN for node in chosen}
    return [node.renamed(AGAIN, names) for node in chosen], names


def _backward(nodes: Sequence[Node], gradients: Gradients, kept: Renamed) -> Iterator[Row]:
    """Yield the rows of all gradients, in reverse order."""
    for node in reversed(nodes):
        gradient, joined = gradients.take(node)
        yield from joined
        for target, made in node.backward(gradient, kept):
            if isinstance(made, Row):
                yield made
            if target is not None:
                yield from gradients.add(node, target, made.result if isinstance(made, Row) else made)


def _is_of_parameters(row: Row) -> bool:
    """Whether a row makes the gradient of parameters, which the batch is not a dimension of."""
    return all(size > 0 for size in row.results[0]) and not row.op.endswith(AGAIN)


def _cast_gradients(rows: Rows, block: int | None, gradients: Sequence[str]) -> list[str]:
    """Append the cast of the gradients of parameters to the format of these, where it differs; what holds them."""
    narrow, all_of = blocks.stored(rows.layers), _parameters(rows, block)
    if narrow == WIDE or not gradients:
        return list(gradients)
    name, formats = f"{_place(block)}/gradients_cast", f"from={narrow};to={WIDE}"
    cast = Row(name, "aten::_to_copy", (all_of,), (all_of.shape,), formats, WIDE, tuple(gradients))
    return [row.op for row in rows.add([cast], "backward", block)]


def _update(rows: Rows, block: int | None, gradients: Sequence[str]) -> None:
    """Append the update of one block's parameters, or of those outside blocks."""
    layers, place, reads = rows.layers, _place(block), tuple(gradients)
    narrow, all_of = blocks.stored(layers), _parameters(rows, block)
    updates = [
        Row(f"{place}/{layers.optimizer}_{number}", op_type, (all_of,) * lists, ((1,),), f"lists={lists}", WIDE, reads)
        for number, (op_type, lists) in enumerate(UPDATES[layers.optimizer])
    ]
    if narrow == "fp16":
        updates.insert(0, Row(f"{place}/unscale", UNSCALE, (all_of,), (all_of.shape,), "", WIDE, reads))
    if narrow != WIDE:
        formats = f"from={WIDE};to={narrow}"
        updates.append(Row(f"{place}/parameters_cast", "aten::_to_copy", (all_of,), (all_of.shape,), formats, WIDE))
    rows.add(updates, "optimizer", block)


def _place(block: int | None) -> str:
    return blocks.OUTSIDE if block is None else f"block_{block}"


def _parameters(rows: Rows, block: int | None) -> Tensor:
    """All parameters of a block, or of what is outside blocks."""
    size = outside_blocks(rows.layers, rows.end) if block is None else of_block(rows.layers, rows.split.experts)
    return parameter(size.count)


def _text(shapes: Iterable[Shape]) -> str:
    return ";".join("x".join(map(str, shape)) for shape in shapes)
