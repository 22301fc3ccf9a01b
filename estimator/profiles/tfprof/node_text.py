"""TensorFlow's node messages → columns of OPS: shapes, precision and attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

PRECISION = {  # of DataType numbers; the fp8 variants are one precision
    1: "fp32", 2: "fp64", 6: "int8", 14: "bf16", 19: "fp16", 24: "fp8", 25: "fp8", 26: "fp8", 27: "fp8", 28: "fp8",
    29: "int4", 33: "fp4",
}  # fmt: skip
BYTES = {8: 8, 10: 1, 18: 16}  # of an element of the DataTypes complex64, bool and complex128, which are no precision
MOVED = (("read_bytes", ("SrcT", "Tcomplex", "T")), ("written_bytes", ("DstT", "Tcomplex", "Tout", "T")))
TRANSPOSED = (("trans_a", ("transpose_a", "adj_x")), ("trans_b", ("transpose_b", "adj_y")))
PASS = {"BackpropInput": "grad_input", "BackpropFilter": "grad_weights"}


def shape_text(dims: Sequence[int] | None) -> str:
    """A shape as OPS writes it: '100x50', 'unknown', and '1' for a scalar."""
    return "unknown" if dims is None else "x".join(map(str, dims)) or "1"


def shape_of(message: Any) -> tuple[int, ...] | None:
    """The dimensions of a TensorShape message; None where its rank is unknown."""
    return None if message.unknown_rank else tuple(dim.size for dim in message.dim)


def shapes_text(shapes: Sequence[tuple[int, ...] | None]) -> str | None:
    """Several shapes as OPS writes them; None where none is known."""
    return ";".join(map(shape_text, shapes)) if any(shape is not None for shape in shapes) else None


def precision(attrs: Mapping[str, Any]) -> str | None:
    """The precision that a node's attributes state."""
    return next((PRECISION.get(attrs[name].type) for name in ("T", "Ta", "dtype") if name in attrs), None)


def attributes(op_type: str, attrs: Mapping[str, Any]) -> str | None:
    """The attributes of a product, convolution, pool, cast, or op of masks or complex numbers, as OPS writes them."""
    pairs = [*_product(attrs), *_cast(attrs), *_bytes(attrs)]
    if "Conv" in op_type:
        pairs += _convolution(op_type, attrs)
    elif "Pool" in op_type:
        pairs += _pool(attrs)
    return ";".join(f"{key}={value}" for key, value in pairs) or None


def _product(attrs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, names in TRANSPOSED:
        name = next((name for name in names if name in attrs), None)
        if name:
            yield key, "t" if attrs[name].b else "n"
    if "equation" in attrs:
        yield "equation", _text(attrs["equation"]).replace(" ", "")


def _cast(attrs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the formats of a cast; ``other`` for integers, booleans and all else that is no precision."""
    for key, name in (("from", "SrcT"), ("to", "DstT")):
        if name in attrs:
            yield key, PRECISION.get(attrs[name].type, "other")


def _bytes(attrs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the bytes of an element that is read, and of one that is written, where these have no precision."""
    for key, names in MOVED:
        kind = next((attrs[name].type for name in names if name in attrs), None)
        if kind in BYTES:
            yield key, str(BYTES[kind])


def _convolution(op_type: str, attrs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    layout = _text(attrs["data_format"]) if "data_format" in attrs else ""
    if "strides" in attrs:
        layout = layout or {5: "NDHWC"}.get(len(attrs["strides"].list.i), "NHWC")
        yield "strides", _spatial(attrs["strides"].list.i, layout)
    yield from _padding(attrs, layout)
    if "dilations" in attrs:
        yield "dilations", _spatial(attrs["dilations"].list.i, layout)
    if layout:
        yield "layout", layout
        yield "kernel_layout", "DHWIO" if len(layout) == 5 else "HWIO"
    yield "pass", next((pass_ for name, pass_ in PASS.items() if name in op_type), "forward")


def _pool(attrs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    layout = _text(attrs["data_format"]) if "data_format" in attrs else "NHWC"
    for key, name in (("window", "ksize"), ("strides", "strides")):
        if name in attrs:
            yield key, _spatial(attrs[name].list.i, layout)
    yield from _padding(attrs, layout)
    if "data_format" in attrs:
        yield "layout", layout


def _padding(attrs: Mapping[str, Any], layout: str) -> Iterator[tuple[str, str]]:
    padding = _text(attrs["padding"]) if "padding" in attrs else ""
    if padding == "EXPLICIT" and "explicit_paddings" in attrs:
        ends = list(attrs["explicit_paddings"].list.i)
        pairs = [f"{low}_{high}" for low, high in zip(ends[::2], ends[1::2], strict=False)]
        yield "pads", _spatial(pairs, layout)
    elif padding:
        yield "padding", padding


def _spatial(values: Sequence[object], layout: str) -> str:
    """The values of the spatial axes of a layout such as NHWC, joined by x."""
    return "x".join(str(value) for value, axis in zip(values, layout, strict=False) if axis in "DHW")


def _text(attr: Any) -> str:
    return str(attr.s.decode("utf-8", "replace")).replace(";", "")
