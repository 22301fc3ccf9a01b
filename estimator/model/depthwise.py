"""Time of depthwise convolutions on a GPU: one filter for each channel, which no matrix product holds.

A thread computes one pixel of one channel, and reads the whole window for it: forward and in the gradient of the input
for each pixel of the output, in the gradient of the weights for each pixel of the image (PyTorch,
aten/src/ATen/native/cuda/DepthwiseConv2d.cu; cuDNN's kernels for channels last differ). So units limit the time,
whatever the format: t = max(Q / (s · B), N · a · √w / (units · clock)), with N pixels of all channels and w points of
the window. The cycles a of each pass are those of coefficients/kernel_priors.yaml.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.conv_shape import ConvShape
from estimator.core.schema import numbers
from estimator.core.types import Flags, Floats
from estimator.model.hardware import Hardware
from estimator.model.kernel_priors import DepthwiseCycles


def is_depthwise(rows: pd.DataFrame) -> Flags:
    """Which rows of WORK, or of TRUTH, are convolutions with one filter, or several, for each channel."""
    if not (convolutions := (rows["op_class"] == "convolution").to_numpy(dtype=bool, na_value=False)).any():
        return np.asarray(convolutions)
    groups = numbers(rows, "groups")
    return np.asarray(convolutions & (groups > 1) & (groups == numbers(rows, "conv_c")))


def unit_times(rows: pd.DataFrame, hardware: Hardware, cycles: DepthwiseCycles) -> Floats:
    """Time of each call [s] as units limit it; NaN where units or their clock are unknown."""
    shape = ConvShape.from_table(rows)
    output = shape.n * shape.k * shape.output.prod(axis=0)
    image = shape.n * shape.c * shape.image.prod(axis=0)
    of_pass = {
        "forward": output * cycles.forward,
        "grad_input": output * cycles.grad_input,
        "grad_weights": image * cycles.grad_weights,
    }
    of_pass["backward"] = of_pass["grad_input"] + of_pass["grad_weights"]
    step_pass = rows["pass"].fillna("forward").to_numpy(dtype=str)
    pixel_cycles = np.select([step_pass == name for name in of_pass], list(of_pass.values()))
    return np.asarray(pixel_cycles * np.sqrt(shape.window.prod(axis=0)) / (hardware.units * hardware.clock))
