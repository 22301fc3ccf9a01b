"""The meaning of ``scale`` for all models that have one."""

from __future__ import annotations

MEANING = (
    "inputs' lengths and dense layers' widths are {:g} of the full size, rounded; kernels, filters, recurrent and "
    "embedded widths, depth, classes and batch are whole"
)


def scaled(scale: float, *sizes: int) -> list[int]:
    """Multiply lengths of inputs and widths of dense layers by ``scale``, rounded, at least 1.

    A ``build(scale=1.0)`` scales only these sizes, so that layers keep their kind: kernels, strides, filters, recurrent
    and embedded widths, depth, classes and batch stay. Between two dense layers FLOP
    fall with the square of ``scale``, of convolutions and recurrent layers in proportion.
    """
    return [max(1, round(scale * size)) for size in sizes]
