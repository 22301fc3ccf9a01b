"""Sizes of convolutions in a trace without their strides: a convolution and its two gradients share their tensors.

The op around a gradient knows the tensor that the gradient lacks; the output's size of a forward convolution is that
of the gradient which its backward pass reads.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from estimator.core.types import Integers
from estimator.profiles.kineto import convolution_ops
from estimator.profiles.kineto.arguments import Geometry
from estimator.profiles.kineto.nesting import Nesting
from estimator.profiles.kineto.trace import Trace


def complete_convolutions(trace: Trace, nest: Nesting) -> None:
    """Give each convolution without strides the sizes of all its tensors, where the trace tells them."""
    open_kinds = {
        kind: convolution_ops.known_geometry(convolution_ops.named_arguments(call))
        for kind, call in enumerate(trace.calls)
        if convolution_ops.is_convolution(call) and not convolution_ops.states_strides(call)
    }
    kinds = trace.ops["kind"]
    rows = np.flatnonzero(np.isin(kinds, list(open_kinds)))
    if not len(rows):
        return
    sizes = _of_parents(rows, kinds, nest.parent, open_kinds)
    forward = _outputs(sizes)
    calls = list(trace.calls)
    for row, known in sizes.items():
        geometry = known if all(known) else forward.get(known[:2])
        if geometry:
            kinds[row] = trace.calls[calls[kinds[row]]._replace(geometry=geometry)]


def _of_parents(rows: Integers, kinds: Integers, parent: Integers, known: dict[int, Geometry]) -> dict[int, Geometry]:
    """The tensors' sizes of each op, completed from the convolution around it; a parent comes before its children."""
    sizes: dict[int, Geometry] = {}
    for row in rows.tolist():
        own, outer = known[int(kinds[row])], sizes.get(int(parent[row]))
        fits = outer and all(mine in ((), theirs) for mine, theirs in zip(own, outer, strict=True))
        sizes[row] = outer if outer and fits else own
    return sizes


def _outputs(sizes: dict[int, Geometry]) -> dict[tuple[tuple[int, ...], ...], Geometry]:
    """The one output of each image and weight; those of which the trace has several outputs are left out."""
    found: defaultdict[tuple[tuple[int, ...], ...], set[Geometry]] = defaultdict(set)
    for geometry in set(sizes.values()):
        if all(geometry):
            found[geometry[:2]].add(geometry)
    return {pair: next(iter(geometries)) for pair, geometries in found.items() if len(geometries) == 1}
