"""What ``scale`` means, for every model that takes it."""

from __future__ import annotations

MEANING = (
    "inputs' lengths and dense layers' widths are {:g} of the full size, rounded; kernels, filters, recurrent and "
    "embedded widths, depth, classes and batch are whole"
)


def scaled(scale: float, *sizes: int) -> list[int]:
    """Lengths of inputs, and widths of dense layers, times ``scale``, rounded, none below 1.

    A ``build(scale=1.0)`` passes those sizes alone, so that a layer stays of its kind whatever the scale: kernels,
    strides, filters, recurrent and embedded widths, depth, classes and batch are whole. Between two dense layers FLOP
    fall with the square of ``scale``, of convolutions and recurrent layers in proportion.
    """
    return [max(1, round(scale * size)) for size in sizes]
