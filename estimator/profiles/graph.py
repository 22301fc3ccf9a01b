"""The nodes of a training step's graph: what a trace without shapes lacks, joined to its ops by name."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from estimator.core import csv_files
from estimator.core.schema import OPS, Column, Table
from estimator.core.types import Profile
from estimator.profiles import fusion

FILE = "graph.csv"
DESCRIBED = ("shapes", "output_shapes", "attributes", "precision")  # what a node tells of its op
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
HELPER = "helper=1"  # attributes of a kernel that an accelerator launched for an op beside the one that does its work
LONGEST_FUSION = 6  # nodes between a fused kernel's last op and its product


@dataclass(frozen=True)
class Node:
    """One op of a graph, described in the words of OPS."""

    op_type: str
    inputs: tuple[str, ...] = ()
    shapes: str | None = None
    output_shapes: str | None = None
    attributes: str | None = None
    precision: str | None = None


def fill_shapes(profile: Profile, sides: Mapping[str, Path]) -> Profile:
    """The profile with what ``graph.csv`` beside the dump tells of its ops. Raises EstimatorError by row."""
    return replace(profile, ops=fill(profile.ops, read(sides[FILE]))) if FILE in sides else profile


def read(path: Path) -> dict[str, Node]:
    """The nodes of a ``graph.csv`` by name."""
    table = GRAPH.conform(csv_files.read_csv(path), str(path))
    table = table.astype(object).where(table.notna(), None)
    return {
        row.op: Node(row.op_type, tuple((row.inputs or "").split(";")), *(getattr(row, name) for name in DESCRIBED))
        for row in table.itertuples()
    }


def fill(ops: pd.DataFrame, nodes: Mapping[str, Node]) -> pd.DataFrame:
    """OPS with type, shapes, attributes and precision from their nodes where the dump has none.

    A kernel that fuses a product with what follows bears the name of the last op: it takes the product's operands.
    Kernels that only help another one (``helper=1``) have none.
    """
    kernel = ops["kernel"].fillna(ops["op_type"]).fillna("")
    helps = (ops["attributes"] == HELPER).fillna(False)
    own = set(ops["op"])
    found = [
        None if help_ else describing(str(op), str(name), nodes, own)
        for op, name, help_ in zip(ops["op"], kernel, helps, strict=True)
    ]
    described = {name: [getattr(node, name, None) for node in found] for name in ("op_type", *DESCRIBED)}
    table = pd.DataFrame(described, index=ops.index, dtype="string[python]")
    return ops.assign(**{name: ops[name].fillna(table[name]) for name in table})


def describing(op: str, kernel: str, nodes: Mapping[str, Node], own: Container[str]) -> Node | None:
    """The node whose operands the kernel of an op takes; None where the graph does not know it for sure.

    ``own`` are the ops that ran under their own names, which no other kernel did for them.
    """
    node = nodes.get(op)
    if node is None or not FUSED_PRODUCT.search(kernel) or not fusion.EPILOGUE.fullmatch(node.op_type):
        return node  # also where the graph is the one that ran, whose nodes are the fused kernels
    products = _fused_above(op, nodes, own)
    return nodes[products.pop()] if len(products) == 1 else None


def _fused_above(op: str, nodes: Mapping[str, Node], own: Container[str]) -> set[str]:
    """The products that may be fused into an op: between lies only what a kernel computes on their result."""
    found: set[str] = set()
    front = {op}
    for _ in range(LONGEST_FUSION):
        above = {name for last in front for name in nodes[last].inputs if name in nodes and name not in own}
        found |= {name for name in above if fusion.PRODUCT.fullmatch(nodes[name].op_type)}
        front = {name for name in above - found if fusion.EPILOGUE.fullmatch(nodes[name].op_type)}
    return found
