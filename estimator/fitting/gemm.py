"""Coefficients of the tile model of matrix products from TRUTH, in stages, so that no device bends the kernels' shape.

First, per path, what tiles cost, with a sustained peak of each (data set, device) of its own; then the few numbers that
say what an unseen device sustains, to those peaks; last, from what is left, how far similar products are missed alike.
Each number has a prior, every (data set, device) counts alike, and losses are robust.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.types import Floats
from estimator.devices.measurements.bounds import ABOVE_PEAK
from estimator.fitting.optimise import fit_hyperparameters, least_squares, robust
from estimator.model.calibration import KernelHyperparameters
from estimator.model.gemm import (
    GemmCoefficients,
    TileMachine,
    Tiling,
    compute_share,
    overlapped,
    product_features,
    product_shapes,
    product_times,
    tiled_times,
)
from estimator.model.sustained import Sustained
from estimator.validation import arguments, shapes
from estimator.validation.protocol import worth_judging

if TYPE_CHECKING:
    import pandas as pd

Prior = tuple[float, float]  # median and standard deviation
TILING: dict[str, Prior] = {
    "start": (20.0, 30.0), "half_tile": (8.0, 6.0), "wave": (0.3, 0.2), "memory": (0.8, 0.1), "reload": (0.2, 0.2),
    "resident": (1.0, 0.3),
}  # fmt: skip
PRIOR = np.array([median for median, _ in TILING.values()])
SHARES = ("wave", "memory")  # at most 1
SUSTAINED: dict[str, Prior] = {  # of logarithms
    "share": (np.log(0.97), 0.05), "vector_need": (np.log(11e-12), 0.1), "tensor_need": (np.log(1.5e-12), 0.15),
    "halving": (np.log(4.0), 0.1),
}  # fmt: skip
SCALES = 5 * (4.0,) + 13 * (2.0,)  # of the coordinates: four octaves of size, or two of waste, or two flags
BALANCE = (-3.0, 4.0)  # octaves between compute and memory time
HYPERPARAMETERS = KernelHyperparameters(
    compute=0.2, memory=0.2, kind=0.1, shape=0.3, noise=0.03, scales=SCALES
)  # prior
FARTHEST = 1.2  # of a row's logarithm, in the fit of the hyperparameters
ROWS_OF_A_GROUP, ROWS_OF_HYPERPARAMETERS = 300, 100  # at most
SAMPLES = 4  # of rows, whose fits are averaged: one sample alone moves the errors of whole models by half a point
EVALUATIONS = 50  # of the Jacobian of what tiles cost, at most
LEAST_SUSTAINED = -2.5  # of the logarithm of the share of its peak that a group sustains
MOST_SUSTAINED = float(np.log(ABOVE_PEAK))  # no product is faster: without this limit, tiles cost what they like
ROW_NOISE, PEAK_NOISE = 0.15, 0.15  # of a row's logarithm; of the logarithm of the peak that a group sustains
SOURCE = (
    "DeepBench (baidu-research/DeepBench), NeuSight (sitar-lab/NeuSight), aiconfigurator (ai-dynamo/aiconfigurator), "
    "Vidur (microsoft/vidur); python -m estimator.fitting.ship"
)


def fit(truth: pd.DataFrame) -> GemmCoefficients:
    """The coefficients from the matrix products of TRUTH; those of a path without any are the priors.

    Raises EstimatorError where there are none at all.
    """
    rows = truth[(truth["op_class"] == "gemm") & worth_judging(truth)]
    if rows.empty:
        raise EstimatorError("no matrix product is there to fit; give a folder with such a table")
    tiling, peaks = dict[str, Tiling](), dict[str, float]()
    for path in ("vector", "tensor"):
        of_path = rows[rows["path"] == path]
        tiling[path], shares = (_tiling_of(PRIOR), {}) if of_path.empty else _average_tiling(of_path)
        peaks |= shares
    sustained = _sustained(rows, peaks)
    draft = GemmCoefficients(
        source=SOURCE, **tiling, sustained=sustained, balance=BALANCE, hyperparameters=HYPERPARAMETERS
    )
    fitted = _hyperparameters(_sample(rows, ROWS_OF_HYPERPARAMETERS), draft)
    return draft.model_copy(update={"hyperparameters": fitted})


def _sample(rows: pd.DataFrame, most: int, seed: int = 0) -> pd.DataFrame:
    """So many rows of each (data set, device), drawn by their shapes."""
    return rows[shapes.lowest(shapes.lots(rows, seed=seed), arguments.groups(rows), most)]


def _average_tiling(rows: pd.DataFrame) -> tuple[Tiling, dict[str, float]]:
    """What :func:`_tiling` finds, averaged over samples of the rows (Breiman, Bagging Predictors, 1996)."""
    tilings, shares = zip(*(_tiling(_sample(rows, ROWS_OF_A_GROUP, seed)) for seed in range(SAMPLES)), strict=True)
    average = Tiling(**{name: float(np.mean([getattr(each, name) for each in tilings])) for name in TILING})
    return average, {group: float(np.exp(np.mean([np.log(each[group]) for each in shares]))) for group in shares[0]}


def _tiling(rows: pd.DataFrame) -> tuple[Tiling, dict[str, float]]:
    """What tiles cost on one path, and the share of its peak that each (data set, device) sustains."""
    products, hardware = product_shapes(rows), arguments.hardware(rows)
    latency, measured = arguments.latencies(rows), rows["time_s"].to_numpy(dtype=float)
    names, place = np.unique(arguments.groups(rows), return_inverse=True)
    weight = 1.0 / np.sqrt(np.bincount(place)[place])
    prior = np.array(list(TILING.values()))

    def residuals(x: Floats) -> Floats:
        tiling, share = _tiling_of(x), np.exp(x[len(prior) :])[place]
        bandwidth = hardware.attained_bandwidth(tiling.memory)
        machine = TileMachine(hardware.peak * share, bandwidth, hardware.units)
        time = latency + overlapped(*tiled_times(products, machine, tiling))
        missed = robust(np.log(time / measured) / ROW_NOISE)
        return np.concatenate([missed * weight * 5.0, 0.5 * (x[: len(prior)] - prior[:, 0]) / prior[:, 1]])

    most = [1.0 if name in SHARES else np.inf for name in TILING]
    bounds = ([0.0] * len(prior) + [LEAST_SUSTAINED] * len(names), most + [MOST_SUSTAINED] * len(names))
    start, scale = [*prior[:, 0], *[-0.1] * len(names)], [*prior[:, 1], *[0.1] * len(names)]
    x = least_squares(residuals, start, bounds, scale, place, EVALUATIONS)
    return _tiling_of(x), dict(zip(names, np.exp(x[len(prior) :]), strict=True))


def _tiling_of(x: Floats) -> Tiling:
    return Tiling(**{name: float(value) for name, value in zip(TILING, x, strict=False)})


def _sustained(rows: pd.DataFrame, peaks: dict[str, float]) -> Sustained:
    """What devices sustain, from the share that each (data set, device) does; families count alike."""
    first = rows.groupby(arguments.groups(rows)).head(1)
    first = first.set_index(arguments.groups(first)).loc[list(peaks)]
    hardware, log_shares = arguments.hardware(first), np.log(list(peaks.values()))
    weight = 1.0 / np.sqrt(first.groupby("family")["family"].transform("size").to_numpy(dtype=float))
    prior = np.array(list(SUSTAINED.values()))

    def residuals(x: Floats) -> Floats:
        missed = robust((np.log(_sustained_of(x).peak(hardware) / hardware.peak) - log_shares) / PEAK_NOISE)
        return np.concatenate([missed * weight, (x - prior[:, 0]) / prior[:, 1]])

    no_more = ([-np.inf] * len(prior), [0.0, *[np.inf] * (len(prior) - 1)])
    return _sustained_of(least_squares(residuals, prior[:, 0], no_more, prior[:, 1]))


def _sustained_of(x: Floats) -> Sustained:
    return Sustained(**{name: float(np.exp(value)) for name, value in zip(SUSTAINED, x, strict=True)})


def _hyperparameters(rows: pd.DataFrame, coefficients: GemmCoefficients) -> KernelHyperparameters:
    """How far residuals of the model differ, by their marginal likelihood within each device and stack."""
    hardware = arguments.hardware(rows)
    latency, measured = arguments.latencies(rows), rows["time_s"].to_numpy(dtype=float)
    compute, memory = product_times(product_shapes(rows), hardware, coefficients)
    residual = np.clip(np.log(measured / (latency + overlapped(compute, memory))), -FARTHEST, FARTHEST)
    ops = product_features(rows, hardware, compute_share(compute, memory), coefficients)
    together = rows.groupby(["stack", "device", "precision"]).indices.values()
    return fit_hyperparameters([(ops.at(places), residual[places]) for places in together], HYPERPARAMETERS)
