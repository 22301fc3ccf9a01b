"""Coefficients of the convolution model from TRUTH, in two stages, and what published shapes add to it.

First the kernels' shape, with a factor of each (data set, device) drawn to 1, on the peak that its own matrix products
sustain; robust, every (data set, device) counts alike, each coefficient with a prior. Then what is left: the same
shapes were measured on several devices, and what their residuals have in common, beside each device's own, tells how a
library treats a shape.
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

Prior = tuple[float, float, float]  # median, standard deviation of the logarithm, most
PRIORS: dict[str, Prior] = {
    "implicit.forward": (0.9, 1.0, 1.1), "implicit.weights": (0.7, 1.0, 1.1),
    "fused_winograd.forward": (0.75, 1.0, 1.1), "fused_winograd.weights": (0.5, 1.0, 1.1),
    "winograd.forward": (0.7, 1.0, 1.1), "winograd.weights": (0.7, 1.0, 1.1), "fft": (0.5, 1.0, 1.1),
    "streaming": (0.7, 1.0, 1.0), "staging": (0.7, 1.0, 1.0), "half_tile": (0.15, 1.0, 3.0),
    "start": (20.0, 1.0, 500.0), "in_flight": (5.0, 1.0, 30.0), "idle": (0.5, 1.0, 1.2), "columns": (1.0, 1.0, 5.0),
    "partial_sums": (1.0, 1.0, 30.0), "attained": (0.95, 0.1, 1.0),
}  # fmt: skip
PRIOR_WEIGHT = 0.03
ROW_NOISE, FACTOR_WEIGHT = 0.3, 0.55  # of a row's logarithm; of a group's factor, as rows of weight 1
ROWS_OF_A_GROUP = 300
MATURE = 0.9  # quantile of the share of the roofline, over matrix products, that tells what a stack sustains
HYPERPARAMETERS = KernelHyperparameters(
    compute=0.2, memory=0.0, kind=0.03, shape=0.25, noise=0.05,
    scales=(2.0, 2.0, 2.0, 2.5, 1.2, 1.0, 0.9, 0.9, 0.9, 0.9, 0.9, 0.3),
)  # fmt: skip
KEYS = ["stack", "device", "path"]  # of what a device sustains
SHAPE = [name for name in PublishedShape._fields if name not in ("log_residual", "families")]
FARTHEST = 0.4  # of the logarithm of a published shape
DIGITS = 3  # of that logarithm
SOURCE = "DeepBench (baidu-research/DeepBench), NeuSight (sitar-lab/NeuSight); python -m estimator.fitting.ship"


def fit(truth: pd.DataFrame, sustained: Sustained) -> ConvolutionCoefficients:
    """The coefficients from the convolutions of TRUTH; ``sustained`` where a device has no matrix products there.

    Without any convolutions they are the priors.
    """
    rows = sample(truth)
    median, spread, most = np.array(list(PRIORS.values())).T
    if rows.empty:
        return _named(np.log(median))
    time = _model(rows, peaks(rows, truth, sustained))
    names, place = np.unique(arguments.groups(rows), return_inverse=True)
    weight = 1.0 / np.sqrt(np.bincount(place)[place])
    measured = rows["time_s"].to_numpy(dtype=float)

    def residuals(x: Floats) -> Floats:
        launch, busy = time(_named(x))
        factor = x[len(PRIORS) :]
        missed = robust(np.log((launch + busy * np.exp(factor[place])) / measured) / ROW_NOISE)
        known = PRIOR_WEIGHT / ROW_NOISE * (x[: len(PRIORS)] - np.log(median)) / spread
        return np.concatenate([missed * weight, known, FACTOR_WEIGHT / ROW_NOISE * factor])

    start = [*np.log(median), *[0.0] * len(names)]
    bounds = [*np.log(median / 30), *[-3.0] * len(names)], [*np.log(most), *[3.0] * len(names)]
    found = least_squares(residuals, start, bounds)
    factors = (
        pd.Series(found[len(PRIORS) :], names).groupby(rows.groupby(arguments.groups(rows))["family"].first()).mean()
    )
    c = _faster(_named(found), float(np.exp(-factors.mean())))
    launch, busy = time(c)
    return c.model_copy(update={"published": _published(rows, np.log(measured / (launch + busy)))})


def sample(truth: pd.DataFrame) -> pd.DataFrame:
    """The convolutions, at most ROWS_OF_A_GROUP of each data set and device, the same shapes on all devices."""
    rows = truth[truth["op_class"] == "convolution"]
    return rows[shapes.lowest(_shape_lots(rows), arguments.groups(rows), ROWS_OF_A_GROUP)]


def _shape_lots(rows: pd.DataFrame) -> Floats:
    return shapes.lots(rows.assign(data_set="", device="", precision=""), seed=0)


def _named(x: Floats) -> ConvolutionCoefficients:
    """Coefficients from their logarithms."""
    found = dict(zip(PRIORS, (float(value) for value in np.exp(x)), strict=False))
    pairs = {name.partition(".")[0] for name in PRIORS if "." in name}
    shares = {
        name: Shares(forward=found.pop(f"{name}.forward"), weights=found.pop(f"{name}.weights")) for name in pairs
    }
    fft = found.pop("fft")
    return ConvolutionCoefficients(
        source=SOURCE,
        hyperparameters=HYPERPARAMETERS,
        fft=Shares(forward=fft, weights=fft),
        published=(),
        **shares,
        **found,
    )


def _faster(c: ConvolutionCoefficients, by: float) -> ConvolutionCoefficients:
    """Coefficients under which all but launches takes so many times less; no bandwidth is exceeded."""
    pairs = {name: of for name, of in c if isinstance(of, Shares)}
    shares = {name: Shares(forward=by * of.forward, weights=by * of.weights) for name, of in pairs.items()}
    moved = {name: min(by * getattr(c, name), 1.0) for name in ("streaming", "staging")}
    return c.model_copy(update=shares | moved)


def libraries(rows: pd.DataFrame) -> Library:
    """That of each row's device."""
    of = {name: library_of(load_device(str(name))) for name in rows["device"].unique()}
    both = zip(*((of[name].lanes[0], of[name].transforms[0]) for name in rows["device"]), strict=True)
    return Library(*(np.array(values) for values in both))


def peaks(rows: pd.DataFrame, truth: pd.DataFrame, sustained: Sustained) -> Floats:
    """The peak [FLOP/s] that each row's device sustained: the MATURE quantile of the roofline's share that the matrix
    products of its stack, device and path attained in TRUTH; where there are none, what is ``sustained`` from specs.
    """
    hardware = arguments.hardware(rows)
    large = truth[(truth["op_class"] == "gemm") & worth_judging(truth) & ~(truth["batch"] > 1).fillna(False)]
    attained = (large["ideal_s"] / large["time_s"]).groupby([large[name] for name in KEYS]).quantile(MATURE)
    shares = rows[KEYS].join(attained.clip(upper=1.0).rename("share"), on=KEYS)["share"].to_numpy(dtype=float)
    return np.where(np.isnan(shares), sustained.peak(hardware), shares * hardware.peak)


def _model(rows: pd.DataFrame, peak: Floats) -> Callable[[ConvolutionCoefficients], tuple[Floats, Floats]]:
    """Launch and busy time [s] of each row, by the coefficients."""
    hardware, library, latency = arguments.hardware(rows), libraries(rows), arguments.latencies(rows)
    passes = conv_passes(rows, hardware.tensor)
    return lambda coefficients: (latency, convolution_times(passes, hardware, peak, library, coefficients))


def _published(rows: pd.DataFrame, missed: Floats) -> tuple[PublishedShape, ...]:
    """What families that measured a shape have in common: mean residual, less the median of its data set and device."""
    own = pd.Series(missed, rows.index).groupby(arguments.groups(rows)).transform("median")
    beyond = (missed - own).clip(-FARTHEST, FARTHEST)
    shapes = rows.assign(direction=rows["pass"], log_residual=beyond, transforms=libraries(rows).transforms)
    of_families = shapes.groupby([*SHAPE, "family"], as_index=False)["log_residual"].mean()
    found = of_families.groupby(SHAPE, as_index=False).agg(
        log_residual=("log_residual", "mean"), families=("family", "size")
    )
    return tuple(PublishedShape(*row) for row in found.round({"log_residual": DIGITS}).itertuples(index=False))
