"""Time of depthwise convolutions on a GPU: one filter for each channel, which no matrix product holds.

A thread reads the window of a pixel to compute it (PyTorch, aten/src/ATen/native/cuda/DepthwiseConv2d.cu). So units
limit the time: t = N · a · √w / (U · f), with N pixels of all output channels, w points of the window, and U units of
clock f. Which pixels count in the gradients, of the output or of the image, and √w are by eye from measured kernels
(tests/data/pytorch_steps/depthwise_ops.csv), as are the cycles a of each pass (coefficients/kernel_priors.yaml).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.conv_shape import ConvShape
from estimator.core.passes import pass_names
from estimator.core.types import Floats
from estimator.model.hardware import Hardware
from estimator.model.kernel_priors import DepthwiseCycles


def unit_times(rows: pd.DataFrame, hardware: Hardware, cycles: DepthwiseCycles) -> Floats:
    """Time of each call [s] as units limit it; NaN where their rate is unknown."""
    shape = ConvShape.from_table(rows)
    output, image = (shape.n * shape.k * sizes.prod(axis=0) for sizes in (shape.output, shape.image))
    of_pass = {
        "forward": output * cycles.forward,
        "grad_input": output * cycles.grad_input,
        "grad_weights": image * cycles.grad_weights,
    }
    of_pass["backward"] = of_pass["grad_input"] + of_pass["grad_weights"]
    step_pass = pass_names(rows)
    pixel_cycles = np.select([step_pass == name for name in of_pass], list(of_pass.values()))
    return np.asarray(pixel_cycles * np.sqrt(shape.window.prod(axis=0)) / hardware.unit_rate)
