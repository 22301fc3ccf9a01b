"""The nodes of a training step's graph: what a trace without shapes lacks, joined to its ops by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from estimator.core import files
from estimator.core.schema import OPS, Column, Table
from estimator.core.types import Profile

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
PRODUCT = re.compile(r"MatMul|Conv\dD|Einsum")
FUSED_PRODUCT = re.compile(r"Fused\w*?(MatMul|Conv)")
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
    table = GRAPH.conform(files.read_csv(path), str(path))
    table = table.astype(object).where(table.notna(), None)
    return {
        row.op: Node(row.op_type, tuple((row.inputs or "").split(";")), *(getattr(row, name) for name in DESCRIBED))
        for row in table.itertuples()
    }


def fill(ops: pd.DataFrame, nodes: Mapping[str, Node]) -> pd.DataFrame:
    """OPS with shapes, attributes and precision from their nodes where the dump has none.

    A kernel that fuses a product with what follows bears the name of the last op: it takes the product's operands.
    """
    kernel = ops["kernel"].fillna(ops["op_type"]).fillna("")
    pairs = zip(ops["op"], kernel, strict=True)
    found = [describing(str(op), str(name), nodes) for op, name in pairs]
    described = {name: [getattr(node, name, None) for node in found] for name in DESCRIBED}
    table = pd.DataFrame(described, index=ops.index, dtype="string[python]")
    return ops.assign(**{name: ops[name].fillna(table[name]) for name in DESCRIBED})


def describing(op: str, kernel: str, nodes: Mapping[str, Node]) -> Node | None:
    """The node whose operands the kernel of an op takes; None where the graph does not know it."""
    if not FUSED_PRODUCT.search(kernel):
        return nodes.get(op)
    return next((node for node in _upwards(op, nodes) if PRODUCT.search(node.op_type)), nodes.get(op))


def _upwards(op: str, nodes: Mapping[str, Node]) -> Iterator[Node]:
    """The node itself, and what it took as its first operand, and so on."""
    for _ in range(LONGEST_FUSION):
        node = nodes.get(op)
        if node is None:
            return
        yield node
        op = next(iter(node.inputs), "")
