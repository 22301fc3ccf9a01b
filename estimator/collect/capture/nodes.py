"""The graphs that TensorFlow really ran → GRAPH: every node under the name that a trace shows, with inferred shapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd

from estimator.collect.capture import tensorflow_import
from estimator.profiles.graph import GRAPH
from estimator.profiles.tfprof import node_text

Shape = tuple[int, ...] | None
SOURCE = "ImmutableConst"  # has a shape and no input; of a Placeholder nobody believes the shape, as it may be fed
UNTRACED = {SOURCE, "Placeholder", "VarHandleOp", "Const", "NoOp"}  # take no time, and tell nothing that others do not
LONGEST_PATH = 8  # nodes between a variable and what takes it, such as a loop's entry
WRAPPING = {"_Arg", "_Retval", "_DeviceArg", "_DeviceRetval"}  # a function's arguments and results


@contextmanager
def recorded() -> Iterator[list[Any]]:
    """The graphs of all functions that first run inside the block, after TensorFlow's own rewriting of them."""
    context = tensorflow_import.import_tensorflow("tensorflow.python.eager.context").context()
    graphs: list[Any] = []
    context.enable_run_metadata()
    try:
        yield graphs
        found = [function.post_optimization_graph for function in context.export_run_metadata().function_graphs]
        graphs.extend(graph for graph in found if not _eager(graph))
    finally:
        context.disable_run_metadata()


def table(graphs: Iterable[Any], batch: Sequence[Shape] = ()) -> pd.DataFrame:
    """GRAPH of the nodes of several graphs; where names meet, the larger graph's node stays.

    ``batch`` holds the shapes of the batch's tensors: where the input pipeline leaves sizes open, they are those.
    """
    rows: dict[str, dict[str, object]] = {}
    for graph in sorted(graphs, key=lambda graph: -len(graph.node)):
        for row in _rows(_standalone(graph, batch)):
            rows.setdefault(str(row["op"]), row)
    return GRAPH.conform(pd.DataFrame(rows.values(), columns=GRAPH.names()), "graph")


def _eager(graph: Any) -> bool:
    """Whether this wraps a single op that ran eagerly: its node bears the same name as those of all others."""
    return sum(node.op not in WRAPPING for node in graph.node) <= 1


def _rows(graph: Any) -> Iterator[dict[str, object]]:
    nodes = {node.name: node for node in graph.node}
    results = _inferred(graph)
    for node in nodes.values():
        inputs = [name for name in node.input if not name.startswith("^")]
        if node.op not in UNTRACED:
            yield {
                "op": node.name,
                "op_type": node.op,
                "inputs": ";".join(name.partition(":")[0] for name in inputs),
                "shapes": node_text.shapes_text([_operand(name, nodes, results) for name in inputs]),
                "output_shapes": node_text.shapes_text(results.get(node.name, [])),
                "attributes": node_text.attributes(node.op, node.attr),
                "precision": node_text.precision(node.attr),
            }


def _operand(name: str, nodes: Mapping[str, Any], results: Mapping[str, list[Shape]]) -> Shape:
    """The shape of a node's result; of a variable's handle, that of the variable."""
    owner, _, slot = name.partition(":")
    variable = owner
    for _ in range(LONGEST_PATH):
        node = nodes.get(variable)
        if node is None or node.op not in ("Identity", "Enter", "Switch", "Merge", "VarHandleOp"):
            break
        if node.op == "VarHandleOp":
            return node_text.shape_of(node.attr["shape"].shape)
        variable = node.input[0].partition(":")[0]
    found = results.get(owner, [])
    return found[int(slot or 0)] if int(slot or 0) < len(found) else None


def _inferred(graph: Any) -> dict[str, list[Shape]]:
    """The shapes of every node's results, as TensorFlow's own optimizer infers them, loops included; else none."""
    tf = tensorflow_import.import_tensorflow()
    meta = tf.compat.v1.MetaGraphDef(graph_def=graph)
    used = {name.lstrip("^").partition(":")[0] for node in graph.node for name in node.input}
    ends = [node.name for node in graph.node if node.name not in used] or [graph.node[-1].name]
    meta.collection_def["train_op"].node_list.value.extend(ends)
    try:
        found = tensorflow_import.import_tensorflow("tensorflow.python.grappler.item").Item(meta).GetOpProperties()
    except tf.errors.InvalidArgumentError:  # an argument of unknown rank
        return {}
    return {name: [_known(result.shape) for result in results] for name, results in found.items()}


def _known(shape: Any) -> Shape:
    """Sizes below -1 number those that are unknown but alike."""
    dims = node_text.shape_of(shape)
    return None if dims is None else tuple(max(size, -1) for size in dims)


def _standalone(graph: Any, batch: Sequence[Shape]) -> Any:
    """A copy whose function arguments are variables and sources of known shapes, on no device in particular."""
    copy = type(graph)()
    copy.CopyFrom(graph)
    tensors = [node for node in copy.node if node.op == "_Arg" and not node.attr["_handle_shapes"].list.shape]
    tensors.sort(key=lambda node: node.attr["index"].i)
    for node in copy.node:
        node.device = ""
        node.attr.pop("_class", None)
        if node.op == "IteratorGetNext":
            _close(node.attr["output_shapes"].list.shape, batch)
        elif node.op == "_Arg" and node not in tensors:
            node.op = "VarHandleOp"
            node.attr["dtype"].type = node.attr["_handle_dtypes"].list.type[0]
            node.attr["shape"].shape.CopyFrom(node.attr["_handle_shapes"].list.shape[0])
        elif node.op == "_Retval":
            node.op = "Identity"
    _close([shape for node in tensors for shape in node.attr["_output_shapes"].list.shape[:1]], batch)
    for node in tensors:
        node.op = "Placeholder"
        node.attr["dtype"].type = node.attr["T"].type
        node.attr["shape"].shape.SetInParent()  # a scalar, such as an iterator's handle
        for shape in node.attr["_output_shapes"].list.shape[:1]:
            node.op = SOURCE
            node.attr["memory_region_name"].s = b"none"
            node.attr["shape"].shape.CopyFrom(shape)
    return copy


def _close(shapes: Sequence[Any], batch: Sequence[Shape]) -> None:
    """Put the batch's sizes where shapes leave them open, if these are the shapes of a batch."""
    if len(shapes) != len(batch):
        return
    for shape, sizes in zip(shapes, batch, strict=True):
        if sizes is not None and len(shape.dim) == len(sizes):
            for dim, size in zip(shape.dim, sizes, strict=True):
                dim.size = size if dim.size < 0 else dim.size
