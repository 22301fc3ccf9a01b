"""What convolutions of shapes that were published miss the model by on all devices alike, and so do shapes like them.

coefficients/convolution_shapes.csv holds the shapes, told apart by the kernels that a library has for them.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import as_file, files

import numpy as np
import pandas as pd

from estimator.core import csv_files
from estimator.core.types import Flags, Floats
from estimator.model.calibration import AT_ONCE, Likeness, Ops, covariance
from estimator.model.convolution_coefficients import Convolution
from estimator.model.convolution_passes import PASSES, Convolutions, convolutions


def alike(of: Convolutions, tensor: Flags, transforms: Flags) -> Ops:
    """Convolutions by what makes them alike: sizes in octaves, pass, path, library."""
    flags = (*(of.made == made for made in PASSES), tensor, transforms)
    sizes = (of.n, of.c * of.groups, of.k * of.groups, of.p * of.q, of.window, of.stride, of.itemsize)
    kind = np.select([of.made == made for made in PASSES], range(3))
    features = np.column_stack([*np.log2(sizes), *flags]).astype(float)
    return Ops(features, np.ones_like(of.n), kind, cached=np.zeros(len(of.n), dtype=bool))


def shape_correction(wanted: Ops, c: Convolution) -> Floats:
    """Logarithm of true over modelled time of each wanted op, as far as shapes like it were measured on other devices:
    the mean of a Gaussian process (Rasmussen & Williams, Gaussian Processes for Machine Learning, 2006, eq. 2.25).

    It is evidence, not law: corrected times may lie below the model's bounds.
    """
    if c.published == () or not len(wanted.features):
        return np.zeros(len(wanted.features))
    known, like, weight = _published(c)
    starts = range(0, len(wanted.features), AT_ONCE)
    some = (wanted.at(np.arange(i, min(i + AT_ONCE, len(wanted.features)))) for i in starts)
    return np.concatenate([covariance(ops, known, like) @ weight for ops in some])


@lru_cache(maxsize=1)
def _published(c: Convolution) -> tuple[Ops, Likeness, Floats]:
    """The published shapes, their likeness, and the weight of each in the mean of any op."""
    told = shipped_shapes() if c.published is None else pd.DataFrame(c.published)
    told = told.rename(columns={"made": "pass"})
    tensor, transforms = (told["path"] == "tensor").to_numpy(), told["transforms"].to_numpy(dtype=bool)
    known = alike(convolutions(told, tensor), tensor, transforms)
    like = c.likeness.model_copy(update={"compute": 0.0})  # residuals are told less what each device has in common
    among = covariance(known, known, like) + like.noise**2 * np.eye(len(told))
    return known, like, np.linalg.solve(among, told["log_residual"].to_numpy(dtype=float))


def shipped_shapes() -> pd.DataFrame:
    """The published shapes that are shipped, read only where there are convolutions."""
    with as_file(files("estimator.model.coefficients") / "convolution_shapes.csv") as path:
        cells = csv_files.read_csv(path)
    words = {name: cells[name] for name in ("made", "path", "precision")}
    numbers = cells.drop(columns=[*words, "transforms"]).astype(float)
    return numbers.assign(**words, transforms=cells["transforms"] == "True")
