"""XLA's compiled programs (HLO): instructions by name, as events refer to them, the state, and loops over steps.

Message: xla/service/hlo.proto.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from estimator.profiles import messages
from estimator.profiles.xplane import passes
from estimator.profiles.xplane.depthwise import restore_groups
from estimator.profiles.xplane.flow import WHOLE, Flow, Value
from estimator.profiles.xplane.instructions import FLOATS, PRECISIONS, Instruction, flat, parts
from estimator.profiles.xplane.state import Array, State, Taken, kept_state

SENDS = re.compile(r"(ragged-)?all-|reduce-scatter|collective-")  # begins the opcodes of collectives
WHOLE_SHARDINGS = (0, 1)  # replicated, or on one device: OpSharding's types


@dataclass(frozen=True)
class Turn:
    """What runs several steps: a loop, or a program whose steps were written one behind the other.

    ``steps``: how many, each time that its instructions run.
    """

    name: str
    steps: int = 1


@dataclass(frozen=True)
class Program:
    """A program's instructions by name, what it keeps from run to run, and what of it runs several steps.

    ``loops`` gives this by the instructions that run once a turn.
    """

    instructions: Mapping[str, tuple[Instruction, ...]]
    state: State | None = None
    loops: Mapping[str, Turn] = field(default_factory=dict)


NO_PROGRAM = Program({})


def read_program(content: bytes, where: str) -> tuple[str, Program]:
    """The module's name, and the program. Raises EstimatorError."""
    module = messages.parse("HloProto", content, where).hlo_module
    computations = {computation.id: computation for computation in module.computations}
    flow = Flow(module)
    restore_groups(flow)
    instructions = {i.name: tuple(parts(i, flow.by_id, computations)) for i in flow.by_id.values()}
    loops: dict[str, Turn] = {}
    for loop in passes.loops_of_steps(flow):
        body, name = loop.called_computation_ids[0], loop.metadata.op_name
        turn = Turn(f"{module.name}.{body}", passes.steps_in_a_row(flow, body))
        loops |= {i.name: turn for i in flow.instructions[body]}
        inside = [i.name for each in (body, *flow.called(body)) for i in flow.instructions.get(each, ())]
        instructions |= {each: tuple(_of_turn(part, name) for part in instructions[each]) for each in inside}
    entry = module.entry_computation_id
    if not loops and (steps := passes.steps_in_a_row(flow, entry)) > 1:
        loops = {i.name: Turn(module.name, steps) for i in flow.instructions[entry]}
    return module.name, Program(instructions, _state(module, flow), loops)


def _of_turn(instruction: Instruction, loop: str) -> Instruction:
    """An instruction as that of one step, by the name of the loop over steps that it is in."""
    program, inside = instruction.path.partition("/")[0], f"{loop}/body/"
    if not instruction.path.startswith(inside):
        return instruction
    return replace(instruction, path=f"{program}/{instruction.path.removeprefix(inside)}")


def _state(module: Any, flow: Flow) -> State | None:
    """What the entry computation keeps; None where parts of arrays may be on other devices."""
    entry = flow.instructions.get(module.entry_computation_id)
    root = flow.by_id.get(flow.roots.get(module.entry_computation_id))
    if entry is None or root is None:
        return None
    given = [(Value(root.id, place), array) for place, array in _places(root.shape)]
    if _is_divided(module, flow, {array for _, array in given}):
        return None
    back = {passes.unchanged(flow, value) for value, _ in given}
    taken = [
        Taken(i.metadata.op_name, array, passes.use(flow, Value(i.id, place)), i.id in back)
        for i in entry
        if i.opcode == "parameter"
        for place, array in _places(i.shape)
    ]
    made = [(value, array) for value, array in given if not passes.of_forward_pass(flow, value)]
    gradients = [array for value, array in made if passes.is_gradient(flow, value)]
    return kept_state(taken, [array for _, array in made], gradients)


def _is_divided(module: Any, flow: Flow, given: Collection[Array]) -> bool:
    """Whether devices may hold parts of arrays that a program gives back: it sends, and nothing says that they do not.

    A device's copy in an array of all copies, as ``jax.pmap`` takes it, is whole. Replicas take copies.
    """
    sends = {i.opcode for i in flow.by_id.values() if SENDS.match(i.opcode)}
    reduces_alone = all(opcode.startswith("all-reduce") for opcode in sends)
    has_partitions = module.device_assignment.computation_count != 1
    taken = [i for i in flow.instructions[module.entry_computation_id] if i.opcode == "parameter"]
    kept = [i for i in taken if any(array in given for array in _arrays(i.shape))]
    whole = (_is_whole(i, reduces_alone) if i.HasField("sharding") else not has_partitions for i in kept)
    return bool(sends) and not all(whole)


def _is_whole(parameter: Any, reduces_alone: bool) -> bool:
    """Whether each device holds all of an array, or its own copy of what all-reduces alone concern."""
    sharding, first = parameter.sharding, list(parameter.shape.dimensions)[:1]
    is_copy = first == [1] and set(sharding.tile_assignment_dimensions[1:]) <= {1}
    return sharding.type in WHOLE_SHARDINGS or (is_copy and reduces_alone)


def _places(shape: Any) -> Iterator[tuple[int, Array]]:
    """Yield the arrays of floating-point numbers of a shape, scalars apart, with their places where it is a tuple."""
    parts = enumerate(shape.tuple_shapes) if shape.tuple_shapes else [(WHOLE, shape)]
    yield from ((place, array) for place, part in parts for array in _arrays(part))


def _arrays(shape: Any) -> list[Array]:
    """The arrays of floating-point numbers of a shape, scalars apart."""
    named = [(PRECISIONS.get(each.element_type, ""), tuple(each.dimensions)) for each in flat(shape)]
    return [(precision, sizes) for precision, sizes in named if sizes and precision in FLOATS]
