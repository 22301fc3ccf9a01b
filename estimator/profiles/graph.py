"""The nodes of a training step's graph, whose shapes fill a trace without shapes, joined to its ops by name."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from estimator.core import csv_files
from estimator.core.attributes import HELPER
from estimator.core.schema import OPS
from estimator.core.table import Column, Table
from estimator.profiles import fusion
from estimator.profiles.dump import Dump

FILE = "graph.csv"
FILES = (FILE, f"{FILE}.gz")  # the names under which it may stand beside a dump
DESCRIBED = ("shapes", "output_shapes", "attributes", "precision")  # columns that a node gives to its op
SAME_AS_OPS = {column.name: column for column in OPS.columns}
GRAPH = Table(
    "GRAPH",
    (
        Column("op", "text", "the node's name", required=True),
        Column("op_type", "text", "its type", required=True),
        Column("inputs", "text", "names of the nodes whose results it takes, separated by ';'"),
        *(SAME_AS_OPS[name] for name in DESCRIBED),
    ),
)
FUSED_PRODUCT = re.compile(r"Fused\w*?(MatMul|Conv)")
LONGEST_FUSION = 6  # nodes between a fused kernel's last op and its product


@dataclass(frozen=True)
class Node:
    """One op of a graph, as columns of OPS."""

    op_type: str
    inputs: tuple[str, ...] = ()
    shapes: str | None = None
    output_shapes: str | None = None
    attributes: str | None = None
    precision: str | None = None


def read_side_file(sides: Mapping[str, Path]) -> dict[str, Node]:
    """The nodes of a dump's ``graph.csv``, by name; none without one. Raises EstimatorError by row."""
    path = next((sides[name] for name in FILES if name in sides), None)
    return read(path) if path else {}


def read(path: Path) -> dict[str, Node]:
    """The nodes of a ``graph.csv``, plain or gzip, by name."""
    text = Dump(path).text() if path.suffix == ".gz" else None
    table = GRAPH.conform(csv_files.read_csv(path, text), str(path))
    table = table.astype(object).where(table.notna(), None)
    return {
        row.op: Node(row.op_type, tuple((row.inputs or "").split(";")), *(getattr(row, name) for name in DESCRIBED))
        for row in table.itertuples()
    }


def fill(ops: pd.DataFrame, nodes: Mapping[str, Node]) -> pd.DataFrame:
    """OPS with type, shapes, inputs, attributes and precision from their nodes where the dump has none.

    A kernel that fuses a product with the ops after it has the name of the last op; it takes the product's operands.
    Helper kernels (``helper=1``) have no operands.
    """
    kernel = ops["kernel"].fillna(ops["op_type"]).fillna("")
    helps = (ops["attributes"] == HELPER).fillna(False)
    own_names = set(ops["op"])
    sources = [
        None if is_helper else find_node(str(op), str(name), nodes, own_names)
        for op, name, is_helper in zip(ops["op"], kernel, helps, strict=True)
    ]
    described = {name: [getattr(node, name, None) for node in sources] for name in ("op_type", *DESCRIBED)}
    described["inputs"] = [_inputs(node, nodes, own_names) for node in sources]
    table = pd.DataFrame(described, index=ops.index, dtype="string[python]")
    return ops.assign(**{name: ops[name].fillna(table[name]) for name in table})


def _inputs(node: Node | None, nodes: Mapping[str, Node], own_names: Container[str]) -> str | None:
    """The ops and variables whose results a node takes, ``a;b``, empty where one is a constant; None without a node.

    A node that ran under no name of its own renames its first input, as a reshape does.
    """
    return ";".join(_producer(name, nodes, own_names) for name in node.inputs) if node else None


def _producer(name: str, nodes: Mapping[str, Node], own_names: Container[str]) -> str:
    """The op that ran, or the variable, behind a node's input; empty for a constant."""
    seen: set[str] = set()
    while name not in own_names and name in nodes and name not in seen:  # a loop's merges lead back to themselves
        seen.add(name)
        name = nodes[name].inputs[0]
    return name


def find_node(op: str, kernel: str, nodes: Mapping[str, Node], own_names: Container[str]) -> Node | None:
    """The node whose operands the kernel of an op takes; None where it is unknown or ambiguous.

    ``own_names`` are the ops that ran under their own names, so that no other kernel contains them.
    """
    node = nodes.get(op)
    if node is None or not FUSED_PRODUCT.search(kernel) or not fusion.EPILOGUE.fullmatch(node.op_type):
        return node  # the nodes of a graph that TensorFlow optimised are the fused kernels themselves
    products = _products_above(op, nodes, own_names)
    return nodes[products.pop()] if len(products) == 1 else None


def _products_above(op: str, nodes: Mapping[str, Node], own_names: Container[str]) -> set[str]:
    """The products that may be fused into an op: only ops that a kernel can fuse lie between."""
    products: set[str] = set()
    front = {op}
    for _ in range(LONGEST_FUSION):
        above = {name for last in front for name in nodes[last].inputs if name in nodes and name not in own_names}
        products |= {name for name in above if fusion.PRODUCT.fullmatch(nodes[name].op_type)}
        front = {name for name in above - products if fusion.EPILOGUE.fullmatch(nodes[name].op_type)}
    return products
