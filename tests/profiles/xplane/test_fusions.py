"""What a fusion reads and writes of its operands."""

from typing import Any

import pytest

from estimator.profiles import messages
from estimator.profiles.xplane.fusions import Fusion

STACK, SLICE, ROW, WHOLE = (200, 64, 8), (1, 64, 8), (64, 8), (200, 64, 8)


def shape(sizes: tuple[int, ...]) -> Any:
    return messages.get("ShapeProto")(element_type=11, dimensions=sizes)


def instruction(number: int, opcode: str, sizes: tuple[int, ...], *operands: int, parameter: int = 0) -> Any:
    return messages.get("HloInstructionProto")(
        id=number, opcode=opcode, shape=shape(sizes), operand_ids=operands, parameter_number=parameter
    )


PARAMETERS = (
    instruction(1, "parameter", STACK, parameter=0),
    instruction(2, "parameter", (), parameter=1),
    instruction(3, "parameter", SLICE, parameter=2),
)
OPERANDS = [shape(STACK), shape(()), shape(SLICE)]


def sizes(shapes: list[Any]) -> list[tuple[int, ...]]:
    return [tuple(each.dimensions) for each in shapes]


@pytest.mark.parametrize(
    ("inner", "read", "written"),
    [
        # a slice of one time step, in another form
        ([("dynamic-slice", SLICE, 1, 2), ("bitcast", ROW, 4)], [SLICE, (), SLICE], ROW),
        # the operand is converted for the slice alone
        ([("convert", STACK, 1), ("dynamic-slice", SLICE, 4, 2), ("add", SLICE, 5, 3)], [SLICE, (), SLICE], SLICE),
        # two gates are two slices
        ([("slice", ROW, 1), ("slice", ROW, 1), ("multiply", ROW, 4, 5)], [ROW, ROW, (), SLICE], ROW),
        # the sum reads all of it, whatever is taken besides
        ([("dynamic-slice", SLICE, 1, 2), ("reduce", (), 1), ("add", SLICE, 4, 5)], [STACK, (), SLICE], SLICE),
        # the rows of a table that indices name
        ([("gather", ROW, 1, 2)], [ROW, (), SLICE], ROW),
        # a table of indices is read as a whole
        ([("gather", ROW, 3, 1)], [STACK, (), ROW], ROW),
        # the stack is updated in place
        ([("dynamic-update-slice", STACK, 1, 3, 2)], [(), SLICE], SLICE),
        ([("dynamic-update-slice", STACK, 1, 3, 2), ("bitcast", STACK, 4)], [(), SLICE], SLICE),
        # a sum needs the updated stack
        ([("dynamic-update-slice", STACK, 1, 3, 2), ("reduce", (), 4)], [STACK, (), SLICE], ()),
        # nothing is there to update in place: all of the new stack is written
        ([("broadcast", STACK, 2), ("dynamic-update-slice", STACK, 4, 3, 2)], [STACK, (), SLICE], STACK),
        # the stack as it is
        ([("add", STACK, 1, 1)], [STACK, (), SLICE], STACK),
    ],
)
def test_slices_are_read_and_updates_are_written(
    inner: list[Any], read: list[tuple[int, ...]], written: tuple[int, ...]
) -> None:
    computed = [instruction(number, *rest) for number, rest in enumerate(inner, start=4)]
    fusion = Fusion([*PARAMETERS, *computed], computed[-1].id)
    assert sizes(fusion.read(OPERANDS)) == read
    assert sizes(fusion.written([computed[-1].shape])) == [written]


def test_each_result_of_several_is_written_by_itself() -> None:
    update, total = instruction(4, "dynamic-update-slice", STACK, 1, 3, 2), instruction(5, "reduce", (), 3)
    fusion = Fusion([*PARAMETERS, update, total, instruction(6, "tuple", (), 4, 5)], 6)
    assert sizes(fusion.read(OPERANDS)) == [(), SLICE]
    assert sizes(fusion.written([update.shape, total.shape])) == [SLICE, ()]


def test_a_damaged_computation_is_read_as_it_stands() -> None:
    circle = [instruction(4, "bitcast", STACK, 5), instruction(5, "bitcast", STACK, 4), instruction(6, "copy", ROW, 1)]
    fusion = Fusion([*PARAMETERS, *circle, instruction(7, "bitcast", ROW, 6, 7)], 5)
    assert sizes(fusion.read(OPERANDS)) == [STACK, (), SLICE]
    assert sizes(fusion.written([shape(STACK)])) == [STACK]
    assert sizes(Fusion([], 9).read(OPERANDS)) == sizes(OPERANDS)
