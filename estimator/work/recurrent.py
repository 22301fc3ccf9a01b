"""Recurrent layers that one op runs: operands → sizes, FLOP and elements moved."""

from __future__ import annotations

import math

from estimator.core.recurrent_shape import CELL_OF_GATES
from estimator.work.attention import Layer
from estimator.work.shapes import Op, Shape

PASSES = {"recurrent": ("forward", 1), "recurrent_grad": ("backward", 2)}  # operator → pass, and passes over weights
BIASES = 2  # vectors of a gate that cuDNN keeps among its flat weights


def count_recurrent(op: Op) -> Layer | None:
    """The work of an op that is a recurrent layer; None for other ops, for a layer's kernels, and for unknown shapes.

    Each weight is used once per sample and time step; biases among cuDNN's flat weights count as weights.
    """
    if not _is_layer(op) or (shapes := _operands(op, ("input", "weights"))) is None:
        return None
    passes = PASSES[op.type_rule.operator][1]
    weights = sum(map(math.prod, shapes[1:]))
    return Layer(2.0 * passes * math.prod(shapes[0][:-1]) * weights, float(passes * (math.prod(shapes[0]) + weights)))


def read_recurrent(op: Op) -> dict[str, int | str] | None:
    """The RECURRENT columns and the pass of one layer of one direction; None for other ops and for unknown shapes.

    The state is of sequences by width. The weights are those of 1, 3 or 4 gates.
    """
    shapes = _operands(op, ("input", "weights")) if _is_layer(op) else None
    state = op.operand("state")
    if shapes is None or not state or len(state) < 2 or not all(state) or math.prod(state[:-2]) > 1:
        return None
    (*samples, width), sequences, hidden = shapes[0], *state[-2:]
    biases = BIASES if len(shapes[1]) == 1 else 0
    gates, rest = divmod(sum(map(math.prod, shapes[1:])), hidden * (width + hidden + biases))
    timesteps, left = divmod(math.prod(samples), sequences)
    if rest or left or gates not in CELL_OF_GATES or not timesteps:
        return None
    sizes = {"hidden": hidden, "input_width": width, "sequences": sequences, "timesteps": timesteps}
    return {"cell": CELL_OF_GATES[gates], **sizes, "pass": PASSES[op.type_rule.operator][0]}


def _is_layer(op: Op) -> bool:
    return op.type_rule.operator in PASSES and not op.kernel_differs


def _operands(op: Op, roles: tuple[str, ...]) -> list[Shape] | None:
    """The operands of these roles; None where one is missing or unknown."""
    places = [place for place, role in enumerate(op.type_rule.operands) if role in roles]
    shapes = [op.operands[place] for place in places if place < len(op.operands)]
    known = [shape for shape in shapes if shape]
    return known if places and len(known) == len(places) else None
