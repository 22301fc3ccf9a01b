"""Layers that ran op by op on a processor, as an accelerator's library runs them: WORK → WORK.

PyTorch calls cuDNN or MIOpen for a recurrent layer on a GPU: one op for all steps of the sequence (ATen,
native/RNN.cpp). So does Keras, for an LSTM or GRU that TensorFlow runs as a loop on a processor (keras/src/backend/
tensorflow/rnn.py). PyTorch fuses attention there, with dropout too (ATen, native/transformers/cuda/sdp_utils.cpp), and
dropout by itself (ATen, native/cuda/Dropout.cu). The profile marks the layer and the ops that are its parts, with the
number of the kind of layer. Parts get no calls and no work. A row is added for each layer of a stack and each
direction, or for attention or dropout: forward and, where it has gradients, backward.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from estimator.core.attributes import DISPATCH, TRAINED, attribute_values, has_attribute
from estimator.core.notes import Note
from estimator.core.operators import SUFFIXES, class_of
from estimator.core.recurrent_shape import CELL_OF_GATES, amounts_of
from estimator.core.schema import GATES, numbers
from estimator.core.types import itemsizes
from estimator.work import shapes
from estimator.work.added_kernels import append, kernels_of, without_work
from estimator.work.attention import OPERATORS as ATTENTION
from estimator.work.attention import Layer, read_attention
from estimator.work.edges import has_flow
from estimator.work.tensors import in_phase
from estimator.work.transformed import Transformed

LAYER, PART = "layer", "part_of_layer"  # attributes, with the number of the kind of layer
PASSES = ("forward", "backward")
DROPOUT = ("dropout", "dropout_grad")  # operators of both passes
OWN_ROWS = rf"(?:^|;){DISPATCH}(?=;|$)"  # of a row whose work has rows of its own
Sizes = dict[str, int | str]
Stack = Sequence[Sizes]


@dataclass(frozen=True)
class Fused:
    """A layer that a library runs as one op of each pass: its operators and its work, forward and backward."""

    operators: tuple[str, str]
    work: tuple[Layer, Layer]


def join_layers(work: pd.DataFrame, *, by_library: bool) -> Transformed:
    """WORK whose layers of many ops are one op each; WORK itself unless the target runs them ``by_library``. At another
    batch a layer grows as its parts do.
    """
    kind, part = _layers_and_parts(work)
    if not by_library or kind.isna().all():
        return Transformed(work, changed=False)
    sized = _sized(work, kind)
    unknown = _unknown_notes(work[kind.notna() & ~kind.isin(kind[list(sized)])])
    if not sized:
        return Transformed(work, changed=False, notes=unknown)
    parts = part.isin(kind[list(sized)])
    growth = kind.map(pd.Series(numbers(work, "growth"), work.index).groupby(part).max()).fillna(1.0)
    layers = work.assign(precision=_product_formats(work, kind, part), growth=growth)
    backward = set(part[in_phase(work, "backward")])
    trained = pd.Series(has_attribute(work, TRAINED), work.index) & kind.isin(backward)
    out = without_work(work, parts).assign(growth=work["growth"].mask(parts, 0.0))
    for kernels in _kernels(layers, sized, trained):
        out = append(out, kernels)
    calls = work["calls"][parts].sum(), out["calls"][len(work) :].sum()
    text = (
        "{:,.0f} ops of recurrent layers, attention or dropout become {:,.0f} of the target's library, one for each "
        "pass of a layer"
    )
    return Transformed(out, changed=True, notes=(Note("layers-joined", text.format(*calls)), *unknown))


def join_in_place(work: pd.DataFrame, *, by_library: bool) -> Transformed:
    """WORK whose layers are one op of the forward pass each, for the tensors that they keep; as :func:`join_layers`.

    The op stands where the layer stood, and has no FLOP and bytes. The layer's parts are left out. Where ops name what
    they read, the parts stay, without work.
    """
    kind, part = _layers_and_parts(work)
    sized = _sized(work, kind) if by_library else {}
    if not sized:
        return Transformed(work, changed=False)
    rows, joined = list(sized), work.copy()
    operators = [_operator("forward", sizes) for sizes in sized.values()]
    joined.loc[rows, "operator"], joined.loc[rows, "op_class"] = operators, [class_of(each) for each in operators]
    joined.loc[rows, "precision"] = _product_formats(work, kind, part)[rows]
    joined.loc[rows, "attributes"] = work["attributes"][rows].str.replace(OWN_ROWS, "", regex=True)
    parts = part.isin(kind[rows])
    if has_flow(work):
        return Transformed(_with_flow(without_work(joined, parts), kind, part, sized), changed=True)
    return Transformed(joined[~parts].reset_index(drop=True), changed=True)


def _with_flow(
    work: pd.DataFrame, kind: pd.Series, part: pd.Series, sized: Mapping[Hashable, Stack | Fused]
) -> pd.DataFrame:
    """WORK whose recurrent layers write what they keep; the parts that are their gradients read it, and the input.

    A library keeps gates and cell in its reserve (assumed): (g + 1) · h elements for each step and sample.
    """
    results, inputs = work["output_shapes"].copy(), work["inputs"].copy()
    gradients = in_phase(work, "backward")
    for row, stack in sized.items():
        if not isinstance(stack, Fused):
            results[row] = ";".join(_results(stack))
            own = work["inputs"].fillna("")[row] + ";" + work["op"][row]
            inputs = inputs.mask(gradients & (part == kind[row]), inputs.fillna("") + ";" + own)
    return work.assign(output_shapes=results, inputs=inputs)


def _results(stack: Stack) -> Iterator[str]:
    """Yield the shapes of the result and of the reserve of each layer of a stack."""
    for sizes in stack:
        gates, hidden = GATES[str(sizes["cell"])], int(sizes["hidden"])
        for width in (hidden, (gates + 1) * hidden):
            yield f"{sizes['timesteps']}x{sizes['sequences']}x{width}"


def _operator(name: str, sizes: Stack | Fused) -> str:
    """The operator of a layer's pass of this name."""
    if isinstance(sizes, Fused):
        return sizes.operators[PASSES.index(name)]
    return f"recurrent{SUFFIXES['recurrent'][name]}"


def _layers_and_parts(work: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """The kind of the layer that each row is, and of that which it is a part of; NA for others."""
    kind, part = (attribute_values(work, name, r"\d+") for name in (LAYER, PART))
    return kind, part


def _sized(work: pd.DataFrame, kind: pd.Series) -> dict[Hashable, Stack | Fused]:
    """What each layer computes, by its row, where the operands tell."""
    layers = work[kind.notna()]
    parsed = shapes.parse_ops(layers, None)
    computed = (_sizes_of(parsed.ops[code], text) for code, text in zip(parsed.codes, layers["shapes"], strict=True))
    return {row: sizes for row, sizes in zip(layers.index, computed, strict=True) if sizes}


def _sizes_of(op: shapes.Op, text: object) -> Stack | Fused | None:
    """The work of a layer, or the sizes of a recurrent stack; None where the operands do not give them."""
    if attention := read_attention(op):
        return Fused(ATTENTION, (attention, attention.gradients()))
    if op.type_rule.operator == DROPOUT[0]:
        return _dropout(op)
    return stack_of(text if isinstance(text, str) else "") or None


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
        f"{layers['calls'].sum():,.0f} layer(s) stay op by op, as their operands do not give their sizes "
        f"({layers['op'].iloc[0]}): the target's library runs each as one op, much faster where launches limit it"
    )
    return (Note("layers-apart", text),)


def stack_of(text: str) -> list[Sizes]:
    """The sizes of each layer and direction of a call, from its operands; none where they do not give them.

    Operands are the input and the states of all layers, of three dimensions each; of each layer and direction the
    weights of the input and those of the state; and biases. The input's product of sizes tells the steps. A packed
    input has two dimensions, and behind it a number of sequences for each step: they are then those of a mean step.
    """
    known = [shape for shape in shapes.read_shapes(text, None) if shape and all(shape)]
    is_packed = [len(shape) for shape in known[:3]] == [2, 1, 3]
    if is_packed:
        (count, width), (steps,), *others = known
        known = [(steps, max(round(count / steps), 1), width), *others]
    tensors, matrices = ([shape for shape in known if len(shape) == count] for count in (3, 2))
    if len(tensors) < 2 or len(matrices) != 2 * tensors[1][0]:
        return []
    (*samples, _), (_, sequences, hidden) = tensors[:2]
    sequences = samples[1] if is_packed else sequences
    timesteps, left = divmod(math.prod(samples), sequences)
    pairs = list(zip(matrices[::2], matrices[1::2], strict=True))
    cells = [cell for pair in pairs if (cell := _cell(*pair, hidden))]
    if left or len(cells) < len(pairs):
        return []
    sizes = {"hidden": hidden, "sequences": sequences, "timesteps": timesteps}
    return [{"cell": cell, **sizes, "input_width": a[1]} for cell, (a, _) in zip(cells, pairs, strict=True)]


def _cell(of_input: shapes.Shape, of_state: shapes.Shape, hidden: int) -> str | None:
    """The cell with these weights of input and state: ``hidden`` rows for each gate; None where none fits."""
    gates, left = divmod(of_state[0], hidden)
    fits = of_input[0] == of_state[0] and of_state[1] == hidden and not left
    return CELL_OF_GATES.get(gates) if fits else None


def _kernels(
    layers: pd.DataFrame, sized: Mapping[Hashable, Stack | Fused], trained: pd.Series
) -> Iterator[pd.DataFrame]:
    """Yield the rows of the layers' library calls: forward and, of those that are ``trained``, backward."""
    fused = {row: sizes for row, sizes in sized.items() if isinstance(sizes, Fused)}
    for name in PASSES:
        rows = [row for row in fused if name == "forward" or trained[row]]
        if rows:
            yield _of_fused(layers.loc[rows], name, [fused[row] for row in rows])
    for row, stack in sized.items():
        if not isinstance(stack, Fused):
            for name in PASSES[: 2 if trained[row] else 1]:
                yield _of_stack(layers.loc[[row]], stack, name)


def _of_fused(layers: pd.DataFrame, name: str, fused: Sequence[Fused]) -> pd.DataFrame:
    """The rows of layers that are one op of each pass."""
    samples, work = layers["calls"] * layers["growth"], [each.work[PASSES.index(name)] for each in fused]
    return _of_pass(
        layers, name, [_operator(name, each) for each in fused],
        flop=samples * [each.flop for each in work],
        bytes=samples * [each.elements for each in work] * itemsizes(layers["precision"]),
    )  # fmt: skip


def _of_stack(layer: pd.DataFrame, stack: Stack, name: str) -> pd.DataFrame:
    """The rows of a stack of recurrent layers, in one pass."""
    ops = pd.concat([layer] * len(stack)).reset_index(drop=True)
    if len(stack) > 1:
        ops["op"] += (ops.index + 1).map(" {}".format)
    sizes = pd.DataFrame(stack).assign(precision=ops["precision"], **{"pass": name})
    sizes["sequences"] = (sizes["sequences"] * ops["growth"]).round().astype("int64")
    flop, bytes_ = (amount * ops["calls"] for amount in amounts_of(sizes))
    return _of_pass(ops, name, [_operator(name, stack)] * len(ops), **sizes, flop=flop, bytes=bytes_)


def _of_pass(ops: pd.DataFrame, name: str, operators: Sequence[str], **columns: pd.Series) -> pd.DataFrame:
    """The rows of one pass; a forward pass that is computed again stays in the phase in which it ran."""
    kernels = kernels_of(ops, f" {name}", pd.Series(operators, ops.index), **columns)
    return kernels.assign(phase="backward") if name == "backward" else kernels
