"""What a program of JAX does with arrays, and which of its loops run steps."""

from typing import Any

import pytest

from estimator.profiles.xplane import passes
from estimator.profiles.xplane.flow import Flow, Value
from tests.profiles.xplane.test_flow import calls, element, module

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
