"""The model of this program as a method to be judged: fitted on TRUTH of other families, then asked as users ask it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from estimator.core.types import Floats
from estimator.devices import load_device
from estimator.model import coefficients
from estimator.model.calibration import correction
from estimator.model.coefficients import Coefficients
from estimator.model.evidence import told
from estimator.model.kernels import Model, by_model
from estimator.truth import arguments, fit_convolution, fit_gemm, fit_memory_bound
from estimator.truth.protocol import Method, Predictor

if TYPE_CHECKING:
    import pandas as pd


def fit(truth: pd.DataFrame) -> Coefficients:
    """All coefficients from TRUTH. Raises EstimatorError where a class of ops has no rows to fit."""
    gemm = fit_gemm.fit(truth)
    return Coefficients(
        gemm=gemm,
        convolution=fit_convolution.fit(truth, gemm.sustained),
        memory_bound=fit_memory_bound.fit(truth),
        launches=coefficients.shipped().launches,
        transfer=coefficients.shipped().transfer,
    )


@contextmanager
def fitted_side_by_side(truth: pd.DataFrame) -> Iterator[Method]:
    """The model; meanwhile, its coefficients without each family are fitted on all processors."""
    families = sorted(truth["family"].unique())
    with ProcessPoolExecutor(initializer=_hold.append, initargs=(truth,)) as pool:
        without = {family: pool.submit(_fit_without, family) for family in families}
        try:
            yield lambda train: predictor(without[(set(families) - set(train["family"])).pop()].result())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_hold: list[pd.DataFrame] = []  # a worker's TRUTH, handed over once


def _fit_without(family: str) -> Coefficients:
    return fit(_hold[0][_hold[0]["family"] != family])


def predictor(c: Coefficients) -> Predictor:
    """What the model predicts of an unseen device with these coefficients."""

    def predict(rows: pd.DataFrame, own: pd.DataFrame) -> Floats:
        found = np.full(len(rows), np.nan)
        for device, of_device in rows.groupby("device").indices.items():
            here, mine = rows.iloc[of_device], own[(own["device"] == device).to_numpy(dtype=bool)]
            found[of_device] = _of_device(here, mine, c)
        return found

    return predict


def _of_device(rows: pd.DataFrame, own: pd.DataFrame, c: Coefficients) -> Floats:
    """Times [s] of rows of one device, each class and precision corrected by its own rows; NaN without a model."""
    found = np.full(len(rows), np.nan)
    for _, model, speaks in by_model(rows):
        for precision in rows.loc[speaks, "precision"].unique():
            asked = speaks & (rows["precision"] == precision).to_numpy(dtype=bool)
            alike = own[model.speaks(own) & (own["precision"] == precision).to_numpy(dtype=bool)]
            found[asked] = _times(model, rows[asked], alike, c)
    return found


def _times(model: Model, rows: pd.DataFrame, own: pd.DataFrame, c: Coefficients) -> Floats:
    """Times [s] of rows of one device and class, corrected by its own rows."""
    device, on = load_device(str(rows["device"].iloc[0])), arguments.hardware(rows)
    busy = model.busy(rows, on, device, c)
    known = told(model, own, arguments.hardware(own), device, arguments.latencies(own), c)
    said = correction(*known, model.alike(rows, on, device, busy), model.likeness(c))
    return np.asarray(busy.launches * arguments.latencies(rows) + busy.time * np.exp(said.mean))
