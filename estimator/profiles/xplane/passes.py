"""What a program of JAX does with its arrays: what passes use, what only the update uses, and which loops run steps.

JAX names what it differentiates ``jvp(…)`` and the gradients ``transpose(jvp(…))``. What has no such name is outside of
both passes: an update, a metric, or the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from estimator.profiles.phases import DIFFERENTIATED
from estimator.profiles.xplane.flow import LOOP, Flow, Value
from estimator.profiles.xplane.instructions import FLOATS, PRECISIONS

IN_PASSES, IN_PASSES_ALONE, IN_UPDATE = "passes", "passes alone", "update"
FLOATING = tuple(number for number, name in PRECISIONS.items() if name in FLOATS)
GRADIENT = "transpose("


def is_forward(name: str) -> bool:
    """Whether an op is of the forward pass by its name."""
    return DIFFERENTIATED in name and GRADIENT not in name


def use(flow: Flow, value: Value) -> str:
    """What computes with a value; empty where nothing that has a name does."""
    names = flow.uses(value)
    outside = {name for name in names if DIFFERENTIATED not in name}
    if any(map(is_forward, names)):
        return IN_PASSES if outside else IN_PASSES_ALONE
    return IN_UPDATE if names and outside == names else ""


def unchanged(flow: Flow, value: Value) -> int | None:
    """The parameter of the program that comes back as this value; None where it is made anew."""
    makers = set(flow.makers(value))
    parameters = {maker.instruction for maker in makers if flow.is_parameter(maker)}
    return parameters.pop() if len(makers) == len(parameters) == 1 else None


def of_forward_pass(flow: Flow, value: Value) -> bool:
    """Whether the forward pass alone made a value, such as predictions or the hidden state of a recurrent layer."""
    return all(is_forward(flow.name(maker)) for maker in flow.makers(value))


def is_gradient(flow: Flow, value: Value) -> bool:
    """Whether the backward pass made a value."""
    return all(GRADIENT in flow.name(maker) for maker in flow.makers(value))


def loops_of_steps(flow: Flow) -> Iterator[Any]:
    """Yield the loops whose turns are steps: they use arrays in the forward pass, and update them.

    Of nested ones the inner ones count. A loop over micro-batches leaves the weights as they are, and one over the
    steps of a sequence, or over layers, makes what it carries in a pass, or anew.
    """
    bodies = {
        i.called_computation_ids[0]: i for i in flow.by_id.values() if i.opcode == LOOP and i.called_computation_ids
    }
    of_steps = {body: loop for body, loop in bodies.items() if _holds_steps(flow, body)}
    yield from (loop for body, loop in of_steps.items() if not of_steps.keys() & flow.called(body))


def _holds_steps(flow: Flow, body: int) -> bool:
    parameter = flow.parameters.get((body, 0))
    if parameter is None:
        return False
    weights = (each for each in _results(flow, body) if use(flow, Value(parameter, each.place)) == IN_PASSES)
    return any(_is_update(flow, value, body) for value in weights)


def _is_update(flow: Flow, value: Value, body: int) -> bool:
    """Whether an op of a loop that has a name outside of both passes made a value."""
    makers = flow.makers(value, within=body)
    names = [flow.name(maker) for maker in makers]
    outside = all(names) and not any(DIFFERENTIATED in name for name in names)
    return outside and not any(map(flow.is_parameter, makers))


def steps_in_a_row(flow: Flow, computation: int) -> int:
    """How many steps a computation that is no loop runs, as of a loop in Python that was traced; 1 where one or none.

    They are as many as the updates in a row of the weights that are updated least often.
    """
    counts = (_updates_in_a_row(flow, value, computation) for value in _results(flow, computation))
    return min(filter(None, counts), default=1)


def _results(flow: Flow, computation: int) -> list[Value]:
    """The results of a computation that may be weights: arrays of floating-point numbers."""
    root = flow.by_id.get(flow.roots.get(computation, 0))
    if root is None:
        return []
    shapes = enumerate(root.shape.tuple_shapes)
    return [Value(root.id, place) for place, shape in shapes if shape.dimensions and shape.element_type in FLOATING]


def _updates_in_a_row(flow: Flow, given: Value, computation: int) -> int:
    """How many updates of a weight gave a result; 0 of other results.

    The result of each but the last one is a weight of the next forward pass.
    """
    count, is_weight = 1, False
    first = flow.makers(given, within=computation)
    seen, waiting = set(first), list(first)
    while waiting:
        value = waiting.pop()
        if DIFFERENTIATED in flow.name(value) or flow.outermost(value) != computation:
            continue
        is_used = value not in first and any(map(is_forward, flow.uses(value)))
        is_weight |= is_used and flow.is_parameter(value)
        count += is_used and not flow.is_parameter(value)
        before = {
            maker for operand in flow.operands(value) for maker in flow.makers(operand, within=computation)
        } - seen
        seen |= before
        waiting += before
    return count if is_weight else 0
