"""The geometry of convolutions and pools, read from the CONV columns of any table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from estimator.core import physics
from estimator.core.schema import numbers
from estimator.core.types import Flags, Floats

if TYPE_CHECKING:
    import pandas as pd

AXES = "dhw"  # depth, height, width
IMAGE, WINDOW, OUTPUT = "dhw", "trs", "zpq"  # letters of the columns that hold the sizes along them


@dataclass(frozen=True)
class ConvShape:
    """Convolutions, one entry per row; spatial sizes are 3 × rows (depth, height, width). NaN where unknown."""

    n: Floats  # images
    c: Floats  # input channels, of all groups
    k: Floats  # output channels
    groups: Floats
    image: Floats
    window: Floats
    output: Floats  # as stated, else from the other sizes
    stride: Floats
    pad: Floats
    dilation: Floats

    @classmethod
    def from_table(cls, rows: pd.DataFrame) -> ConvShape:
        """The convolutions of any table's rows; a missing column has its default."""
        n, c, k = _columns(rows, "conv", "nck")
        image, window, stated = (_columns(rows, "conv", letters) for letters in (IMAGE, WINDOW, OUTPUT))
        stride, pad, dilation = (_columns(rows, name, AXES) for name in ("stride", "pad", "dilation"))
        output = physics.conv_output(image, window, stride, pad, dilation, stated)
        return cls(n, c, k, numbers(rows, "groups"), image, window, output, stride, pad, dilation)

    def flop(self) -> Floats:
        """Direct FLOP of one pass."""
        (z, p, q), (t, r, s) = self.output, self.window
        return physics.conv_flop(self.n, self.c, self.k, z * p, q, t * r, s, self.groups)

    def bytes(self, itemsize: ArrayLike) -> Floats:
        """Compulsory traffic of one pass [B]; ``itemsize``: bytes per element."""
        (d, h, w), (t, r, s), (z, p, q) = self.image, self.window, self.output
        return physics.conv_bytes(self.n, self.c, d * h, w, self.k, z * p, q, t * r, s, itemsize, self.groups)


def is_depthwise(rows: pd.DataFrame) -> Flags:
    """Which rows of any table are convolutions with a group for each input channel."""
    convolution = (rows["op_class"] == "convolution").to_numpy(dtype=bool, na_value=False)
    if not convolution.any():
        return np.asarray(convolution)
    groups = numbers(rows, "groups")
    return np.asarray(convolution & (groups > 1) & (groups == numbers(rows, "conv_c")))


def _columns(rows: pd.DataFrame, prefix: str, letters: str) -> Floats:
    """The columns ``prefix_letter``: letters × rows."""
    return np.stack([numbers(rows, f"{prefix}_{letter}") for letter in letters])
