"""Sizes of convolutions in a trace without their strides: a convolution and its two gradients share their tensors.

The op around a gradient knows the tensor that the gradient lacks; the output's size of a forward convolution is that
of the gradient which its backward pass reads. In inference the op behind a convolution mostly reads its output first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from estimator.core.types import Integers
from estimator.profiles.kineto import convolution_ops
from estimator.profiles.kineto.arguments import Geometry, Sizes, read_sizes
from estimator.profiles.kineto.nesting import Nesting, first_behind
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
    forward, behind = _outputs(sizes), _outputs(dict(_read_behind(trace, sizes)))
    calls = list(trace.calls)
    for row, known in sizes.items():
        geometry = known if all(known) else forward.get(known[:2]) or behind.get(known[:2])
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


def _outputs(sizes: dict[int, Geometry]) -> dict[tuple[Sizes, ...], Geometry]:
    """The one output of each image and weight; those of which the trace has several outputs are left out."""
    by_pair: defaultdict[tuple[Sizes, ...], set[Geometry]] = defaultdict(set)
    for geometry in set(sizes.values()):
        if all(geometry):
            by_pair[geometry[:2]].add(geometry)
    return {pair: next(iter(geometries)) for pair, geometries in by_pair.items() if len(geometries) == 1}


def _read_behind(trace: Trace, sizes: dict[int, Geometry]) -> Iterator[tuple[int, Geometry]]:
    """Yield each convolution with the tensor that the next op reads first, where that may be its output."""
    calls, kind, lane = list(trace.calls), trace.ops["kind"], trace.ops["lane"]
    for row, known in sizes.items():
        behind = first_behind(trace, row)
        if behind < len(lane) and lane[behind] == lane[row]:
            read_first = next(iter(read_sizes(calls[kind[behind]].dims)), [])[:1]
            yield from ((row, known._replace(output=output)) for output in read_first if _may_be_output(output, known))


def _may_be_output(dims: Sizes, known: Geometry) -> bool:
    """Whether a tensor may be the output of a convolution of this image and weight."""
    image, weight, output = known
    if output or not image or len({len(dims), len(image), len(weight)}) > 1:
        return False
    fits = min(dims[2:], default=1) > 0 and convolution_ops.enlarges_by_padding_alone(known._replace(output=dims))
    return dims[:2] == (image[0], weight[0]) and fits
