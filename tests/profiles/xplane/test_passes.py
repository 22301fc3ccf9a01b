"""What a program of JAX does with arrays, and which of its loops run steps."""

from typing import Any

import pytest

from estimator.profiles.xplane import passes
from estimator.profiles.xplane.flow import Flow, Value
from tests.profiles.xplane.test_flow import Rows, calls, element, module

FORWARD, BACKWARD, UPDATE = "jit(f)/jvp()/dot", "jit(f)/transpose(jvp())/dot", "jit(f)/sub"
SHAPE = {"shape": {"tuple_shapes": [{"element_type": 11, "dimensions": [4, 4]}]}}


def loop(*names: str, last: int = 14) -> Any:
    """A program with a loop, which carries an array that ops of these names use, and that ``last`` makes anew."""
    ops = [(13 + n, "multiply", [12 if n == 0 else 12 + n, 12], name) for n, name in enumerate(names)]
    return module(
        entry=[(1, "parameter", [], "w"), (2, "tuple", [1], ""), (3, "while", [2], "jit(f)/while", calls(2))],
        body=[
            (11, "parameter", [], ""),
            (12, "get-tuple-element", [11], "", element(0)),
            *ops,
            (19, "tuple", [last], "", SHAPE),
        ],
    )


@pytest.mark.parametrize(
    ("names", "last", "count"),
    [
        ((FORWARD, UPDATE), 14, 1),
        ((FORWARD, BACKWARD, UPDATE), 15, 1),
        ((FORWARD, UPDATE), 12, 0),  # the weights of micro-batches stay
        ((UPDATE, FORWARD), 14, 0),  # the hidden state of a sequence
        ((BACKWARD, UPDATE), 14, 0),  # sums of gradients
        ((UPDATE, UPDATE), 14, 0),  # no pass at all
    ],
)
def test_loops_of_steps(names: tuple[str, ...], last: int, count: int) -> None:
    assert len(list(passes.loops_of_steps(Flow(loop(*names, last=last))))) == count


def test_of_nested_loops_of_steps_the_inner_one_counts() -> None:
    nested = loop(FORWARD, UPDATE)
    body = nested.computations.add(id=3, root_id=33)
    for identity, opcode, operands, others in (
        (31, "parameter", [], {}),
        (32, "while", [31], calls(2)),
        (33, "tuple", [34], SHAPE),
        (34, "get-tuple-element", [32], element(0)),
    ):
        body.instructions.add(id=identity, opcode=opcode, operand_ids=operands, **others)
    nested.computations[0].instructions[2].called_computation_ids[:] = [3]
    assert [each.id for each in passes.loops_of_steps(Flow(nested))] == [32]


def test_data_that_a_loop_around_it_took_is_no_update() -> None:
    """A loop over micro-batches, in which the batch stays, and is used by passes and others."""
    program = loop(FORWARD, UPDATE, last=12)
    program.computations[0].instructions[0].opcode = "dynamic-slice"
    assert not list(passes.loops_of_steps(Flow(program)))


def test_steps_in_a_row_in_each_turn_of_a_loop() -> None:
    sizes = {"shape": {"dimensions": [4, 4]}}
    program = loop(FORWARD, UPDATE, FORWARD, UPDATE, last=16)
    body = program.computations[1]
    for instruction, operands in zip(body.instructions[2:6], ([12], [12, 13], [14], [14, 15]), strict=True):
        instruction.operand_ids[:] = operands
    for instruction in body.instructions[1:6]:
        instruction.MergeFrom(type(instruction)(**sizes))
    assert passes.steps_in_a_row(Flow(program), body.id) == 2


@pytest.mark.parametrize(
    ("names", "use"),
    [
        ([FORWARD, UPDATE], passes.IN_PASSES),
        ([FORWARD, BACKWARD], passes.IN_PASSES_ALONE),
        ([UPDATE], passes.IN_UPDATE),
        ([BACKWARD], ""),
        ([""], ""),
    ],
)
def test_use_of_an_array(names: list[str], use: str) -> None:
    users = [(2 + n, "multiply", [1, 1], name) for n, name in enumerate(names)]
    assert passes.use(Flow(module(entry=[(1, "parameter", [], "w"), *users])), Value(1)) == use


def test_what_made_a_result() -> None:
    rows = [
        (1, "parameter", [], "w"),
        (2, "multiply", [1, 1], FORWARD),
        (3, "multiply", [1, 2], BACKWARD),
        (4, "copy", [1], ""),
        (5, "tuple", [2, 3, 4], ""),
    ]
    flow = Flow(module(entry=rows))
    results = [Value(5, place) for place in range(3)]
    assert [passes.of_forward_pass(flow, result) for result in results] == [True, False, False]
    assert [passes.is_gradient(flow, result) for result in results] == [False, True, False]
    assert [passes.unchanged(flow, result) for result in results] == [None, None, 1]


def in_a_row(*steps: str, given: int) -> Any:
    """A program in which each step multiplies weights, in a pass of this name, and then updates them."""
    sizes = {"shape": {"element_type": 11, "dimensions": [4, 4]}}
    ops: Rows = [(1, "parameter", [], "w", sizes)]
    for n, name in enumerate(steps):
        weights = 1 if n == 0 else 2 * n + 1
        ops += [
            (2 * n + 2, "dot", [weights], name, sizes),
            (2 * n + 3, "subtract", [weights, 2 * n + 2], UPDATE, sizes),
        ]
    tuple_ = (99, "tuple", [given], "", {"shape": {"tuple_shapes": [sizes["shape"]]}})
    return module(entry=[*ops, tuple_])


@pytest.mark.parametrize(
    ("steps", "given", "count"),
    [
        ((FORWARD,), 3, 1),
        ((FORWARD, FORWARD, FORWARD), 7, 3),
        ((FORWARD, UPDATE), 5, 1),  # an update in two parts
        ((FORWARD, FORWARD), 4, 1),  # gives a prediction of the updated weights, but not those
    ],
)
def test_steps_in_a_row(steps: tuple[str, ...], given: int, count: int) -> None:
    assert passes.steps_in_a_row(Flow(in_a_row(*steps, given=given)), 1) == count


def test_states_that_are_updated_once_are_no_weights() -> None:
    """The program gives back a moment too, which no pass uses."""
    program = in_a_row(FORWARD, FORWARD, given=5)
    shape = {"element_type": 11, "dimensions": [4, 4]}
    entry = program.computations[0]
    for identity, opcode, operands, name in ((50, "parameter", [], "m"), (51, "multiply", [50], UPDATE)):
        entry.instructions.add(id=identity, opcode=opcode, operand_ids=operands, shape=shape).metadata.op_name = name
    root = next(each for each in entry.instructions if each.id == 99)
    root.operand_ids.append(51)
    root.shape.tuple_shapes.add(**shape)
    assert passes.steps_in_a_row(Flow(program), 1) == 2
