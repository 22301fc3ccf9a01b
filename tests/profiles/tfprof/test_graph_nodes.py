from collections.abc import Sequence
from typing import Any

import pytest

from estimator.profiles import messages
from estimator.profiles.tfprof.graph_nodes import find_nodes, only, read_nodes


def metadata(**nodes: tuple[str, Sequence[str]]) -> Any:
    """RunMetadata with a node "m" of a type and with inputs, by the place where it stands."""
    out = messages.get("RunMetadata")()
    function = out.function_graphs.add()
    graphs = {
        "ran": out.partition_graphs.add().node,
        "function_ran": function.partition_graphs.add().node,
        "library": out.partition_graphs[0].library.function.add().node_def,
        "optimized": function.post_optimization_graph.node,
        "given": function.pre_optimization_graph.node,
        "given_library": function.pre_optimization_graph.library.function.add().node_def,
    }
    for place, (op, inputs) in nodes.items():
        graphs[place].add(name="m", op=op, input=inputs)
    return out


def types(message: Any, *inputs: str) -> list[str]:
    return [node.op for node in find_nodes(read_nodes(message), "m", inputs)]


@pytest.mark.parametrize("place", ["ran", "function_ran", "library", "optimized", "given", "given_library"])
def test_nodes_of_all_graphs_and_functions(place: str) -> None:
    assert types(metadata(**{place: ("MatMul", ["a", "b:1", "^c"])}), "a", "b:1") == ["MatMul"]


def test_graphs_that_ran_outrank_functions_as_they_were_given() -> None:
    message = metadata(ran=("_FusedMatMul", ["a"]), library=("MatMul", ["a"]), given=("MatMul", ["a"]))
    assert types(message, "a") == ["_FusedMatMul"]


def test_inputs_tell_nodes_of_one_name_apart() -> None:
    message = metadata(ran=("MatMul", ["a", "w"]), function_ran=("Add", ["x", "x"]), library=("Mul", ["y:out:0"]))
    assert [types(message, *inputs) for inputs in (("a", "w"), ("x", "x"), ("y",), ("z",))] == [
        ["MatMul"],
        ["Add"],
        ["Mul"],
        [],
    ]


def test_an_op_whose_inputs_are_not_known_may_be_any_node_of_its_name() -> None:
    assert types(metadata(ran=("MatMul", ["a"]), function_ran=("Add", ["x"]))) == ["MatMul", "Add"]


def test_a_label_that_is_cut_off_tells_the_inputs_before() -> None:
    message = metadata(ran=("MatMul", ["a", "w"]), function_ran=("Add", ["x", "w"]))
    assert types(message, "x", "") == ["Add"]


def test_names_without_nodes() -> None:
    assert find_nodes(read_nodes(metadata()), "m", ()) == ()


@pytest.mark.parametrize(("values", "one"), [([], None), ([1], 1), ([1, 1], 1), ([1, 2], None)])
def test_one_value_of_several(values: list[int], one: int | None) -> None:
    assert only(values) == one
