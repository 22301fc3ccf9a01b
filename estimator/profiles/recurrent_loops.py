"""Recurrent layers that TensorFlow ran as a loop over the steps of a sequence: which ops are parts of which layer.

TensorFlow replaces a loop by nodes ``loop/enter/_1``, ``loop/body/_2/…``, ``loop/exit/_3`` and so on
(core/common_runtime/lower_while_op.cc). A tape's gradient of it is a loop too, and has its name in its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from estimator.core.attributes import DISPATCH, TRAINED, with_attribute
from estimator.core.types import Integers, Profile
from estimator.profiles import graph
from estimator.profiles.graph import Node
from estimator.profiles.recurrent_cells import Nodes, read_layer, timesteps

BODY = re.compile(r"(?:Func/)?(?P<loop>.+)/body/_\d+/.*")
EXIT = re.compile(r"(?P<loop>.+)/exit/_\d+")
GRADIENT = re.compile(
    r"(?P<scope>(?P<call>.*?)(?:gradient_tape/(?P<taped>.+)|gradients(?:_\d+)?/(?P<loop>.+)_grad)/)"
    r"(?:(?P=taped)|(?P=loop))_grad"
)
STEPPED = re.compile(r"(?:.*/)?(?:(?:for|back)ward_)?rnn(?:_\d+)*/[^/]+")  # Keras' ``RNN`` of a cell has no library
PLACE = ["placement", "stream", "rank", "phase", "block"]  # columns of OPS that a layer shares with its parts


@dataclass(frozen=True)
class Layer:
    """A recurrent layer: its loop, what the names of its gradients begin with, and itself as one node."""

    loop: str
    gradients: str | None
    node: Node

    def ran(self, ops: pd.Series) -> pd.Series:
        """Whether each op, by its name, is of the loop."""
        return ops.str.startswith(f"{self.loop}/")

    def parts(self, ops: pd.Series) -> pd.Series:
        """Whether each op, by its name, is of the loop or of its gradients."""
        return self.ran(ops) | ops.str.startswith(self.gradients or f"{self.loop}/")


def fill(profile: Profile, nodes: Nodes) -> Profile:
    """The profile with columns filled from its graph, and with its recurrent layers.

    Each layer has a row of its own, without time, ahead of its parts. Attributes: ``layer=N``, ``part_of_layer=N``.
    """
    if not nodes:
        return profile
    layers = [layer for layer in find_layers(nodes) if layer.ran(profile.ops["op"]).any()]
    if not layers:
        return replace(profile, ops=graph.fill(profile.ops, nodes))
    profile = _with_rows(profile, layers)
    ops = graph.fill(profile.ops, dict(_with_layers(nodes, layers, profile.workload.batch_size)))
    return replace(profile, ops=_with_marks(ops, layers))


def find_layers(nodes: Nodes) -> list[Layer]:
    """The recurrent layers of a graph that a library may run."""
    bodies: defaultdict[str, list[str]] = defaultdict(list)
    for match in filter(None, map(BODY.fullmatch, nodes)):
        bodies[match["loop"]].append(match[0])
    gradients = dict(_gradients(bodies))
    read = ((loop, read_layer(body, nodes)) for loop, body in bodies.items() if not STEPPED.fullmatch(loop))
    return [Layer(loop, gradients.get(loop), node) for loop, node in read if node]


def _gradients(loops: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield loops that have gradients, with what the names of these begin with."""
    for match in filter(None, map(GRADIENT.fullmatch, loops)):
        yield match["call"] + (match["taped"] or match["loop"]), match["scope"]


def _with_rows(profile: Profile, layers: Sequence[Layer]) -> Profile:
    """The profile with a row for each layer ahead of its parts."""
    ops = profile.ops
    first = [int(np.argmax(layer.ran(ops["op"]).to_numpy(dtype=bool))) for layer in layers]
    rows = ops.loc[ops.index[first], PLACE].assign(
        op=[layer.loop for layer in layers],
        calls=[_calls(layer, ops) for layer in layers],
        **dict.fromkeys(("time_s", "shared_s"), 0.0),
    )
    order = np.argsort(np.concatenate([np.arange(len(ops)), np.array(first) - 0.5]), kind="stable")
    ops = pd.concat([ops, rows]).iloc[order].reset_index(drop=True).astype(ops.dtypes.to_dict())
    return replace(_renumbered(profile, np.argsort(order)), ops=ops)


def _renumbered(profile: Profile, row: Integers) -> Profile:
    """The profile whose timeline names the new rows of OPS."""
    if profile.timeline is None:
        return profile
    events = profile.timeline.events
    renumbered = events["op"].map(dict(enumerate(row))).astype(events["op"].dtype)
    return replace(profile, timeline=replace(profile.timeline, events=events.assign(op=renumbered)))


def _calls(layer: Layer, ops: pd.DataFrame) -> float:
    """How often a layer ran: the calls of its ops over its steps. Traces leave out some calls of small ops."""
    in_body = layer.ran(ops["op"]) & ops["op"].str.fullmatch(BODY.pattern)
    steps = timesteps(layer.node)
    return max(round(float(ops["calls"][in_body].max()) / steps), 1.0) if steps and in_body.any() else 1.0


def _with_layers(nodes: Nodes, layers: Sequence[Layer], batch: int | None) -> Iterator[tuple[str, Node]]:
    """Yield the nodes by name, with one for each layer, whose results are what leaves its loop."""
    loops = {layer.loop for layer in layers}
    for name, node in nodes.items():
        match = EXIT.fullmatch(name)
        yield name, replace(node, inputs=(match["loop"],)) if match and match["loop"] in loops else node
    for number, layer in enumerate(layers):
        trained = f";{TRAINED}" if layer.gradients else ""
        shapes = layer.node.shapes.replace("-1", str(batch)) if layer.node.shapes and batch else layer.node.shapes
        yield layer.loop, replace(layer.node, shapes=shapes, attributes=f"{DISPATCH};layer={number}{trained}")


def _with_marks(ops: pd.DataFrame, layers: Sequence[Layer]) -> pd.DataFrame:
    """OPS whose parts of layers name these in their attributes."""
    attributes = ops["attributes"]
    for number, layer in enumerate(layers):
        mark = pd.Series(f"part_of_layer={number}", ops.index, attributes.dtype)
        attributes = with_attribute(attributes, mark.where(layer.parts(ops["op"])))
    return ops.assign(attributes=attributes)
