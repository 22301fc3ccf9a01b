from collections.abc import Mapping

import pytest

from estimator.core.errors import EstimatorError
from estimator.profiles import messages
from estimator.profiles.xplane import hlo
from estimator.profiles.xplane.instructions import Instruction
from estimator.profiles.xplane.state import State

F32, BF16 = 11, 16


def program(
    entry: list[dict[str, object]], fused: list[dict[str, object]] | None = None
) -> Mapping[str, tuple[Instruction, ...]]:
    """What a module of an entry computation and a fused one (number 2) computes, by instruction."""
    return whole_program(entry, fused).instructions


def whole_program(entry: list[dict[str, object]], fused: list[dict[str, object]] | None = None) -> hlo.Program:
    proto = messages.get("HloProto")()
    module = proto.hlo_module
    module.name, module.entry_computation_id = "jit_step", 1
    for number, instructions in ((1, entry), (2, fused or [])):
        computation = module.computations.add(id=number, name=f"computation.{number}")
        for instruction in instructions:
            computation.instructions.add(**instruction)
        if instructions:
            computation.root_id = instructions[-1]["id"]
    name, actual = hlo.read_program(proto.SerializeToString(), "program 1")
    assert name == "jit_step"
    return actual


def array(*sizes: int, kind: int = F32) -> dict[str, object]:
    return {"element_type": kind, "dimensions": sizes}


def parameter(number: int, *sizes: int, kind: int = F32) -> dict[str, object]:
    return {"name": f"p{number}", "id": number, "opcode": "parameter", "shape": array(*sizes, kind=kind)}


def dot(number: int, a: int, b: int, *sizes: int) -> dict[str, object]:
    numbers = {"lhs_contracting_dimensions": [1], "rhs_contracting_dimensions": [0]}
    return {
        "name": f"dot.{number}",
        "id": number,
        "opcode": "dot",
        "shape": array(*sizes),
        "operand_ids": [a, b],
        "dot_dimension_numbers": numbers,
        "metadata": {"op_name": "jit(step)/jvp(Dense)/dot_general"},
    }


def test_an_unreadable_program_is_refused() -> None:
    with pytest.raises(EstimatorError, match="program 7: this is no whole HloProto"):
        hlo.read_program(b"\x0a\xff", "program 7")


def root(number: int, *shapes: dict[str, object]) -> dict[str, object]:
    return {"name": "root", "id": number, "opcode": "tuple", "shape": {"tuple_shapes": list(shapes)}}


def test_a_step_keeps_the_arrays_that_it_takes_and_gives() -> None:
    places = {1: "p['a']", 2: "s[0].mu['a']", 3: "x", 4: "n", 5: "lr"}
    sizes = {1: (8, 4), 2: (8, 4), 3: (32, 8), 5: ()}
    taken = [{**parameter(n, *of), "metadata": {"op_name": places[n]}} for n, of in sizes.items()]
    taken.append({**parameter(4, 8, 4, kind=4), "metadata": {"op_name": "n"}})
    given = root(6, array(8, 4), array(8, 4), array(8, 4, kind=4), array())
    assert whole_program([*taken, given]).state == State(8 * 4, 1.0)
    assert whole_program([*taken, root(6, array(3, 3))]).state is None


def named(instruction: dict[str, object], name: str) -> dict[str, object]:
    return {**instruction, "metadata": {"op_name": name}}


def test_what_the_forward_pass_made_is_not_kept() -> None:
    """The hidden state of a recurrent layer comes back too."""
    weights, hidden = named(parameter(1, 8, 4), "p['a']"), named(parameter(2, 32, 4), "h")
    ops = [dot(3, 2, 1, 32, 4), named(dot(4, 1, 3, 8, 4), "jit(step)/sub")]
    given = {**root(5, array(8, 4), array(32, 4)), "operand_ids": [4, 3]}
    assert whole_program([weights, hidden, *ops, given]).state == State(8 * 4, 0.0)


def test_a_loop_over_steps_is_named_as_one_step() -> None:
    """Its instructions have no loop in their paths, as those of a loop over micro-batches have."""
    carried = {"tuple_shapes": [array(4, 4)]}
    called = {"opcode": "while", "operand_ids": [2], "called_computation_ids": [2]}
    taken = {"opcode": "get-tuple-element", "operand_ids": [11], "shape": array(4, 4)}
    given = {"opcode": "tuple", "shape": carried}
    inside = "jit(f)/while/body/closed_call"
    turn = [
        {"name": "p", "id": 11, "opcode": "parameter", "shape": carried},
        {"name": "w", "id": 12, **taken},
        named(dot(13, 12, 12, 4, 4), f"{inside}/jvp()/dot_general"),
        named(dot(14, 12, 13, 4, 4), f"{inside}/sub"),
        {"name": "t", "id": 15, "operand_ids": [14], **given},
    ]
    whole = [parameter(1, 4, 4), {"name": "t0", "id": 2, "operand_ids": [1], **given}]
    program_ = whole_program([*whole, named({"name": "while.1", "id": 3, **called}, "jit(f)/while")], turn)
    assert set(program_.loops) == {"p", "w", "dot.13", "dot.14", "t"}
    assert set(program_.loops.values()) == {hlo.Turn("jit_step.2")}
    assert [part.path for part in program_.instructions["dot.13"]] == ["jit(f)/closed_call/jvp()/dot_general"]
    assert [part.path for part in program_.instructions["while.1"]] == ["jit(f)/while"]


def test_steps_in_a_row_are_known_of_the_program() -> None:
    def update(number: int, weights: int) -> dict[str, object]:
        return named(dot(number, weights, number - 1, 4, 4), "jit(f)/sub")

    given = {**root(7, array(4, 4)), "operand_ids": [6]}
    steps = [dot(3, 1, 1, 4, 4), update(4, 1), dot(5, 4, 4, 4, 4), update(6, 4)]
    actual = whole_program([named(parameter(1, 4, 4), "w"), *steps, given])
    assert set(actual.loops.values()) == {hlo.Turn("jit_step", 2)}


@pytest.mark.parametrize(
    ("sharding", "opcode", "sizes", "is_known"),
    [
        ({"type": 0}, "all-gather", (8, 4), True),
        ({"type": 3, "tile_assignment_dimensions": [2, 1]}, "all-gather", (8, 4), False),
        ({"type": 3, "tile_assignment_dimensions": [2, 1]}, "all-reduce", (8, 4), False),  # a part of each product
        ({"type": 3, "tile_assignment_dimensions": [2, 1, 1]}, "all-reduce", (1, 8, 4), True),  # of jax.pmap
        (None, "all-reduce", (8, 4), False),
    ],
)
def test_arrays_that_each_device_holds_are_known(
    sharding: dict[str, object] | None, opcode: str, sizes: tuple[int, ...], is_known: bool
) -> None:
    taken = named(parameter(1, *sizes), "p['a']") | ({} if sharding is None else {"sharding": sharding})
    sent = {"name": "sent", "id": 7, "opcode": opcode, "shape": array(*sizes)}
    state = whole_program([taken, sent, root(6, array(*sizes))]).state
    assert (state == State(32, 0.0)) if is_known else (state is None)


def test_replicas_without_partitions_hold_whole_arrays() -> None:
    proto = messages.get("HloProto")()
    module = proto.hlo_module
    module.name, module.entry_computation_id, module.device_assignment.computation_count = "pmap_step", 1, 1
    computation = module.computations.add(id=1, root_id=6)
    sent = {"name": "sent", "id": 7, "opcode": "all-reduce", "shape": array(8, 4)}
    for instruction in (named(parameter(1, 8, 4), "p['a']"), sent, root(6, array(8, 4))):
        computation.instructions.add(**instruction)
    _, actual = hlo.read_program(proto.SerializeToString(), "program 1")
    assert actual.state == State(32, 0.0)


def test_what_a_step_keeps_is_not_known_where_devices_may_hold_parts_of_it() -> None:
    sent = {"name": "all-gather.1", "id": 7, "opcode": "all-gather-start", "shape": array(16, 4)}
    assert whole_program([parameter(1, 8, 4), sent, root(6, array(8, 4))]).state is None
