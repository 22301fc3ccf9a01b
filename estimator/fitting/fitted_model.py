"""The model of this program as a method to be judged: fitted on TRUTH of other families, then asked as users ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from estimator.core.processes import ended_when_interrupted
from estimator.core.schema import STREAMING
from estimator.core.types import DeviceSpec, File, Floats
from estimator.devices import load_device
from estimator.fitting import collectives, convolution, gemm, memory_bound
from estimator.model import coefficients
from estimator.model.calibration import estimate_correction
from estimator.model.coefficients import Coefficients
from estimator.model.isolated import residuals
from estimator.model.kernels.kernel_model import KernelInputs, KernelModel
from estimator.model.kernels.registry import KERNEL_MODELS, correcting_rows, models_of
from estimator.validation import arguments
from estimator.validation.protocol import FittedPredictor, Method, Predictor

if TYPE_CHECKING:
    import pandas as pd


FITS: dict[str, Callable[[pd.DataFrame, Coefficients], File]] = {  # in this order; what is fitted already
    "gemm": lambda truth, c: gemm.fit(truth),
    "convolution": lambda truth, c: convolution.fit(truth, c.gemm.sustained),
    "memory_bound": lambda truth, c: memory_bound.fit(truth),
    "collectives": lambda truth, c: collectives.fit(truth),
}
NO_FAMILY = ""
NEEDED = {  # class of ops → fits that its times stand on: vectors are streamed, convolutions sustain what products do
    "gemm": ("gemm", "memory_bound"),
    "convolution": ("gemm", "convolution"),
    **dict.fromkeys(STREAMING, ("memory_bound",)),
    "collective": ("collectives",),
}


def fit(truth: pd.DataFrame, op_classes: Iterable[str] = tuple(NEEDED)) -> Coefficients:
    """The coefficients that times of these classes of ops stand on from TRUTH, all others as shipped.

    Raises EstimatorError where there are no rows to fit.
    """
    needed = {name for op_class in op_classes for name in NEEDED[op_class]}
    c = coefficients.shipped()
    for name, fitted in FITS.items():
        if name in needed:
            c = c.model_copy(update={name: fitted(truth, c)})
    return c


@contextmanager
def fitted_side_by_side(truth: pd.DataFrame, op_classes: Iterable[str]) -> Iterator[Method]:
    """The model; meanwhile, what times of these classes stand on is fitted without each family on all processors.

    A family without rows is left out of nothing: the fit to all rows is made where it is asked for.
    Each process keeps to one thread, this one too: threads of several would wait for each other most of the time.
    """
    from threadpoolctl import threadpool_limits

    families, op_classes = sorted(truth["family"].unique()), tuple(op_classes)
    with threadpool_limits(1), ProcessPoolExecutor(initializer=_start_worker, initargs=(truth,)) as pool:
        without = {family: pool.submit(_fit_without, family, op_classes) for family in families}
        try:

            def method(train: pd.DataFrame) -> Predictor:
                (unseen,) = set(families) - set(train["family"]) or {NO_FAMILY}
                if unseen not in without:
                    without[unseen] = pool.submit(_fit_without, unseen, op_classes)
                return predictor(without[unseen].result())

            with ended_when_interrupted():
                yield method
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_hold: list[pd.DataFrame] = []  # a worker's TRUTH, handed over once


def _start_worker(truth: pd.DataFrame) -> None:
    """Keep TRUTH, and the libraries of this process to one thread; SciPy is imported first, as it brings its own."""
    import scipy.optimize  # noqa: F401
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    _hold.append(truth)


def _fit_without(family: str, op_classes: tuple[str, ...]) -> Coefficients:
    return fit(_hold[0][_hold[0]["family"] != family], op_classes)


def predictor(c: Coefficients) -> FittedPredictor:
    """What the model predicts of an unseen device with these coefficients."""

    def predict(rows: pd.DataFrame, own: pd.DataFrame) -> Floats:
        times_s = np.full(len(rows), np.nan)
        for device, of_device in rows.groupby("device").indices.items():
            here, mine = rows.iloc[of_device], own[(own["device"] == device).to_numpy(dtype=bool)]
            times_s[of_device] = _of_device(here, mine, c)
        return times_s

    return FittedPredictor(predict, c)


def _of_device(rows: pd.DataFrame, own: pd.DataFrame, c: Coefficients) -> Floats:
    """Times [s] of rows of one device, each class and precision corrected by its own rows; NaN without a model."""
    times_s = np.full(len(rows), np.nan)
    device = load_device(str(rows["device"].iloc[0]))
    for _, model, of_model in models_of(rows, device):
        for precision in rows.loc[of_model, "precision"].unique():
            asked = of_model & (rows["precision"] == precision).to_numpy(dtype=bool)
            times_s[asked] = _times(*_measured_model(model, own, str(precision), device), rows[asked], c)
    return times_s


def _measured_model(
    model: KernelModel, own: pd.DataFrame, precision: str, device: DeviceSpec
) -> tuple[KernelModel, pd.DataFrame]:
    """A model and the device's own rows that correct it; where there are none, the model that stands in for it."""
    applicable = own[correcting_rows(model, own, device) & (own["precision"] == precision).to_numpy(dtype=bool)]
    if applicable.empty and model.fallback:
        return _measured_model(KERNEL_MODELS[model.fallback], own, precision, device)
    return model, applicable


def _times(model: KernelModel, own: pd.DataFrame, rows: pd.DataFrame, c: Coefficients) -> Floats:
    """Times [s] of rows of one device and class, corrected by its own rows."""
    device = load_device(str(rows["device"].iloc[0]))
    asked, measured = (KernelInputs(part, arguments.hardware(part), device, c) for part in (rows, own))
    busy = model.busy_time(asked)
    known = residuals(model, measured, arguments.latencies(own))
    correction = estimate_correction(known, model.features(asked, busy), model.hyperparameters(c))
    return np.asarray(busy.launches * arguments.latencies(rows) + busy.time_s * np.exp(correction.mean))
