"""The graphs that TensorFlow ran → GRAPH: nodes by the name in the trace, with inferred shapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd

from estimator.collect.capture import tensorflow_import
from estimator.profiles.graph import GRAPH
from estimator.profiles.tfprof import node_text

Shape = tuple[int, ...] | None
SOURCE = "ImmutableConst"  # has a shape and no input; the shape of a Placeholder is not trusted, as it may be fed
UNTRACED = {SOURCE, "Placeholder", "VarHandleOp", "Const", "NoOp"}  # take no time and add no information
MAX_PATH = 8  # nodes between a variable and its use, such as a loop's entry
WRAPPING = {"_Arg", "_Retval", "_DeviceArg", "_DeviceRetval"}  # a function's arguments and results


@contextmanager
def record_graphs() -> Iterator[list[Any]]:
    """The graphs, as optimized by TensorFlow, of all functions that first run inside the block."""
    context = tensorflow_import.import_tensorflow("tensorflow.python.eager.context").context()
    graphs: list[Any] = []
    context.enable_run_metadata()
    try:
        yield graphs
        optimized = [function.post_optimization_graph for function in context.export_run_metadata().function_graphs]
        graphs.extend(graph for graph in optimized if not _is_eager(graph))
    finally:
        context.disable_run_metadata()


def table(graphs: Iterable[Any], batch: Sequence[Shape] = ()) -> pd.DataFrame:
    """GRAPH of the nodes of several graphs; of equal names, the node of the larger graph is kept.

    ``batch`` has the shapes of the batch's tensors, for sizes that the input pipeline leaves open.
    """
    rows: dict[str, dict[str, object]] = {}
    for graph in sorted(filter(_has_distinct_names, graphs), key=lambda graph: -len(graph.node)):
        for row in _rows(_make_standalone(graph, batch)):
            rows.setdefault(str(row["op"]), row)
    return GRAPH.conform(pd.DataFrame(rows.values(), columns=GRAPH.names()), "graph")


def _is_eager(graph: Any) -> bool:
    """Whether the graph wraps a single eager op: each node has its op's name, and reads the graph's arguments alone.

    The graph may hold oneDNN's variant of the op too.
    """
    arguments = {node.name for node in graph.node if node.op in WRAPPING}
    wrapped = [node for node in graph.node if node.op not in WRAPPING]
    return all(node.name == node.op and arguments.issuperset(_inputs(node)) for node in wrapped)


def _has_distinct_names(graph: Any) -> bool:
    """Whether no two nodes have the same name; TensorFlow's inference of shapes ends the process where two have."""
    return len({node.name for node in graph.node}) == len(graph.node)


def _inputs(node: Any) -> set[str]:
    """The nodes that a node reads or waits for."""
    return {name.lstrip("^").partition(":")[0] for name in node.input}


def _rows(graph: Any) -> Iterator[dict[str, object]]:
    nodes = {node.name: node for node in graph.node}
    results = _infer_shapes(graph)
    for node in nodes.values():
        inputs = [name for name in node.input if not name.startswith("^")]
        if node.op not in UNTRACED:
            yield {
                "op": node.name,
                "op_type": node.op,
                "inputs": ";".join(name.partition(":")[0] for name in inputs),
                "shapes": node_text.shapes_text([_operand_shape(name, nodes, results) for name in inputs]),
                "output_shapes": node_text.shapes_text(results.get(node.name, [])),
                "attributes": node_text.attributes(node.op, node.attr),
                "precision": node_text.precision(node.attr),
            }


def _operand_shape(name: str, nodes: Mapping[str, Any], results: Mapping[str, list[Shape]]) -> Shape:
    """The shape of a node's result; for a variable's handle that of the variable."""
    owner, _, output = name.partition(":")
    variable = owner
    for _ in range(MAX_PATH):
        node = nodes.get(variable)
        if node is None or node.op not in ("Identity", "Enter", "Switch", "Merge", "VarHandleOp"):
            break
        if node.op == "VarHandleOp":
            return node_text.shape_of(node.attr["shape"].shape)
        variable = node.input[0].partition(":")[0]
    shapes = results.get(owner, [])
    return shapes[int(output or 0)] if int(output or 0) < len(shapes) else None


def _infer_shapes(graph: Any) -> dict[str, list[Shape]]:
    """The shapes of every node's results, inferred by TensorFlow's optimizer; empty where it fails."""
    tf = tensorflow_import.import_tensorflow()
    meta_graph = tf.compat.v1.MetaGraphDef(graph_def=graph)
    inputs = {name for node in graph.node for name in _inputs(node)}
    outputs = [node.name for node in graph.node if node.name not in inputs] or [graph.node[-1].name]
    meta_graph.collection_def["train_op"].node_list.value.extend(outputs)
    try:
        properties = (
            tensorflow_import.import_tensorflow("tensorflow.python.grappler.item").Item(meta_graph).GetOpProperties()
        )
    except tf.errors.InvalidArgumentError:  # an argument of unknown rank
        return {}
    return {name: [_known_sizes(result.shape) for result in results] for name, results in properties.items()}


def _known_sizes(shape: Any) -> Shape:
    """The shape with unknown sizes as -1; smaller numbers mean unknown but equal sizes."""
    dims = node_text.shape_of(shape)
    return None if dims is None else tuple(max(size, -1) for size in dims)


def _make_standalone(graph: Any, batch: Sequence[Shape]) -> Any:
    """A copy with variables and sources of known shapes as arguments, without devices."""
    copy = type(graph)()
    copy.CopyFrom(graph)
    tensors = [node for node in copy.node if node.op == "_Arg" and not node.attr["_handle_shapes"].list.shape]
    tensors.sort(key=lambda node: node.attr["index"].i)
    for node in copy.node:
        node.device = ""
        node.attr.pop("_class", None)
        if node.op == "IteratorGetNext":
            _fill_batch_sizes(node.attr["output_shapes"].list.shape, batch)
        elif node.op == "_Arg" and node not in tensors:
            node.op = "VarHandleOp"
            node.attr["dtype"].type = node.attr["_handle_dtypes"].list.type[0]
            node.attr["shape"].shape.CopyFrom(node.attr["_handle_shapes"].list.shape[0])
        elif node.op == "_Retval":
            node.op = "Identity"
    _fill_batch_sizes([shape for node in tensors for shape in node.attr["_output_shapes"].list.shape[:1]], batch)
    for node in tensors:
        node.op = "Placeholder"
        node.attr["dtype"].type = node.attr["T"].type
        node.attr["shape"].shape.SetInParent()  # a scalar, such as an iterator's handle
        for shape in node.attr["_output_shapes"].list.shape[:1]:
            node.op = SOURCE
            node.attr["memory_region_name"].s = b"none"
            node.attr["shape"].shape.CopyFrom(shape)
    return copy


def _fill_batch_sizes(shapes: Sequence[Any], batch: Sequence[Shape]) -> None:
    """Fill open sizes with those of the batch, if the shapes are as many as its tensors."""
    if len(shapes) != len(batch):
        return
    for shape, sizes in zip(shapes, batch, strict=True):
        if sizes is not None and len(shape.dim) == len(sizes):
            for dim, size in zip(shape.dim, sizes, strict=True):
                dim.size = size if dim.size < 0 else dim.size
