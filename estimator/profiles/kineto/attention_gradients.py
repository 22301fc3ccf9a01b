"""Sizes of attention's gradients in autograd functions of a library, which list the gradient of the result alone.

flash-attn before 2.7 has no ops of its own: ``FlashAttnFunc`` runs the kernels, and ``FlashAttnFuncBackward`` lists the
gradient of its result. The forward calls whose result is that large tell queries, keys and values, if they agree.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict

import numpy as np

from estimator.profiles.kineto.arguments import Argument, Call, Sizes, non_scalars, read_arguments, read_list
from estimator.profiles.kineto.attention import is_causal
from estimator.profiles.kineto.nesting import Nesting
from estimator.profiles.kineto.trace import Trace

FORWARD, BACKWARD = "FlashAttnFunc", "FlashAttnFuncBackward"
GRADIENT = "flash_attn::_flash_attn_backward"  # the op that newer versions have for it
OWN_OP = re.compile(r"flash_attn\w*::_?flash_attn\w*_backward|aiter::\w*(bwd|backward)")
CAUSAL = 11  # the place of ``causal`` among the arguments of GRADIENT


def complete_attention(trace: Trace, nest: Nesting) -> None:
    """Give each gradient of a library's attention its operands, where the forward calls tell them."""
    calls = list(trace.calls)
    if not any(call.name == BACKWARD for call in calls) or any(OWN_OP.fullmatch(call.name) for call in calls):
        return
    forward = _forward_calls(calls)
    kinds = trace.ops["kind"]
    for kind, call in enumerate(calls):
        gradient = _operands(call)[:1] if call.name == BACKWARD else []
        attentions = forward.get(gradient[0], set()) if gradient else set()
        if len(attentions) == 1:
            rows = np.flatnonzero(kinds == kind)
            kinds[rows] = trace.calls[_gradient(call, gradient[0], *next(iter(attentions)))]
            nest.dispatch[rows] = False


def _forward_calls(calls: list[Call]) -> dict[Sizes, set[tuple[tuple[Sizes, ...], bool]]]:
    """Queries, keys and values, and whether the mask is causal, of each size of a result."""
    by_result: defaultdict[Sizes, set[tuple[tuple[Sizes, ...], bool]]] = defaultdict(set)
    for call in calls:
        operands = _operands(call)[:3] if call.name == FORWARD else []
        if len(operands) == 3 and all(len(dims) == 4 for dims in operands):
            result = (*operands[0][:-1], operands[2][-1])
            by_result[result].add((tuple(operands), is_causal(FORWARD, read_list(call.values))))
    return by_result


def _operands(call: Call) -> list[Sizes]:
    """The sizes of a call's tensors."""

    def only(argument: Argument) -> list[Sizes]:
        return [tensor.dims for tensor in non_scalars(argument)]

    return [dims for argument in read_arguments(call) for dims in only(argument)]


def _gradient(call: Call, gradient: Sizes, operands: tuple[Sizes, ...], causal: bool) -> Call:
    """The call of the op that computes the gradient."""
    dims = [list(sizes) for sizes in (gradient, *operands)]
    first = str((read_list(call.types) or [""])[0])
    empty: list[list[int]] = [[]] * (CAUSAL + 1 - len(dims))
    types = [first] * len(dims) + ["Scalar"] * len(empty)
    values = [*[""] * CAUSAL, str(causal)]
    texts = [json.dumps(part).encode() for part in (dims + empty, types, values)]
    return Call(GRADIENT, texts[0], texts[1], b"", texts[2])
