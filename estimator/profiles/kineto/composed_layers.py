"""Layers of a Kineto trace that ran op by op: recurrent ones, attention and dropout. Which ops are parts of which.

PyTorch's ``aten::gru`` calls some ten ops for each step of the sequence, unless its processor's library has the layer.
A processor has no fused attention with dropout, or with a mask that is trained: products and a softmax stand for it.
Nor has it a fused dropout: it draws a mask, scales it, and multiplies.
Ops of the forward pass lie inside the layer. Those of the backward pass tell the number that autograd gave to the op of
the forward pass; the layer's numbers run from its own to that of the next op (torch/csrc/autograd/function.h). Layers
of equal operands are of one kind.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from estimator.core.attributes import DISPATCH, TRAINED
from estimator.core.types import Flags, Integers
from estimator.profiles.kineto.arguments import (
    Call,
    Work,
    base_name,
    non_scalars,
    read_arguments,
    read_precision,
    shapes_text,
)
from estimator.profiles.kineto.attention import describe_attention
from estimator.profiles.kineto.nesting import (
    BACK,
    Nesting,
    are_calls,
    are_inside,
    are_kinds,
    is_gradient,
    spread_inside,
)
from estimator.profiles.kineto.trace import ABSENT, Trace

ATTENTION = "_scaled_dot_product_attention_math"
DROPOUT, DRAW = "aten::dropout", "bernoulli"  # PyTorch fuses no dropout in place
LAYERS = ("gru", "lstm", "rnn_tanh", "rnn_relu", ATTENTION)
BY_LIBRARY = ("mkldnn_rnn_layer", "_cudnn_rnn", "miopen_rnn")  # the layer as one op, which it calls
NO_LAYER = -1
OUTSIDE = -2  # no layer, and none around it counts
LAST = np.iinfo(np.int64).max
MARKS = 2  # each kind of layer has two numbers: the second one is that of layers with gradients


def mark_layers(trace: Trace, nest: Nesting, runs_again: Flags) -> Integers:
    """For each op MARKS times the kind of the layer that it is, or is a part of, and one more for a layer of which the
    backward pass has gradients; NO_LAYER for all others.
    """
    layer = _layers(trace, nest)
    if (layer == NO_LAYER).all():
        return layer
    mark = np.zeros(len(layer), dtype=np.int64)
    for row, gradients in _gradients(np.unique(layer[layer != NO_LAYER]), trace, nest):
        layer[gradients], mark[row] = row, len(gradients) > 0
    layer[runs_again & (layer == NO_LAYER)] = OUTSIDE
    layer = spread_inside(layer, nest.parent, NO_LAYER)
    layer[layer == OUTSIDE] = NO_LAYER
    return np.where(layer == NO_LAYER, NO_LAYER, MARKS * trace.ops["kind"][layer] + mark[layer])


def _layers(trace: Trace, nest: Nesting) -> Integers:
    """The row of the layer that each op of the forward pass is, or is inside; NO_LAYER for others."""
    is_dropout = are_calls(trace, lambda call: call.name == DROPOUT)
    is_layer = is_dropout | are_calls(trace, lambda call: base_name(call.name) in LAYERS)
    if not is_layer.any():
        return np.full_like(nest.parent, NO_LAYER)
    outer = np.where(is_layer & ~are_inside(is_layer, nest.parent), np.arange(len(is_layer)), NO_LAYER)
    layer = spread_inside(outer, nest.parent, NO_LAYER)
    by_library = are_calls(trace, lambda call: base_name(call.name) in BY_LIBRARY)
    draws = are_calls(trace, lambda call: base_name(call.name) == DRAW)
    drops_nothing = np.setdiff1d(np.flatnonzero(is_dropout), layer[draws])
    layer[np.isin(layer, layer[by_library]) | np.isin(layer, drops_nothing)] = NO_LAYER
    return layer


def keep_tensors(trace: Trace, kind: Integers, mark: Integers) -> Flags:
    """Which ops are layers of which the backward pass has gradients, or draw and scale the mask of such a dropout, by
    their kinds and what :func:`mark_layers` gives. Autograd numbers none of them.
    """
    layer, is_trained = np.divmod(mark, MARKS)
    is_dropout = are_kinds(trace, lambda call: call.name == DROPOUT)[layer]
    kept: Flags = (mark != NO_LAYER) & (is_trained == 1) & ((layer == kind) | is_dropout)
    return kept


def describe_part(call: Call, kind: int, mark: int, work: Work) -> Work:
    """The work of an op of this kind, with the kind of its layer; a layer has operands, but no work of its own."""
    layer, trained = divmod(mark, MARKS)
    if kind != layer:
        return work._replace(attributes=_joined(work.attributes, f"part_of_layer={layer}"))
    shapes, mask = _operands(call)
    attributes = _joined(DISPATCH, f"layer={layer}", TRAINED if trained else None, mask)
    return Work(shapes, attributes, read_precision(call.types))


def _operands(call: Call) -> tuple[str | None, str | None]:
    """The shapes of a layer's operands, and what tells the mask of attention."""
    if base_name(call.name) == ATTENTION:
        return next(((each.shapes, each.attributes) for each in describe_attention(call)), (None, None))
    return shapes_text([tensor for argument in read_arguments(call) for tensor in non_scalars(argument)]), None


def _joined(*attributes: str | None) -> str:
    return ";".join(filter(None, attributes))


def _gradients(layers: Integers, trace: Trace, nest: Nesting) -> Iterator[tuple[int, Integers]]:
    """Yield each layer's row and the ops of the backward pass that its ops are the forward pass of."""
    ops, number = trace.ops, trace.ops["sequence"]
    end = ops.end
    back = np.flatnonzero(nest.phase == BACK)
    back = back[np.argsort(number[back], kind="stable")]
    for lane in np.unique(ops["lane"][layers]):
        on_lane = layers[(ops["lane"][layers] == lane) & (number[layers] != ABSENT)]
        last = _next_numbers(lane, end[on_lane], trace)
        ranges = np.searchsorted(number[back], (number[on_lane], last))
        for row, first, behind in zip(on_lane.tolist(), *ranges.tolist(), strict=True):
            gradients = back[first:behind]
            yield row, gradients[ops["start"][gradients] >= end[row]]


def _next_numbers(lane: int, times: Integers, trace: Trace) -> Integers:
    """The least number that autograd gives to ops of a lane from each of these times on; LAST without any."""
    ops, number = trace.ops, trace.ops["sequence"]
    rows = np.flatnonzero((ops["lane"] == lane) & ~are_calls(trace, is_gradient) & (number != ABSENT))
    rows = rows[np.argsort(ops["start"][rows], kind="stable")]
    least = np.minimum.accumulate(np.append(number[rows], LAST)[::-1])[::-1]
    return np.asarray(least[np.searchsorted(ops["start"][rows], times)])
