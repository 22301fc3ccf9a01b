"""Layers that ran op by op on a processor, as an accelerator's library runs them: WORK → WORK.

PyTorch calls cuDNN or MIOpen for a recurrent layer on a GPU: one op for all steps of the sequence (ATen,
native/RNN.cpp). It fuses attention there, with dropout too (ATen, native/transformers/cuda/sdp_utils.cpp), and dropout
by itself (ATen, native/cuda/Dropout.cu). The profile marks the layer and the ops that are its parts, with the number of
the kind of layer. Parts get no calls and no work. A row is added for each layer of a stack and each direction, or for
attention or dropout: forward and, where it has gradients, backward.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from estimator.core.notes import Note
from estimator.core.operators import SUFFIXES, class_of
from estimator.core.recurrent_shape import CELL_OF_GATES, amounts_of
from estimator.core.types import itemsizes
from estimator.work import shapes
from estimator.work.added_kernels import append, kernels_of, without_work
from estimator.work.attention import OPERATORS as ATTENTION
from estimator.work.attention import Layer, read_attention
from estimator.work.operators import operator_of
from estimator.work.shapes import has_attribute
from estimator.work.transformed import Transformed

LAYER, PART = r"(?:^|;)layer=(\d+)", r"(?:^|;)part_of_layer=(\d+)"  # attributes, with the kind of layer
PASSES = ("forward", "backward")
DROPOUT = ("dropout", "dropout_grad")  # operators of both passes
DISPATCH = r"(?:^|;)dispatch=1(?=;|$)"  # attribute of a row whose work has rows of its own
TRAINED = "trained=1"  # attribute of layers with gradients
Sizes = dict[str, int | str]


@dataclass(frozen=True)
class Fused:
    """A layer that a library runs as one op of each pass: its operators and its work, forward and backward."""

    operators: tuple[str, str]
    work: tuple[Layer, Layer]


def join_layers(
    work: pd.DataFrame, *, by_library: bool, batch_ratio: float = 1.0, compiled: bool = False
) -> Transformed:
    """WORK whose layers of many ops are one op each; WORK itself unless they run ``by_library``.

    Args:
        by_library: Whether the target's framework has a library for them.
        batch_ratio: The target's batch over that of the profile: each layer has so many times the sequences.
        compiled: Whether a compiler fuses element-wise ops: dropout then stays as it ran, to be fused with others.
    """
    kind, part = _layers_and_parts(work)
    if compiled:
        kind = kind.mask([operator_of("", op_type) == DROPOUT[0] for op_type in work["op_type"].fillna("")])
    if not by_library or kind.isna().all():
        return Transformed(work, changed=False)
    sized = {row: sizes for row in work.index[kind.notna()] if (sizes := _sizes_of(work.loc[[row]]))}
    unknown = _unknown_notes(work[kind.notna() & ~kind.isin(kind[list(sized)])])
    if not sized:
        return Transformed(work, changed=False, notes=unknown)
    parts = part.isin(kind[list(sized)])
    backward = set(part[work["phase"].eq("backward").fillna(False)])
    layers = work.assign(precision=_product_formats(work, kind, part))
    trained = pd.Series(has_attribute(work, TRAINED), work.index) & kind.isin(backward)
    added = [_kernels(layers.loc[[row]], sizes, batch_ratio, trains=trained[row]) for row, sizes in sized.items()]
    out = append(without_work(work, parts).assign(growth=work["growth"].mask(parts, 0.0)), pd.concat(added))
    calls = work["calls"][parts].sum(), out["calls"][len(work) :].sum()
    text = (
        "{:,.0f} ops of recurrent layers, attention or dropout are {:,.0f} of the target's library, one for each pass "
        "of a layer"
    )
    return Transformed(out, changed=True, notes=(Note("layers-joined", text.format(*calls)), *unknown))


def join_in_place(work: pd.DataFrame, *, by_library: bool) -> Transformed:
    """WORK whose layers are one op of the forward pass each, for the tensors that they keep; as :func:`join_layers`.

    The op stands where the layer stood, and has no FLOP and bytes; the layer's parts are left out.
    """
    kind, part = _layers_and_parts(work)
    layers = work[kind.notna()] if by_library else work.iloc[:0]
    sized = {row: sizes for row in layers.index if (sizes := _sizes_of(work.loc[[row]]))}
    if not sized:
        return Transformed(work, changed=False)
    rows, joined = list(sized), work.copy()
    operators = [_operator("forward", sizes) for sizes in sized.values()]
    joined.loc[rows, "operator"], joined.loc[rows, "op_class"] = operators, [class_of(each) for each in operators]
    joined.loc[rows, "precision"] = _product_formats(work, kind, part)[rows]
    joined.loc[rows, "attributes"] = work["attributes"][rows].str.replace(DISPATCH, "", regex=True)
    return Transformed(joined[~part.isin(kind[rows])].reset_index(drop=True), changed=True)


def _operator(name: str, sizes: Sequence[Sizes] | Fused) -> str:
    """The operator of a layer's pass of this name."""
    if isinstance(sizes, Fused):
        return sizes.operators[PASSES.index(name)]
    return f"recurrent{SUFFIXES['recurrent'][name]}"


def _layers_and_parts(work: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """The kind of the layer that each row is, and of that which it is a part of; NA for others."""
    kind, part = (work["attributes"].str.extract(pattern)[0] for pattern in (LAYER, PART))
    return kind, part


def _sizes_of(layer: pd.DataFrame) -> Sequence[Sizes] | Fused | None:
    """The work of a layer, or the sizes of a recurrent stack; None where the operands do not give them."""
    op = shapes.parse_ops(layer, None).ops[0]
    if attention := read_attention(op):
        return Fused(ATTENTION, (attention, attention.gradients()))
    if op.type_rule.operator == DROPOUT[0]:
        return _dropout(op)
    return stack_of(layer["shapes"].iloc[0]) or None


def _dropout(op: shapes.Op) -> Fused | None:
    """The work of a dropout: it reads and writes its operand; backward it reads the mask too."""
    size = shapes.elements(op.operands)
    return Fused(DROPOUT, (Layer(size, 2.0 * size), Layer(size, 3.0 * size))) if size else None


def _product_formats(work: pd.DataFrame, kind: pd.Series, part: pd.Series) -> pd.Series:
    """The format of each layer's products: inside, autocast narrows its operands, and a processor may widen them."""
    operands = work["precision"]
    first = operands.where(work["op_class"].eq("gemm").fillna(False)).groupby(part).first()
    products = kind.map(first).astype(operands.dtype)
    return products.mask(itemsizes(products) > itemsizes(operands), operands).fillna(operands)


def _unknown_notes(layers: pd.DataFrame) -> tuple[Note, ...]:
    """A note on layers that stay op by op."""
    if layers.empty:
        return ()
    text = (
        f"{layers['calls'].sum():,.0f} layer(s) stay op by op, as their operands give no sizes that are known "
        f"({layers['op'].iloc[0]}): the target's library runs each as one op, in much less time where launches bind it"
    )
    return (Note("layers-apart", text),)


def stack_of(text: str) -> list[Sizes]:
    """The sizes of each layer and direction of a call, from its operands; none where they do not give them.

    Operands are the input and the states of all layers, of three dimensions each; of each layer and direction the
    weights of the input and those of the state; and biases. The input's product of sizes tells the steps. A packed
    input has two dimensions, and behind it a number of sequences for each step: they are then those of a mean step.
    """
    known = [shape for shape in shapes.read_shapes(text if isinstance(text, str) else "", None) if shape and all(shape)]
    packed = [len(shape) for shape in known[:3]] == [2, 1, 3]
    if packed:
        (count, width), (steps,), *others = known
        known = [(steps, max(round(count / steps), 1), width), *others]
    tensors, matrices = ([shape for shape in known if len(shape) == count] for count in (3, 2))
    if len(tensors) < 2 or len(matrices) != 2 * tensors[1][0]:
        return []
    (*samples, _), (_, sequences, hidden) = tensors[:2]
    sequences = samples[1] if packed else sequences
    timesteps, left = divmod(math.prod(samples), sequences)
    pairs = list(zip(matrices[::2], matrices[1::2], strict=True))
    fitting = [b[0] // hidden for a, b in pairs if a[0] == b[0] and b[1] == hidden and b[0] % hidden == 0]
    cells = [CELL_OF_GATES[gates] for gates in fitting if gates in CELL_OF_GATES]
    if left or len(cells) < len(pairs):
        return []
    sizes = {"hidden": hidden, "sequences": sequences, "timesteps": timesteps}
    return [{"cell": cell, **sizes, "input_width": a[1]} for cell, (a, _) in zip(cells, pairs, strict=True)]


def _kernels(layer: pd.DataFrame, sizes: Sequence[Sizes] | Fused, batch_ratio: float, *, trains: bool) -> pd.DataFrame:
    """The rows of one layer's library calls, forward and, where it ``trains``, backward."""
    if isinstance(sizes, Fused):
        return _of_fused(layer, sizes, batch_ratio, trains=trains)
    return _of_stack(layer, sizes, batch_ratio, trains=trains)


def _of_fused(layer: pd.DataFrame, fused: Fused, batch_ratio: float, *, trains: bool) -> pd.DataFrame:
    """The rows of a layer that is one op of each pass."""
    samples = batch_ratio * layer["calls"]
    return pd.concat(
        _of_pass(
            layer, name, operator,
            flop=samples * work.flop,
            bytes=samples * work.elements * itemsizes(layer["precision"]),
        )
        for name, operator, work in zip(_passes(trains=trains), fused.operators, fused.work, strict=False)
    )  # fmt: skip


def _of_stack(layer: pd.DataFrame, stack: Sequence[Sizes], batch_ratio: float, *, trains: bool) -> pd.DataFrame:
    """The rows of a stack of recurrent layers."""
    ops = pd.concat([layer] * len(stack)).reset_index(drop=True)
    if len(stack) > 1:
        ops["op"] += (ops.index + 1).map(" {}".format)
    sizes = pd.DataFrame(stack).assign(precision=ops["precision"])
    sizes["sequences"] = (sizes["sequences"] * batch_ratio).round().astype("int64")
    return pd.concat(_of_stack_pass(ops, sizes.assign(**{"pass": name})) for name in _passes(trains=trains))


def _of_stack_pass(ops: pd.DataFrame, sizes: pd.DataFrame) -> pd.DataFrame:
    """The rows of recurrent layers of these sizes, all in one pass."""
    name = str(sizes["pass"].iloc[0])
    flop, bytes_ = (amount * ops["calls"] for amount in amounts_of(sizes))
    return _of_pass(ops, name, _operator(name, ()), **sizes, flop=flop, bytes=bytes_)


def _passes(*, trains: bool) -> tuple[str, ...]:
    return PASSES if trains else PASSES[:1]


def _of_pass(ops: pd.DataFrame, name: str, operator: str, **columns: pd.Series) -> pd.DataFrame:
    """The rows of one pass; a forward pass that is computed again stays in the phase in which it ran."""
    kernels = kernels_of(ops, f" {name}", operator, **columns)
    return kernels.assign(phase="backward") if name == "backward" else kernels
