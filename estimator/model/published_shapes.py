"""By how much the model misses convolutions of published shapes on all devices, and so of shapes near them.

coefficients/convolution_shapes.csv holds the shapes, each for the kernels that a library has.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import as_file, files

import numpy as np
import pandas as pd

from estimator.core import csv_files
from estimator.core.types import Flags, Floats
from estimator.model.calibration import AT_ONCE, KernelHyperparameters, OpFeatures, covariance
from estimator.model.convolution_coefficients import ConvolutionCoefficients
from estimator.model.convolution_passes import PASSES, ConvPasses, conv_passes


def convolution_features(passes: ConvPasses, tensor: Flags, transforms: Flags) -> OpFeatures:
    """By what convolutions resemble each other: sizes in octaves, pass, path, library."""
    flags = (*(passes.direction == name for name in PASSES), tensor, transforms)
    channels = passes.c * passes.groups, passes.k * passes.groups
    sizes = (passes.n, *channels, passes.p * passes.q, passes.window, passes.stride, passes.itemsize)
    kind = np.select([passes.direction == name for name in PASSES], range(3))
    coordinates = np.column_stack([*np.log2(sizes), *flags]).astype(float)
    return OpFeatures(coordinates, np.ones_like(passes.n), kind, cached=np.zeros(len(passes.n), dtype=bool))


def shape_correction(wanted: OpFeatures, coefficients: ConvolutionCoefficients) -> Floats:
    """Logarithm of true over modelled time of each wanted op, as far as shapes like it were measured on other devices:
    the mean of a Gaussian process (Rasmussen & Williams, Gaussian Processes for Machine Learning, 2006, eq. 2.25).

    It is evidence, not law: corrected times may lie below the model's bounds.
    """
    count = len(wanted.coordinates)
    if coefficients.published == () or not count:
        return np.zeros(count)
    known, hyperparameters, weight = _published(coefficients)
    parts = (wanted.at(np.arange(i, min(i + AT_ONCE, count))) for i in range(0, count, AT_ONCE))
    return np.concatenate([covariance(ops, known, hyperparameters) @ weight for ops in parts])


@lru_cache(maxsize=1)
def _published(coefficients: ConvolutionCoefficients) -> tuple[OpFeatures, KernelHyperparameters, Floats]:
    """The published shapes, their hyperparameters, and the weight of each in the mean of any op."""
    shapes = shipped_shapes() if coefficients.published is None else pd.DataFrame(coefficients.published)
    shapes = shapes.rename(columns={"direction": "pass"})
    tensor, transforms = (shapes["path"] == "tensor").to_numpy(), shapes["transforms"].to_numpy(dtype=bool)
    known = convolution_features(conv_passes(shapes, tensor), tensor, transforms)
    # their residuals are without what each device has in common
    hyperparameters = coefficients.hyperparameters.model_copy(update={"compute": 0.0})
    among = covariance(known, known, hyperparameters) + hyperparameters.noise**2 * np.eye(len(shapes))
    return known, hyperparameters, np.linalg.solve(among, shapes["log_residual"].to_numpy(dtype=float))


def shipped_shapes() -> pd.DataFrame:
    """The published shapes that are shipped, read only where there are convolutions."""
    with as_file(files("estimator.model.coefficients") / "convolution_shapes.csv") as path:
        cells = csv_files.read_csv(path)
    words = {name: cells[name] for name in ("direction", "path", "precision")}
    numbers = cells.drop(columns=[*words, "transforms"]).astype(float)
    return numbers.assign(**words, transforms=cells["transforms"] == "True")
