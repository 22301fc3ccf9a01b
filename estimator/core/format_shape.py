"""The shape of an op in words, as tables show it to people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from estimator.core import units

KINDS = ("op", "kernel", "cell", "pass")
SIZES = (
    "batch", "m", "n", "k", "conv_n", "conv_c", "conv_d", "conv_h", "conv_w", "conv_k", "conv_t", "conv_r", "conv_s",
    "stride_d", "stride_h", "stride_w", "pad_d", "pad_h", "pad_w", "dilation_d", "dilation_h", "dilation_w", "groups",
    "hidden", "input_width", "sequences", "timesteps", "ranks", "row_length",
)  # fmt: skip
TRANSPOSES = ("trans_a", "trans_b")


def format_shape(row: Mapping[str, Any]) -> str:
    """``m 1760, n 16, k 1760, trans_a t`` or ``copy, 192.0 MB, cold``; missing and default values are left out."""
    return ", ".join(_parts({name: value for name, value in row.items() if value is not None}))


def _parts(values: Mapping[str, Any]) -> Iterator[str]:
    yield from (values[name] for name in KINDS if name in values)
    for name in SIZES:
        if name in values and (name, values[name]) != ("batch", 1):
            yield f"{name.removeprefix('conv_')} {values[name]:.0f}"
    yield from (f"{name} t" for name in TRANSPOSES if values.get(name) == "t")
    if "bytes" in values:
        yield units.show(values["bytes"], "B", 4)
    if "cache" in values:
        yield values["cache"]
