"""Recurrent layers of a Kineto trace that a processor ran op by op: which ops are parts of which layer.

PyTorch's ``aten::gru`` calls some ten ops for each step of the sequence, unless its processor's library has the layer.
Ops of the forward pass lie inside the layer. Those of the backward pass tell the number that autograd gave to the op of
the forward pass; the layer's numbers run from its own to that of the next op (torch/csrc/autograd/function.h).
"""

from __future__ import annotations

import numpy as np

from estimator.core.types import Flags, Integers
from estimator.profiles.kineto.arguments import Call, Work, base_name, non_scalars, read_arguments, shapes_text
from estimator.profiles.kineto.nesting import BACK, FORWARD, Nesting
from estimator.profiles.kineto.trace import ABSENT, Trace

LAYERS = ("gru", "lstm", "rnn_tanh", "rnn_relu")
BY_LIBRARY = ("mkldnn_rnn_layer", "_cudnn_rnn", "miopen_rnn")  # the layer as one op, which it calls
NO_LAYER = -1


def layer_kinds(trace: Trace, nest: Nesting) -> Integers:
    """For each op the kind of op of the layer that it is, or is a part of; NO_LAYER for all others."""
    is_layer, by_library = (_are_named(trace, names) for names in (LAYERS, BY_LIBRARY))
    layer = np.where(is_layer, np.arange(len(is_layer)), NO_LAYER)
    if not is_layer.any():
        return layer
    layer = _spread_inside(layer, nest.parent)
    layer[np.isin(layer, layer[by_library])] = NO_LAYER
    for row in np.unique(layer[layer != NO_LAYER]):
        layer[_gradients_of(row, trace, nest)] = row
    layer = _spread_inside(layer, nest.parent)
    return np.where(layer == NO_LAYER, NO_LAYER, trace.ops["kind"][layer])


def _are_named(trace: Trace, names: tuple[str, ...]) -> Flags:
    """Whether each op has one of these names, without its library's."""
    of_kind = np.array([base_name(call.name) in names for call in trace.calls], dtype=bool)
    return np.asarray(of_kind[trace.ops["kind"]])


def describe_part(call: Call, kind: int, *, is_layer: bool, work: Work) -> Work:
    """The work of a layer's part with the number of the layer; that of the layer itself has its operands, but no work
    of its own.
    """
    if not is_layer:
        return work._replace(attributes=_joined(work.attributes, f"part_of_layer={kind}"))
    tensors = [tensor for argument in read_arguments(call) for tensor in non_scalars(argument)]
    return Work(shapes_text(tensors), f"dispatch=1;layer={kind}", work.precision)


def _joined(*attributes: str | None) -> str:
    return ";".join(filter(None, attributes))


def _spread_inside(layer: Integers, parent: Integers) -> Integers:
    """The layer of each op, or of the nearest op around it that has one."""
    layer, above = layer.copy(), parent.copy()
    while (open_ := (above >= 0) & (layer == NO_LAYER)).any():
        layer[open_] = layer[above[open_]]
        above[open_] = parent[above[open_]]
    return layer


def _gradients_of(row: int, trace: Trace, nest: Nesting) -> Integers:
    """The ops of the backward pass that a layer's ops are the forward pass of."""
    ops, number = trace.ops, trace.ops["sequence"]
    if number[row] == ABSENT:
        return np.empty(0, dtype=np.int64)
    after = (ops["lane"] == ops["lane"][row]) & (ops["start"] >= ops["start"][row] + ops["duration"][row])
    following = number[after & (nest.phase == FORWARD) & (number != ABSENT)]
    end = following.min() if len(following) else np.inf
    return np.flatnonzero((nest.phase == BACK) & (number >= number[row]) & (number < end))
