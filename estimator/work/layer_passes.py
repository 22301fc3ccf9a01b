"""Convolutions of TensorFlow without their sizes → sizes from the other passes of the same layer.

A forward convolution and its two gradients share image, weights and output. Each op lists only what it reads, and
profilers of TensorFlow list neither results nor strides; together the passes tell all three tensors, and so the stride.
The passes of a layer have the layer's name. In a view by type ops have no names. There a forward pass and a gradient of
weights are of one layer where they read the same image and the three tensors fit. A pass of several layers stays as it
is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from estimator.core.notes import Note
from estimator.work.convolution import RESULT, TENSORS
from estimator.work.operators import forward_name, rule_of, runs_in_executor
from estimator.work.operators.rule import Rule
from estimator.work.shapes import Shape, read_attributes
from estimator.work.windows import SPATIAL

UNKNOWN = "unknown"
KNOWN = re.compile(r"-?\d+(x-?\d+){2,}")  # the shape of an image or of weights
HELPER = "helper"
PADDING = ("padding", "pads")  # either attribute tells the size of a result


@dataclass(frozen=True)
class _Pass:
    """One convolution's op: its layer, its operands by role, and its result's role; a shape is empty where unknown."""

    layer: str  # empty in a view by type
    rule: Rule
    operands: Mapping[str, str]
    output: str
    attributes: Mapping[str, str]

    @property
    def result(self) -> str:
        return RESULT[self.rule.properties.direction]

    @property
    def listed(self) -> dict[str, str]:
        """The operands of known shape."""
        return {role: shape for role, shape in self.operands.items() if shape}


def complete_layers(work: pd.DataFrame) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """WORK whose convolutions have the shapes and the strides that the passes of their layer state together."""
    passes = dict(_passes(work))
    tensors = _tensors_by_layer(each for each in passes.values() if each.layer)
    layers = _layers_of_view([each for each in passes.values() if not each.layer])
    columns = {
        row: _missing_columns(each, tensors[each.layer] if each.layer else _layer_of(each, layers))
        for row, each in passes.items()
    }
    columns = {row: texts for row, texts in columns.items() if texts}
    if not columns:
        return work, ()
    first = str(work.at[next(iter(columns)), "op"])
    text = f"{len(columns)} convolutions (such as {first}) do not state all their sizes"
    note = Note("convolution-of-layer", f"{text}: the other passes of their layers give them", subject=first)
    return with_texts(work, columns), (note,)


def with_texts(work: pd.DataFrame, columns: Mapping[int, Mapping[str, str]]) -> pd.DataFrame:
    """WORK with these texts in place of its own, by row and column."""
    table = pd.DataFrame.from_dict(columns, orient="index").astype("string[python]")
    return work.assign(**{name: table[name].reindex(work.index).fillna(work[name]) for name in table})


def _passes(work: pd.DataFrame) -> Iterator[tuple[int, _Pass]]:
    """Yield the convolutions of TensorFlow's executor that state no dimensions, each with its row."""
    rows = (work["op_class"] == "convolution") & work["conv_n"].isna()
    if not rows.any():
        return
    rows &= runs_in_executor(work)
    table = work.loc[rows, ["op", "op_type", "shapes", "output_shapes", "attributes"]].fillna("")
    merged = _named_by_gradients(table["op"].tolist())
    for row, op, op_type, shapes, outputs, text in table.itertuples(name=None):
        rule, attributes = rule_of(op_type), read_attributes(text)
        if rule and rule.properties.direction in RESULT and HELPER not in attributes:
            shapes_by_role = {role: _known(shapes, place) for place, role in enumerate(rule.operands)}
            layer = "" if op.startswith(f"{op_type} ") else forward_name(op)  # "Conv2D 8x32x32x3;3x3x3x16"
            yield row, _Pass(merged.get(layer, layer), rule, shapes_by_role, _known(outputs, 0), attributes)


def _known(shapes: str, place: int) -> str:
    """One of several shapes, such as ``8x32x32x3;3x3x3x16``; empty where it is unknown."""
    listed = shapes.split(";")
    return listed[place] if place < len(listed) and KNOWN.fullmatch(listed[place]) else ""


def _named_by_gradients(ops: Sequence[str]) -> dict[str, str]:
    """Names of fused forward ops → the names that their gradients give them, where a scope holds one layer."""
    forward, backward = ({forward_name(op) for op in ops if (forward_name(op) == op) is same} for same in (True, False))
    return renamed(forward, backward)


def renamed(names: set[str], others: set[str]) -> dict[str, str]:
    """A name that is not among the others → the other one that is not among the names, where a scope holds one of each.

    A kernel that fuses an op with those after it has the name of the last one; their gradients name the first.
    """
    one, other = (_single_in_scope(own - theirs) for own, theirs in ((names, others), (others, names)))
    return {one[scope]: other[scope] for scope in one.keys() & other.keys()}


def _single_in_scope(names: set[str]) -> dict[str, str]:
    """The one name in each scope that holds but one of these."""
    scopes = {name: name.rpartition("/")[0] for name in names}
    count = Counter(scopes.values())
    return {scope: name for name, scope in scopes.items() if count[scope] == 1}


def _tensors_by_layer(passes: Iterable[_Pass]) -> dict[str, dict[str, str]]:
    """The shapes of image, weights and output by layer; without those in which its ops differ."""
    stated: dict[str, dict[str, set[str]]] = {}
    for each in passes:
        roles = stated.setdefault(each.layer, {})
        for role, shape in ((each.result, each.output), *each.operands.items()):
            roles.setdefault(role, set()).update([shape] if shape else [])
    return {
        layer: {role: next(iter(shapes)) for role, shapes in roles.items() if len(shapes) == 1}
        for layer, roles in stated.items()
    }


def _layers_of_view(passes: Sequence[_Pass]) -> list[_Pass]:
    """Forward passes with the three tensors of their layers, as gradients of weights that read the same image tell."""
    forward, gradients = ([each for each in passes if each.result == role] for role in ("output", "weights"))
    pairs = [(each, gradient) for each in forward for gradient in gradients if _same_image(each, gradient)]
    layers = [replace(each, operands=each.listed | gradient.listed) for each, gradient in pairs]
    return [layer for layer in layers if _fits(layer)]


def _same_image(one: _Pass, other: _Pass) -> bool:
    images = {each.listed.get("image") for each in (one, other)}
    return one.rule.depthwise == other.rule.depthwise and len(images) == 1 and None not in images


def _fits(layer: _Pass) -> bool:
    """Whether a layer can have its three tensors, with the same batch of images before and behind it."""
    image, weights, output = (_shape(layer.listed.get(role, "")) for role in TENSORS)
    if not image or len(image) != len(weights) or len(image) != len(output) or image[0] != output[0]:
        return False
    layout = _layout(image, weights, output, layer.rule.depthwise)
    return layout is not None and bool(_strides(layout, image, weights, output))


def _layer_of(each: _Pass, layers: Sequence[_Pass]) -> Mapping[str, str]:
    """The tensors of the one layer that has both operands of a pass; nothing where several have, or none."""
    fitting = [
        layer.listed
        for layer in layers
        if layer.rule.depthwise == each.rule.depthwise and each.listed.items() <= layer.listed.items()
    ]
    is_one = len(each.listed) > 1 and fitting and all(tensors == fitting[0] for tensors in fitting)
    return fitting[0] if is_one else {}


def _missing_columns(each: _Pass, tensors: Mapping[str, str]) -> dict[str, str]:
    """What a row lacks and its layer tells, of ``shapes``, ``output_shapes`` and ``attributes``."""
    image, weights, output = (_shape(tensors.get(role, "")) for role in TENSORS)
    complete = all(each.operands[role] for role in each.rule.operands if role in tensors)
    states_result = bool(each.output) or any(name in each.attributes for name in PADDING)
    if (complete and states_result) or not image or len(image) != len(weights) or len(image) != len(output):
        return {}
    layout = each.attributes.get("layout") or _layout(image, weights, output, each.rule.depthwise)
    if layout is None:
        return {}
    columns = {"output_shapes": tensors[each.result]}
    if not complete:
        columns["shapes"] = ";".join(tensors.get(role, UNKNOWN) for role in each.rule.operands)
    attributes = {"layout": layout, **_strides(layout, image, weights, output), **each.attributes}
    return {**columns, "attributes": ";".join(f"{name}={value}" for name, value in attributes.items())}


def _shape(text: str) -> Shape:
    return tuple(int(size) for size in text.split("x")) if text else ()


def _layout(image: Shape, weights: Shape, output: Shape, depthwise: bool) -> str | None:
    """``NHWC`` or ``NCHW``, whichever the channels of image, weights and output fit; None where they fit neither."""
    spatial = SPATIAL[-(len(image) - 2) :]
    inputs, outputs = weights[-2], weights[-1] * (weights[-2] if depthwise else 1)
    fits = {
        layout: output[layout.index("C")] == outputs and image[layout.index("C")] % max(inputs, 1) == 0
        for layout in (f"N{spatial}C", f"NC{spatial}")
    }
    return next((layout for layout, fit in fits.items() if fit), None)


def _strides(layout: str, image: Shape, weights: Shape, output: Shape) -> dict[str, str]:
    """The attribute of the strides, where they explain the sizes; the window is in the first axes of the weights."""
    axes = [place for place, letter in enumerate(layout) if letter in SPATIAL]
    strides = [_stride(image[axis], window, output[axis]) for axis, window in zip(axes, weights, strict=False)]
    return {"strides": "x".join(map(str, strides))} if None not in strides else {}


def _stride(image: int, window: int, output: int) -> int | None:
    """The least stride that gives the output's size with padding SAME or VALID."""
    possible = range(1, image // max(output, 1) + 2)
    return next((s for s in possible if output in (-(-image // s), (image - window) // s + 1)), None)
