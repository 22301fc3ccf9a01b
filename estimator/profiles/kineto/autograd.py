"""What autograd tells of a Kineto trace: which calls of the forward pass it keeps tensors of, and the parameters."""

from __future__ import annotations

import math

import numpy as np

from estimator.core.schema import FROZEN, IN_BLOCK, NO_BLOCK
from estimator.core.types import Flags, Integers
from estimator.profiles.kineto import torch_ops
from estimator.profiles.kineto.arguments import Call, read_sizes
from estimator.profiles.kineto.nesting import BACK, FORWARD, UPDATE, Nesting, are_calls, are_inside, is_gradient
from estimator.profiles.kineto.trace import ABSENT, OPTIMIZER, OPTIMIZER_STEP, Trace

OWN = "aten::"  # begins the names of PyTorch's own ops
GRADIENT_ENDS = "torch::autograd::AccumulateGrad"  # takes the gradient of one parameter
ZERO_GRAD = f"{OPTIMIZER}zero_grad#"
LAST_INSIDE = {"aten::_safe_softmax": "aten::where"}  # the op that writes its result
MOMENTUM, LARGEST_MOMENT = ("mul", "_foreach_mul", "_fused_sgd"), ("maximum", "_foreach_maximum")
TORCH_NAMES = {"asgd": "sgd", "sparseadam": "adam", "fusedadam": "adam", "fusedlamb": "lamb", "fusedsgd": "sgd"}


def tracked(trace: Trace, nest: Nesting) -> Flags:
    """Whether each op is one of the forward pass that has a gradient's op, or that such an op dispatches to.

    All ops of the forward pass, where there is no backward pass or no number.
    """
    forward: Flags = nest.phase == FORWARD
    flags = with_gradients(trace, forward)
    if not flags.any() or not (nest.phase == BACK).any():
        return forward
    is_own = are_calls(trace, lambda call: call.name.startswith(OWN))
    flags &= is_own | _has_number_of_gradient(trace)
    works = is_own & ~nest.dispatch
    dispatched = are_inside(flags, nest.parent) & ~are_inside(works, nest.parent)  # what works calls keeps nothing
    return (flags | dispatched) & ~_between(trace, nest)


def _has_number_of_gradient(trace: Trace) -> Flags:
    """Whether an op of the backward pass tells the number of each op: functions have numbers without gradients too."""
    number = trace.ops["sequence"]
    gradients = are_calls(trace, is_gradient)
    return np.isin(number, number[gradients & (number != ABSENT)])


def with_gradients(trace: Trace, chosen: Flags) -> Flags:
    """Which of these ops have a gradient's op.

    An op tells the number that its gradient's op would get. Those of one number before the last one that tells it made
    none (PyTorch, torch/csrc/autograd/function.h, sequence_nr).
    """
    rows = np.flatnonzero(chosen & (trace.ops["sequence"] != ABSENT))
    lane, number, start = (trace.ops[name][rows] for name in ("lane", "sequence", "start"))
    order = np.lexsort((start, number, lane))
    is_last = np.append((np.diff(number[order]) != 0) | (np.diff(lane[order]) != 0), True)
    flags = np.zeros(len(chosen), dtype=bool)
    flags[rows[order[is_last[: len(rows)]]]] = True
    return flags


def _between(trace: Trace, nest: Nesting) -> Flags:
    """Ops inside an op with a gradient of its own whose results it hands on to another one inside."""
    around = are_calls(trace, lambda call: call.name in LAST_INSIDE)
    last = are_calls(trace, lambda call: call.name in LAST_INSIDE.values())
    between: Flags = are_inside(around, nest.parent) & ~around & ~last
    return between


def pass_numbers(trace: Trace, forward: Integers) -> Integers:
    """For each of these ops the number of its forward pass: between two of them parameters get gradients."""
    is_forward = np.zeros(len(trace.ops), dtype=bool)
    is_forward[forward] = True
    rows = _in_order(trace, is_forward | _ends(trace))
    number = np.zeros(len(is_forward), dtype=np.int64)
    number[rows] = np.cumsum(np.diff(is_forward[rows].astype(np.int64), prepend=0) > 0)
    return number


def places(row: Integers, block: Integers, frozen: Flags, start: Integers, rows: int) -> list[str | None]:
    """The places of each row's events among all, by their starts, with what else OPS says; None: no event."""
    order = np.argsort(start, kind="stable")
    listed: list[list[str]] = [[] for _ in range(rows)]
    each = zip(row[order].tolist(), block[order].tolist(), frozen[order].tolist(), strict=True)
    for place, (of_row, in_block, is_frozen) in enumerate(each):
        marks = FROZEN * is_frozen + (f"{IN_BLOCK}{in_block}" if in_block != NO_BLOCK else "")
        listed[of_row].append(f"{place}{marks}")
    return [";".join(each) or None for each in listed]


def trained_numbers(trace: Trace, counted: Flags, passes: int) -> int | None:
    """Trained numbers, by the gradients that each of so many backward passes hands over; None where nothing tells."""
    often = np.bincount(trace.ops["kind"][counted], minlength=len(trace.calls)).tolist()
    total = sum(count * _gradient_elements(call) for count, call in zip(often, trace.calls, strict=True) if count)
    return round(total / passes) or None


def _gradient_elements(call: Call) -> int:
    """Elements of the gradient that an op hands over to a parameter; 0 for all other ops."""
    sizes = read_sizes(call.dims) if call.name == GRADIENT_ENDS else []
    return sum(map(math.prod, sizes[0])) if sizes else 0


def backward_passes(trace: Trace, nest: Nesting, in_steps: Flags) -> int:
    """How often a parameter gets its gradient, as the first one behind a product of the forward pass."""
    ends = _ends(trace)
    products = are_calls(trace, torch_ops.does_product) & (nest.phase == FORWARD)
    is_end = ends[_in_order(trace, (ends | products) & in_steps)]
    return int((is_end[1:] & ~is_end[:-1]).sum())


def _ends(trace: Trace) -> Flags:
    """The ops that hand gradients over to parameters."""
    return are_calls(trace, lambda call: call.name == GRADIENT_ENDS)


def _in_order(trace: Trace, chosen: Flags) -> Integers:
    """The chosen ops, in the order of their starts."""
    rows = np.flatnonzero(chosen)
    return rows[np.argsort(trace.ops["start"][rows], kind="stable")]


def keeps_gradients(trace: Trace, nest: Nesting) -> bool:
    """Whether gradients are set to nothing behind the forward pass: the op before each mark of that is one of it."""
    marked = trace.marks["start"][trace.marked(ZERO_GRAD)]
    rows = _in_order(trace, are_calls(trace, torch_ops.does_product) & np.isin(nest.phase, (FORWARD, BACK)))
    if not len(marked) or not len(rows):
        return False
    before = np.searchsorted(trace.ops["start"][rows], marked) - 1
    return bool((before >= 0).all() and (nest.phase[rows[before]] == FORWARD).all())


def optimizer_name(trace: Trace, nest: Nesting) -> str | None:
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
    return "adam_amsgrad" if name in ("adam", "adamw") and bases & set(LARGEST_MOMENT) else name
