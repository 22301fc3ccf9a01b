"""What uses an array of a program of XLA, and what made it."""

from typing import Any

from estimator.profiles import messages
from estimator.profiles.xplane.flow import Flow, Value

Rows = list[tuple[Any, ...]]  # id, opcode, operands, name, and other fields


def module(**computations: Rows) -> Any:
    """A module of computations by name, ``entry`` the first; the last instruction of each is its root."""
    proto = messages.get("HloModuleProto")()
    for number, (name, rows) in enumerate(computations.items(), 1):
        computation = proto.computations.add(id=number, name=name, root_id=rows[-1][0])
        parameters = 0
        for identity, opcode, operands, op_name, *others in rows:
            fields: dict[str, Any] = others[0] if others else {}
            if opcode == "parameter":
                fields = {"parameter_number": parameters} | fields
                parameters += 1
            instruction = computation.instructions.add(
                id=identity, name=f"i{identity}", opcode=opcode, operand_ids=operands, **fields
            )
            instruction.metadata.op_name = op_name
    proto.entry_computation_id = 1
    return proto


def calls(*computations: int) -> dict[str, Any]:
    return {"called_computation_ids": computations}


def element(place: int) -> dict[str, Any]:
    return {"tuple_index": place}


LOOP = module(
    entry=[
        (1, "parameter", [], "w"),
        (2, "parameter", [], "x"),
        (3, "tuple", [1, 2], ""),
        (4, "while", [3], "while", calls(2)),
        (5, "get-tuple-element", [4], "", element(0)),
        (6, "get-tuple-element", [4], "", element(1)),
        (7, "tuple", [5, 6], ""),
    ],
    body=[
        (11, "parameter", [], ""),
        (12, "get-tuple-element", [11], "", element(0)),
        (13, "get-tuple-element", [11], "", element(1)),
        (14, "fusion", [12, 13], "", calls(3)),
        (15, "subtract", [12, 14], "sub"),
        (16, "tuple", [15, 13], ""),
    ],
    fused=[
        (21, "parameter", [], ""),
        (22, "parameter", [], ""),
        (23, "convert", [21], ""),
        (24, "dot", [23, 22], "dot"),
    ],
)


def test_uses_are_found_in_loops_and_fusions() -> None:
    flow = Flow(LOOP)
    assert flow.uses(Value(1)) == {"dot", "sub"}
    assert flow.uses(Value(2)) == {"dot"}


def test_makers_are_found_in_loops_and_what_a_loop_hands_on_is_the_same() -> None:
    flow = Flow(LOOP)
    assert flow.makers(Value(7, 0)) == [Value(15)]
    assert flow.makers(Value(7, 1)) == [Value(2)]
    assert flow.called(2) == {3}


def test_branches_hand_on_one_operand_each_and_have_several_makers() -> None:
    branches = module(
        entry=[
            (1, "parameter", [], "p"),
            (2, "parameter", [], "a"),
            (3, "parameter", [], "b"),
            (4, "conditional", [1, 2, 3], "cond", calls(2, 3)),
        ],
        first=[(11, "parameter", [], ""), (12, "negate", [11], "neg")],
        second=[(21, "parameter", [], "")],
    )
    flow = Flow(branches)
    assert flow.uses(Value(2)) == {"neg"}
    assert set(flow.makers(Value(4))) == {Value(12), Value(3)}


def test_uses_behind_what_moves_data_or_has_no_name_count() -> None:
    joined = [
        (1, "parameter", [], "w"),
        (2, "concatenate", [1, 1], "concatenate"),
        (3, "dot", [2, 2], ""),
        (4, "add", [3, 3], "add"),
        (5, "negate", [4], "neg"),
    ]
    assert Flow(module(entry=joined)).uses(Value(1)) == {"concatenate", "add"}


def test_the_sum_of_a_reduction_is_no_computation_that_arrays_go_through() -> None:
    reduction = module(
        entry=[(1, "parameter", [], "w"), (2, "reduce", [1, 1], "reduce_sum", calls(2))],
        sums=[(11, "parameter", [], ""), (12, "parameter", [], ""), (13, "add", [11, 12], "add")],
    )
    flow = Flow(reduction)
    assert flow.uses(Value(1)) == {"reduce_sum"}
    assert flow.makers(Value(2)) == [Value(2)]


def test_a_fusion_is_a_part_of_the_computation_around_it() -> None:
    flow = Flow(LOOP)
    assert [flow.outermost(Value(number)) for number in (24, 15, 5)] == [2, 2, 1]


def test_operands_of_the_sizes_of_the_result() -> None:
    matrix, vector = {"shape": {"dimensions": [4, 4]}}, {"shape": {"dimensions": [4]}}
    rows = [(1, "parameter", [], "w", matrix), (2, "parameter", [], "b", vector), (3, "add", [1, 2], "add", matrix)]
    assert Flow(module(entry=rows)).operands(Value(3)) == [Value(1)]
