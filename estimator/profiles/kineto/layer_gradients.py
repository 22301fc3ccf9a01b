"""Operands of the gradients of layers that are functions: they list the gradient of the result alone.

Autograd gives a function and its gradient one number.
"""

from __future__ import annotations

import json

import numpy as np

from estimator.profiles.kineto.arguments import Call, read_list
from estimator.profiles.kineto.convolution_ops import FUNCTIONS
from estimator.profiles.kineto.layer_functions import GRADIENT, is_layer, matrices
from estimator.profiles.kineto.trace import ABSENT, Trace


def complete_layers(trace: Trace) -> None:
    """Give each gradient of a layer the operands of the function that has its number."""
    calls, kinds, numbers = list(trace.calls), trace.ops["kind"], trace.ops["sequence"]
    layers = [kind for kind, call in enumerate(calls) if is_layer(call.name) or _is_convolution(call.name)]
    rows = np.flatnonzero(np.isin(kinds, layers) & (numbers != ABSENT))
    number_and_kind = list(zip(numbers[rows].tolist(), kinds[rows].tolist(), strict=True))
    functions = {number: calls[kind] for number, kind in number_and_kind if not calls[kind].name.endswith(GRADIENT)}
    for row, (number, kind) in zip(rows.tolist(), number_and_kind, strict=True):
        function = functions.get(number)
        if function and calls[kind].name == function.name + GRADIENT:
            kinds[row] = trace.calls[_with_operands(calls[kind], function)]


def _is_convolution(name: str) -> bool:
    return name.removesuffix(GRADIENT) in FUNCTIONS


def _with_operands(gradient: Call, function: Call) -> Call:
    """The gradient with the matrices of its function; of a convolution with all operands, behind its own one."""
    if not _is_convolution(function.name):
        return gradient._replace(dims=json.dumps(matrices(function)).encode())
    return Call(
        gradient.name,
        _joined(gradient.dims, function.dims, []),
        _joined(gradient.types, function.types, ""),
        _joined(gradient.strides, function.strides, []),
        _joined(gradient.values, function.values, ""),
    )


def _joined(own: bytes, of_function: bytes, nothing: object) -> bytes:
    """The first item of a gradient's list and all of its function's; empty where the function has none."""
    items = read_list(of_function)
    return json.dumps([*(read_list(own)[:1] or [nothing]), *items]).encode() if items else b""
