"""Which steps of a loop are those of a cell that libraries have."""

from dataclasses import replace

import pytest

from estimator.profiles.graph import Node
from estimator.profiles.recurrent_cells import read_layer, timesteps
from tests.profiles.loop_graph import LOOP, changed, loop_graph, name_in, node


def layer_of(nodes: dict[str, Node]) -> Node | None:
    return read_layer([name for name in nodes if name.startswith(f"{LOOP}/body/")], nodes)


def without(nodes: dict[str, Node], name: str) -> dict[str, Node]:
    return {each: nodes[each] for each in nodes if each != name_in(nodes, name)}


def with_step(nodes: dict[str, Node], name: str, added: Node) -> dict[str, Node]:
    """The graph with one more node in a step."""
    return nodes | {name_in(nodes, "MatMul").removesuffix("MatMul") + name: added}


@pytest.mark.parametrize(
    ("cell", "shapes"),
    [
        ("lstm", "3x2x5;1x2x4;1x2x4;16x5;16x4;16;16"),
        ("gru", "3x2x5;1x2x4;12x5;12x4;12;12"),
    ],
)
def test_a_layer_has_the_operands_that_a_library_takes(cell: str, shapes: str) -> None:
    layer = layer_of(loop_graph(cell))
    assert layer == Node("While", ("x",), shapes, "unknown", None, "fp32")
    assert timesteps(layer) == 3


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("Tanh", {"op_type": "Relu"}),
        ("Sigmoid", {"op_type": "Minimum"}),  # a hard sigmoid
        ("MatMul_1", {"inputs": ("elsewhere", "u")}),
        ("MatMul_1", {"shapes": "2x4;4x20"}),
        ("MatMul_1", {"shapes": "2x8;8x16"}),
        ("MatMul_1", {"shapes": "3x4;4x16"}),
        ("MatMul", {"shapes": None}),
        ("MatMul", {"shapes": "2x5;4x16"}),
        ("BiasAdd", {"shapes": None}),  # no biases
    ],
)
def test_other_cells_stay_loops(cell: str, name: str, columns: dict[str, object]) -> None:
    assert layer_of(changed(loop_graph(cell), name, **columns)) is None


def test_a_cell_of_other_gates_stays_a_loop() -> None:
    nodes = loop_graph("lstm")
    for name, shapes in (("MatMul", "2x5;5x12"), ("MatMul_1", "2x4;4x12")):
        nodes = changed(nodes, name, shapes=shapes)
    assert layer_of(nodes) is None


@pytest.mark.parametrize("op_type", ["Softmax", "Mul", "Tanh", "MatMul", "Unheard"])
def test_a_step_that_does_more_stays_a_loop(op_type: str) -> None:
    assert layer_of(with_step(loop_graph(), "more", node(op_type, "a;b", "2x5;5x16"))) is None
    assert layer_of(without(loop_graph(), "mul_2")) is None


@pytest.mark.parametrize("op_type", ["Identity", "SelectV2", "ReadVariableOp", "TensorListPushBack", "AddV2"])
def test_a_step_may_choose_keep_and_add(op_type: str) -> None:
    assert layer_of(with_step(loop_graph(), "more", node(op_type, "a;b"))) is not None


def dropped(nodes: dict[str, Node], name: str, operands: str) -> dict[str, Node]:
    """The graph in which a product takes the product of these operands."""
    nodes = with_step(nodes, "dropped", node("Mul", operands))
    return changed(nodes, name, inputs=(name_in(nodes, "dropped"), "w"))


def test_dropout_of_the_input_is_outside_of_the_layer() -> None:
    nodes = loop_graph()
    masked = dropped(nodes, "MatMul", f"{LOOP}/carry_switch/_4;{name_in(nodes, 'read')}")
    assert layer_of(masked) == layer_of(nodes)


def test_dropout_of_the_state_stays_a_loop() -> None:
    state, mask = f"{LOOP}/state_switch/_4", f"{LOOP}/carry_switch/_4"
    assert layer_of(dropped(loop_graph(), "MatMul_1", f"{state};{mask}")) is None


def test_a_gru_that_resets_before_its_product_stays_a_loop() -> None:
    nodes = loop_graph("gru")
    assert layer_of(changed(nodes, "MatMul_1", inputs=(name_in(nodes, "mul"), "u"))) is None


def test_gates_may_have_products_and_biases_of_their_own() -> None:
    nodes = loop_graph()
    for name, shapes in (("MatMul", "2x5;5x4"), ("MatMul_1", "2x4;4x4"), ("BiasAdd", "2x4;4")):
        full, part = name_in(nodes, name), replace(nodes[name_in(nodes, name)], shapes=shapes)
        nodes = nodes | {f"{full}{number}": part for number in "abc"} | {full: part}
    assert layer_of(nodes) == layer_of(loop_graph())


def test_the_state_behind_renames_is_the_state() -> None:
    nodes = with_step(loop_graph(), "same", node("Identity", f"{LOOP}/state_switch/_4"))
    assert layer_of(changed(nodes, "MatMul_1", inputs=(name_in(nodes, "same"), "u"))) is not None


def test_two_inputs_stay_a_loop() -> None:
    nodes = loop_graph() | {"other": node("TensorListFromTensor", "y", "3x2x5;2")}
    nodes = with_step(nodes, "read_1", node("TensorListGetItem", "other;time"))
    nodes = with_step(nodes, "MatMul_2", node("MatMul", f"{name_in(nodes, 'read_1')};w", "2x5;5x8"))
    assert layer_of(changed(nodes, "MatMul", shapes="2x5;5x8")) is None


@pytest.mark.parametrize(
    "columns", [{"shapes": None}, {"shapes": "-1x2x5;2"}, {"shapes": "1;1"}, {"op_type": "TensorListReserve"}]
)
def test_without_a_number_of_steps_a_layer_has_no_shapes(columns: dict[str, str | None]) -> None:
    sequence = f"{LOOP.removesuffix('/while')}/list"
    nodes = loop_graph()
    layer = layer_of(nodes | {sequence: replace(nodes[sequence], **columns)})  # type: ignore[arg-type]
    assert layer is not None
    assert layer.shapes is None
    assert timesteps(layer) == 0


def test_an_input_that_the_graph_lacks_has_no_number_of_steps() -> None:
    nodes = loop_graph()
    layer = layer_of({name: nodes[name] for name in nodes if not name.endswith("/list")})
    assert layer is not None
    assert layer.shapes is None


def test_chains_that_lead_back_to_themselves_end() -> None:
    nodes = loop_graph()
    ring = {f"{LOOP}/merge/_2": node("Merge", f"{LOOP}/list_switch/_3")}
    assert layer_of(nodes | ring) is None or layer_of(nodes | ring).shapes is None  # type: ignore[union-attr]
