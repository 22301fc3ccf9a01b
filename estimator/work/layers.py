"""Ops that hold several matrix products: attention and recurrent layers. Their FLOP are known, one product is not."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from estimator.work.shapes import Op, Shape

FORWARD, BACKWARD = 2, 5  # products of attention's size; backward: scores again, and gradients of values, weights, q, k
ATTENTION = (  # op type → where the queries stand (keys and values follow), and the axis of the keys' positions
    (re.compile(r"aten::_scaled_dot_product_\w+_backward\w*"), 1, 2),
    (re.compile(r"aten::_?scaled_dot_product\w*"), 0, 2),
    (re.compile(r"aten::_(flash|efficient|cudnn)_attention_backward"), 1, 1),
    (re.compile(r"aten::_(flash|efficient|cudnn)_attention_forward"), 0, 1),
)
RECURRENT = (  # op type → where the input stands, where the weights stand, and passes over the weights
    (re.compile(r"LSTMBlockCell"), 0, (3,), 1),
    (re.compile(r"GRUBlockCell"), 0, (2, 3), 1),
    (re.compile(r"BlockLSTM(V2)?"), 1, (4,), 1),
    (re.compile(r"BlockLSTMGrad(V2)?"), 1, (4,), 2),
    (re.compile(r"CudnnRNN(V2|V3)?"), 0, (3,), 1),
    (re.compile(r"CudnnRNNBackprop(V2|V3)?"), 0, (3,), 2),
    (re.compile(r"aten::mkldnn_rnn_layer"), 0, (1, 2), 1),
    (re.compile(r"aten::mkldnn_rnn_layer_backward"), 0, (1, 2), 2),
)
ATTENTION_KERNEL = re.compile(r"flash|fmha|attention|sdpa")


@dataclass(frozen=True)
class Layer:
    """What one call computes [FLOP] and moves [elements]."""

    flop: float
    elements: float


def read_layer(op: Op) -> Layer | None:
    """The work of an op that is a whole layer; None where it is none, is one of its kernels, or has unknown shapes."""
    return _attention(op) or _recurrent(op)


def _attention(op: Op) -> Layer | None:
    rule = next((rule for rule in ATTENTION if rule[0].fullmatch(op.op_type)), None)
    if rule is None or (op.kernel not in ("", op.op_type) and not ATTENTION_KERNEL.search(op.kernel)):
        return None
    _, first, positions = rule
    found = _known(op, (first, first + 1, first + 2))
    if found is None or any(len(shape) != 4 for shape in found):
        return None
    queries, keys, values = found
    products = BACKWARD if "backward" in op.op_type else FORWARD
    scores = math.prod(queries[:-1]) * keys[positions]
    size = sum(map(math.prod, found)) + math.prod(queries[:-1]) * values[-1]  # operands, and a result for every query
    return Layer(float(products * scores * (queries[-1] + values[-1])), float(size * (1 if products == FORWARD else 2)))


def _recurrent(op: Op) -> Layer | None:
    """Every weight meets every sample of every time step once; biases among cuDNN's flat weights count as weights."""
    rule = next((rule for rule in RECURRENT if rule[0].fullmatch(op.op_type)), None)
    if rule is None or op.kernel not in ("", op.op_type):
        return None
    _, first, places, passes = rule
    found = _known(op, (first, *places))
    if found is None:
        return None
    weights = sum(map(math.prod, found[1:]))
    return Layer(2.0 * passes * math.prod(found[0][:-1]) * weights, float(passes * (math.prod(found[0]) + weights)))


def _known(op: Op, places: tuple[int, ...]) -> list[Shape] | None:
    """The operands at those places; None where one is missing or unknown."""
    found = [op.operands[place] for place in places if place < len(op.operands)]
    known = [shape for shape in found if shape]
    return known if len(known) == len(places) else None
