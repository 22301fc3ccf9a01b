"""The workload of a Kineto trace: its mode, parameters and optimizer, as ops and marks tell them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from estimator.core.number_formats import WIDE, format_of_updates
from estimator.core.types import Optimizer, Workload
from estimator.profiles.frameworks import PYTORCH, with_framework
from estimator.profiles.kineto.autograd import in_order
from estimator.profiles.kineto.backward_passes import backward_passes
from estimator.profiles.kineto.graph import Graph
from estimator.profiles.kineto.nesting import BACK, FORWARD, UPDATE, Nesting, are_products
from estimator.profiles.kineto.parameters import frozen_numbers, handed_format, trained_numbers
from estimator.profiles.kineto.steps import Steps
from estimator.profiles.kineto.trace import OPTIMIZER, OPTIMIZER_STEP, Trace
from estimator.profiles.modes import with_mode

GRADIENT = re.compile(r"(?i)backward(_(input|weight)s?)?$")  # ends the names of ops that only training runs
ZERO_GRAD = f"{OPTIMIZER}zero_grad#"
MOMENTUM, LARGEST_MOMENT = ("mul", "_foreach_mul", "_fused_sgd"), ("maximum", "_foreach_maximum")
MEAN = ("lerp", "_foreach_lerp")
TORCH_NAMES = {"asgd": "sgd", "sparseadam": "adam", "fusedadam": "adam", "fusedlamb": "lamb", "fusedsgd": "sgd"}


def as_traced(
    workload: Workload, trace: Trace, nest: Nesting, graph: Graph, steps: Steps, ops: pd.DataFrame
) -> Workload:
    """The workload as PyTorch's where it names no framework, with parameters and optimizer as the trace tells them.

    It is inference where it states no mode and the trace's ops have no backward pass and no update. ``ops``: its OPS.
    """
    ends_of_passes = backward_passes(trace, nest, steps)
    passes = max(len(ends_of_passes), steps.count)
    traced: dict[str, object] = {}
    if workload.parameters is None:
        numbers = trained_numbers(trace, nest, graph, ends_of_passes)
        frozen = frozen_numbers(trace, nest, graph, steps, passes) if numbers else None
        traced |= {"parameters": numbers, "frozen_parameters": workload.frozen_parameters or frozen}
    if workload.parameter_precision is None:
        traced["parameter_precision"] = _kept_format(trace, steps, ops)
    if workload.optimizer is None and (name := _optimizer_name(trace, nest)):
        traced["optimizer"] = Optimizer(name=name)
    if passes > steps.count or _keeps_gradients(trace, nest):
        traced["gradients_in_forward"] = True
    trains = np.isin(nest.phase, (BACK, UPDATE)).any() or any(GRADIENT.search(call.name) for call in trace.calls)
    workload = with_framework(workload.model_copy(update=traced), PYTORCH)
    return with_mode(workload, not trains and len(nest.phase) > 0)


def _kept_format(trace: Trace, steps: Steps, ops: pd.DataFrame) -> str | None:
    """The format of parameters: that of their updates, which may have wider copies of them than their gradients are.

    No narrower ones: Muon's products run in bf16. None where kernels of the updates may name it.
    """
    handed = handed_format(trace, steps.ops)
    if handed == WIDE or len(trace.device):
        return WIDE if handed == WIDE else None
    return format_of_updates(ops) or handed


def _keeps_gradients(trace: Trace, nest: Nesting) -> bool:
    """Whether gradients are set to nothing behind the forward pass: the op before each mark of that is one of it."""
    marked = trace.marks["start"][trace.marked(ZERO_GRAD)]
    rows = in_order(trace, are_products(trace) & np.isin(nest.phase, (FORWARD, BACK)))
    if not len(marked) or not len(rows):
        return False
    before = np.searchsorted(trace.ops["start"][rows], marked) - 1
    return bool((before >= 0).all() and (nest.phase[rows[before]] == FORWARD).all())


def _optimizer_name(trace: Trace, nest: Nesting) -> str | None:
    """The name of the optimizer that the trace marks, with what the ops of its update tell; None without marks."""
    marked = {name.partition("#")[2].partition(".")[0] for name in trace.names if name.startswith(OPTIMIZER_STEP)}
    if len(marked) != 1:
        return None
    name = marked.pop().lower()
    name = TORCH_NAMES.get(name, name)
    kinds = np.unique(trace.ops["kind"][nest.phase == UPDATE]).tolist()
    calls = list(trace.calls)
    bases = {calls[kind].name.rpartition("::")[2].rstrip("_") for kind in kinds}
    if name == "sgd" and bases & set(MOMENTUM):
        return "sgd_momentum"
    if name == "rmsprop" and bases & set(MEAN):
        return "centered_rmsprop"
    return "adam_amsgrad" if name in ("adam", "adamw") and bases & set(LARGEST_MOMENT) else name
