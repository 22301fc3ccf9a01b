"""Fit the coefficients of the convolution model to TRUTH, and the corrections of published shapes.

First the coefficients, each with a prior, by robust least squares with equal weight for every (data set, device), which
has a free factor near 1; the peak is the one that its matrix products sustain. Then the published shapes: the mean
residual of a shape over devices, less each device's median, shows how libraries treat the shape.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from estimator.core.types import Floats
from estimator.devices import load_device
from estimator.fitting.optimise import least_squares, robust
from estimator.model.calibration import KernelHyperparameters
from estimator.model.convolution import Library, convolution_times, library_of
from estimator.model.convolution_coefficients import ConvolutionCoefficients, PublishedShape, Shares
from estimator.model.convolution_passes import conv_passes
from estimator.model.sustained import Sustained
from estimator.validation import arguments, shapes
from estimator.validation.protocol import worth_judging

Prior = tuple[float, float, float]  # median, standard deviation of the logarithm, upper bound
PRIORS: dict[str, Prior] = {
    "implicit.forward": (0.9, 1.0, 1.1), "implicit.weights": (0.7, 1.0, 1.1),
    "fused_winograd.forward": (0.75, 1.0, 1.1), "fused_winograd.weights": (0.5, 1.0, 1.1),
    "winograd.forward": (0.7, 1.0, 1.1), "winograd.weights": (0.7, 1.0, 1.1), "fft": (0.5, 1.0, 1.1),
    "streaming": (0.7, 1.0, 1.0), "staging": (0.7, 1.0, 1.0), "half_tile": (0.15, 1.0, 3.0),
    "start": (20.0, 1.0, 500.0), "in_flight": (5.0, 1.0, 30.0), "idle": (0.5, 1.0, 1.2), "columns": (1.0, 1.0, 5.0),
    "partial_sums": (1.0, 1.0, 30.0), "attained": (0.95, 0.1, 1.0),
}  # fmt: skip
PRIOR_WEIGHT = 0.03
ROW_NOISE, FACTOR_WEIGHT = 0.3, 0.55  # standard deviation of a row's logarithm; weight of a group's factor
ROWS_PER_GROUP = 300
SUSTAINED_QUANTILE = 0.9  # of the efficiency of matrix products, taken as the sustained share
HYPERPARAMETERS = KernelHyperparameters(
    compute=0.2, memory=0.0, kind=0.03, shape=0.25, noise=0.05,
    scales=(2.0, 2.0, 2.0, 2.5, 1.2, 1.0, 0.9, 0.9, 0.9, 0.9, 0.9, 0.3),
)  # fmt: skip
PEAK_KEYS = ["stack", "device", "path"]  # groups of a sustained peak
SHAPE_FIELDS = [name for name in PublishedShape._fields if name not in ("log_residual", "families")]
MAX_LOG_RESIDUAL = 0.4  # of a published shape
DIGITS = 3  # of that logarithm
SOURCE = "DeepBench (baidu-research/DeepBench), NeuSight (sitar-lab/NeuSight); python -m estimator.fitting.ship"


def fit(truth: pd.DataFrame, sustained: Sustained) -> ConvolutionCoefficients:
    """Fit the coefficients to the convolutions of TRUTH; ``sustained`` is for devices without matrix products.

    Without convolutions they are the priors.
    """
    rows = sample(truth)
    median, spread, upper_bounds = np.array(list(PRIORS.values())).T
    if rows.empty:
        return _coefficients_from_logs(np.log(median))
    launch_and_busy = _model(rows, peaks(rows, truth, sustained))
    names, group_of_row = np.unique(arguments.groups(rows), return_inverse=True)
    weights = 1.0 / np.sqrt(np.bincount(group_of_row)[group_of_row])
    measured_s = rows["time_s"].to_numpy(dtype=float)

    def residuals(parameters: Floats) -> Floats:
        launch, busy = launch_and_busy(_coefficients_from_logs(parameters))
        factor = parameters[len(PRIORS) :]
        data_residuals = robust(np.log((launch + busy * np.exp(factor[group_of_row])) / measured_s) / ROW_NOISE)
        prior_residuals = PRIOR_WEIGHT / ROW_NOISE * (parameters[: len(PRIORS)] - np.log(median)) / spread
        return np.concatenate([data_residuals * weights, prior_residuals, FACTOR_WEIGHT / ROW_NOISE * factor])

    start = [*np.log(median), *[0.0] * len(names)]
    bounds = [*np.log(median / 30), *[-3.0] * len(names)], [*np.log(upper_bounds), *[3.0] * len(names)]
    solution = least_squares(residuals, start, bounds)
    factors = (
        pd.Series(solution[len(PRIORS) :], names).groupby(rows.groupby(arguments.groups(rows))["family"].first()).mean()
    )
    coefficients = _scale_speed(_coefficients_from_logs(solution), float(np.exp(-factors.mean())))
    launch, busy = launch_and_busy(coefficients)
    return coefficients.model_copy(update={"published": _published_shapes(rows, np.log(measured_s / (launch + busy)))})


def sample(truth: pd.DataFrame) -> pd.DataFrame:
    """The convolutions, at most ROWS_PER_GROUP of each data set and device, the same shapes on all devices."""
    rows = truth[truth["op_class"] == "convolution"]
    return rows[shapes.lowest(_shape_lots(rows), arguments.groups(rows), ROWS_PER_GROUP)]


def _shape_lots(rows: pd.DataFrame) -> Floats:
    return shapes.lots(rows.assign(data_set="", device="", precision=""), seed=0)


def _coefficients_from_logs(log_values: Floats) -> ConvolutionCoefficients:
    """Coefficients from their logarithms."""
    values = dict(zip(PRIORS, (float(value) for value in np.exp(log_values)), strict=False))
    pairs = {name.partition(".")[0] for name in PRIORS if "." in name}
    shares = {
        name: Shares(forward=values.pop(f"{name}.forward"), weights=values.pop(f"{name}.weights")) for name in pairs
    }
    fft = values.pop("fft")
    return ConvolutionCoefficients(
        source=SOURCE,
        hyperparameters=HYPERPARAMETERS,
        fft=Shares(forward=fft, weights=fft),
        published=(),
        **shares,
        **values,
    )


def _scale_speed(coefficients: ConvolutionCoefficients, factor: float) -> ConvolutionCoefficients:
    """Coefficients with busy times shorter by a factor; shares of bandwidth stay at most 1."""
    algorithms = {
        name: algorithm_shares for name, algorithm_shares in coefficients if isinstance(algorithm_shares, Shares)
    }
    shares = {
        name: Shares(forward=factor * algorithm_shares.forward, weights=factor * algorithm_shares.weights)
        for name, algorithm_shares in algorithms.items()
    }
    bandwidth_shares = {name: min(factor * getattr(coefficients, name), 1.0) for name in ("streaming", "staging")}
    return coefficients.model_copy(update=shares | bandwidth_shares)


def libraries(rows: pd.DataFrame) -> Library:
    """The library of each row's device."""
    library_by_device = {name: library_of(load_device(str(name))) for name in rows["device"].unique()}
    pairs = zip(
        *((library_by_device[name].lanes[0], library_by_device[name].transforms[0]) for name in rows["device"]),
        strict=True,
    )
    return Library(*(np.array(values) for values in pairs))


def peaks(rows: pd.DataFrame, truth: pd.DataFrame, sustained: Sustained) -> Floats:
    """The sustained peak of each row [FLOP/s].

    It is the SUSTAINED_QUANTILE of the efficiency of the matrix products of its stack, device and path in TRUTH;
    without any, that of ``sustained`` by specifications.
    """
    hardware = arguments.hardware(rows)
    large_products = truth[(truth["op_class"] == "gemm") & worth_judging(truth) & ~(truth["batch"] > 1).fillna(False)]
    attained = (
        (large_products["ideal_s"] / large_products["time_s"])
        .groupby([large_products[name] for name in PEAK_KEYS])
        .quantile(SUSTAINED_QUANTILE)
    )
    shares = rows[PEAK_KEYS].join(attained.clip(upper=1.0).rename("share"), on=PEAK_KEYS)["share"].to_numpy(dtype=float)
    return np.where(np.isnan(shares), sustained.peak(hardware), shares * hardware.peak)


def _model(rows: pd.DataFrame, peak: Floats) -> Callable[[ConvolutionCoefficients], tuple[Floats, Floats]]:
    """Launch and busy time [s] of each row, by the coefficients."""
    hardware, library, latency = arguments.hardware(rows), libraries(rows), arguments.latencies(rows)
    passes = conv_passes(rows, hardware.tensor)
    return lambda coefficients: (latency, convolution_times(passes, hardware, peak, library, coefficients))


def _published_shapes(rows: pd.DataFrame, log_residuals: Floats) -> tuple[PublishedShape, ...]:
    """The mean residual of each shape over families, less the medians of data sets and devices."""
    group_median = pd.Series(log_residuals, rows.index).groupby(arguments.groups(rows)).transform("median")
    common = (log_residuals - group_median).clip(-MAX_LOG_RESIDUAL, MAX_LOG_RESIDUAL)
    shapes = rows.assign(direction=rows["pass"], log_residual=common, transforms=libraries(rows).transforms)
    family_means = shapes.groupby([*SHAPE_FIELDS, "family"], as_index=False)["log_residual"].mean()
    published = family_means.groupby(SHAPE_FIELDS, as_index=False).agg(
        log_residual=("log_residual", "mean"), families=("family", "size")
    )
    rounded = published.round({"log_residual": DIGITS}).to_dict("records")  # in Python's own numbers
    return tuple(PublishedShape(**row) for row in rounded)
