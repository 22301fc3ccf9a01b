"""The nodes of RunMetadata's graphs and functions, and those of which an op of the trace may be a run.

The ops of a function have the names of its own nodes, which other functions and the graph itself may have as well.
Inputs tell such nodes apart; what still differs is not known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

Nodes = Mapping[str, Sequence[Any]]  # by name
Value = TypeVar("Value")


def read_nodes(metadata: Any) -> tuple[Nodes, Nodes]:
    """The nodes of the graphs that ran, and those of functions as they were before they were divided among devices."""
    ran = list(_graphs_that_ran(metadata))
    functions = metadata.function_graphs
    given = [graph for each in functions for graph in (each.post_optimization_graph, each.pre_optimization_graph)]
    called = (function for graph in (*ran, *given) for function in graph.library.function)
    inner = (node for function in called for node in function.node_def)
    return _by_name(_nodes(ran)), _by_name([*_nodes(given), *inner])


def find_nodes(nodes: Iterable[Nodes], op: str, inputs: Sequence[str]) -> Sequence[Any]:
    """The nodes of which an op with these inputs may be a run: of the first nodes that have any."""
    fitting = ([node for node in each.get(op, ()) if _takes(node, inputs)] for each in nodes)
    return next(filter(None, fitting), ())


def only(values: Iterable[Value]) -> Value | None:
    """The one value of all; None where there is none, or several."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def _graphs_that_ran(metadata: Any) -> Iterator[Any]:
    yield from metadata.partition_graphs
    for function in metadata.function_graphs:
        yield from function.partition_graphs


def _nodes(graphs: Iterable[Any]) -> Iterator[Any]:
    return (node for graph in graphs for node in graph.node)


def _by_name(nodes: Iterable[Any]) -> Nodes:
    by_name = defaultdict(list)
    for node in nodes:
        by_name[node.name].append(node)
    return by_name


def _takes(node: Any, inputs: Sequence[str]) -> bool:
    """Whether a node takes these inputs, as far as they are known: an empty one is where a label was cut off."""
    listed, own = _data_inputs(inputs), _data_inputs(node.input)
    known = listed.index("") if "" in listed else max(len(listed), len(own))
    return not listed or listed[:known] == own[:known]


def _data_inputs(names: Iterable[str]) -> list[str]:
    """The nodes of inputs such as ``node``, ``node:1`` or, in a function, ``node:output:0``."""
    return [name.partition(":")[0] for name in names if not name.startswith("^")]
