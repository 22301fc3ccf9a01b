"""What a program of JAX does with its arrays: what passes use, what only the update uses, and which loops run steps.

JAX names what it differentiates ``jvp(…)`` and the gradients ``transpose(jvp(…))``. What has no such name is outside of
both passes: an update, a metric, or the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from estimator.profiles.phases import DIFFERENTIATED
from estimator.profiles.xplane.flow import LOOP, Flow, Value

IN_PASSES, IN_PASSES_ALONE, IN_UPDATE = "passes", "passes alone", "update"
FLOATING = (10, 11, 12, 16)  # formats of weights, as PrimitiveType numbers them
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
    root, parameter = flow.roots.get(body), flow.parameters.get((body, 0))
    if root is None or root not in flow.by_id or parameter is None:
        return False
    shapes = enumerate(flow.by_id[root].shape.tuple_shapes)
    places = [place for place, shape in shapes if shape.dimensions and shape.element_type in FLOATING]
    weights = (place for place in places if use(flow, Value(parameter, place)) == IN_PASSES)
    return any(_is_update(flow, Value(root, place)) for place in weights)


def _is_update(flow: Flow, value: Value) -> bool:
    """Whether an op that has a name outside of both passes made a value."""
    makers = flow.makers(value)
    names = [flow.name(maker) for maker in makers]
    outside = all(names) and not any(DIFFERENTIATED in name for name in names)
    return outside and not any(map(flow.is_parameter, makers))
