"""Passes of convolutions for the algorithms: channels per group, padded to whole vector loads on tensor units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.conv_shape import ConvShape
from estimator.core.types import Flags, Floats, itemsizes
from estimator.model.hardware import VECTOR_LOAD

PASSES = ("forward", "grad_input", "grad_weights")


@dataclass(frozen=True)
class ConvPasses:
    """One pass of a convolution per call; the depth of 3D convolutions is a factor of image, p and window."""

    direction: npt.NDArray[np.str_]  # one of PASSES
    n: Floats
    c: Floats  # channels, of one group
    k: Floats
    groups: Floats
    image: Floats  # h·w
    p: Floats
    q: Floats
    window: Floats  # r·s
    side: Floats  # of a square 2D window of stride 1, which suits transforms; else 0
    stride: Floats  # product over the axes
    itemsize: Floats  # [B]

    def of_direction(self, forward: Floats | float, grad_input: Floats | float, grad_weights: Floats | float) -> Floats:
        """Select one of three values by the direction of each pass."""
        backward = np.where(self.direction == "grad_input", grad_input, grad_weights)
        return np.where(self.direction == "forward", forward, backward)


def conv_passes(rows: pd.DataFrame, tensor: Flags) -> ConvPasses:
    """The passes of rows of WORK or TRUTH.

    The default is forward; ``backward``, which is both gradients, becomes that of the input. On tensor units channels
    are padded to whole vector loads.
    """
    shape, itemsize = ConvShape.from_table(rows), itemsizes(rows["precision"])
    load_channels = np.where(tensor, VECTOR_LOAD / itemsize, 1.0)
    c, k = (np.ceil(channels / shape.groups / load_channels) * load_channels for channels in (shape.c, shape.k))
    (d, h, w), (t, r, s), (z, p, q) = shape.image, shape.window, shape.output
    stride = shape.stride.prod(axis=0)
    is_plain = (stride == 1) & (shape.dilation[1:].prod(axis=0) == 1) & (d * t == 1)
    direction = rows["pass"].astype(object).fillna("forward").replace("backward", "grad_input")
    return ConvPasses(
        direction=direction.to_numpy(dtype=str), n=shape.n, c=c, k=k, groups=shape.groups, image=h * w * d,
        p=p * z, q=q, window=r * s * t, side=np.where(is_plain & (r == s), r, 0.0), stride=stride, itemsize=itemsize,
    )  # fmt: skip
