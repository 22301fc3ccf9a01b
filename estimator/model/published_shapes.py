"""Correction of convolutions by the residuals of published shapes on all devices.

coefficients/convolution_shapes.csv has the shapes and residuals, by kind of library.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import as_file, files

import numpy as np
import pandas as pd

from estimator.core import csv_files
from estimator.core.types import Flags, Floats
from estimator.model.calibration import BATCH_OPS, KernelHyperparameters, OpFeatures, covariance
from estimator.model.convolution_coefficients import ConvolutionCoefficients
from estimator.model.convolution_passes import PASSES, ConvPasses, conv_passes


def convolution_features(passes: ConvPasses, tensor: Flags, transforms: Flags) -> OpFeatures:
    """Features of convolutions: sizes in octaves, pass, path, library."""
    flags = (*(passes.direction == name for name in PASSES), tensor, transforms)
    channels = passes.c * passes.groups, passes.k * passes.groups
    sizes = (passes.n, *channels, passes.p * passes.q, passes.window, passes.stride, passes.itemsize)
    kind = np.select([passes.direction == name for name in PASSES], range(3))
    coordinates = np.column_stack([*np.log2(sizes), *flags]).astype(float)
    return OpFeatures(coordinates, np.ones_like(passes.n), kind, cached=np.zeros(len(passes.n), dtype=bool))


def shape_correction(wanted: OpFeatures, coefficients: ConvolutionCoefficients) -> Floats:
    """Log of true over modelled time of each wanted op, from similar shapes measured on other devices.

    It is the mean of a Gaussian process (Rasmussen & Williams, Gaussian Processes for Machine Learning, 2006, eq.
    2.25). Corrected times may lie below the model's bounds.
    """
    count = len(wanted.coordinates)
    if coefficients.published == () or not count:
        return np.zeros(count)
    published, hyperparameters, weights = _published(coefficients)
    batches = (wanted.at(np.arange(i, min(i + BATCH_OPS, count))) for i in range(0, count, BATCH_OPS))
    return np.concatenate([covariance(ops, published, hyperparameters) @ weights for ops in batches])


@lru_cache(maxsize=1)
def _published(coefficients: ConvolutionCoefficients) -> tuple[OpFeatures, KernelHyperparameters, Floats]:
    """The published shapes, hyperparameters, and the weight of each shape in the mean."""
    shapes = shipped_shapes() if coefficients.published is None else pd.DataFrame(coefficients.published)
    shapes = shapes.rename(columns={"direction": "pass"})
    tensor, transforms = (shapes["path"] == "tensor").to_numpy(), shapes["transforms"].to_numpy(dtype=bool)
    features = convolution_features(conv_passes(shapes, tensor), tensor, transforms)
    # each device's median is removed from the residuals
    hyperparameters = coefficients.hyperparameters.model_copy(update={"compute": 0.0})
    covariances = covariance(features, features, hyperparameters) + hyperparameters.noise**2 * np.eye(len(shapes))
    return features, hyperparameters, np.linalg.solve(covariances, shapes["log_residual"].to_numpy(dtype=float))


def shipped_shapes() -> pd.DataFrame:
    """Read the shipped published shapes."""
    with as_file(files("estimator.model.coefficients") / "convolution_shapes.csv") as path:
        cells = csv_files.read_csv(path)
    texts = {name: cells[name] for name in ("direction", "path", "precision")}
    numbers = cells.drop(columns=[*texts, "transforms"]).astype(float)
    return numbers.assign(**texts, transforms=cells["transforms"] == "True")
