"""Operands of the gradients of layers that are functions: they list the gradient of the result alone.

Autograd gives a function and its gradient one number.
"""

from __future__ import annotations

import json

import numpy as np

from estimator.profiles.kineto.layer_functions import GRADIENT, is_layer, matrices
from estimator.profiles.kineto.trace import ABSENT, Trace


def complete_layers(trace: Trace) -> None:
    """Give each gradient of a layer the operands of the function that has its number."""
    calls, kinds, numbers = list(trace.calls), trace.ops["kind"], trace.ops["sequence"]
    layers = [kind for kind, call in enumerate(calls) if is_layer(call.name)]
    rows = np.flatnonzero(np.isin(kinds, layers) & (numbers != ABSENT))
    number_and_kind = list(zip(numbers[rows].tolist(), kinds[rows].tolist(), strict=True))
    functions = {number: calls[kind] for number, kind in number_and_kind if not calls[kind].name.endswith(GRADIENT)}
    for row, (number, kind) in zip(rows.tolist(), number_and_kind, strict=True):
        function = functions.get(number)
        if function and calls[kind].name == function.name + GRADIENT:
            kinds[row] = trace.calls[calls[kind]._replace(dims=json.dumps(matrices(function)).encode())]
