"""Devices whose files lack what many data sheets lack: the name of a compute unit, their number, and their clock."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.core.types import DeviceSpec
from estimator.devices import load_device
from estimator.devices.assumed_units import with_assumed_units
from estimator.fitting import fitted_model
from estimator.model import coefficients
from estimator.validation import arguments, protocol
from estimator.validation.data import read_truth
from tests.conftest import without_clocks

ROWS = 300  # of a data set and device
ALLOWED = 1.1  # times the errors with the whole file


def sparse(name: str) -> DeviceSpec:
    """A GPU with usual units in place of its own; any other device as it is."""
    device = load_device(name)
    if not device.is_gpu:
        return device
    lacking = {"compute_unit": None, "compute_units": None}
    return with_assumed_units(without_clocks(device).model_copy(update=lacking))


@pytest.mark.slow
def test_units_that_no_file_gives_cost_little_accuracy(
    public_data: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Median and mean error of products and convolutions by the shipped coefficients, with whole files and without."""
    rows, _ = read_truth(public_data("data"))
    judged = rows[protocol.worth_judging(rows)].sample(frac=1.0, random_state=0)
    truth = judged.groupby(["data_set", "device"]).head(ROWS)

    def predicted(load: Callable[[str], DeviceSpec]) -> pd.Series:
        for module in (fitted_model, arguments):
            monkeypatch.setattr(module, "load_device", load)
        return pd.Series(fitted_model.predictor(coefficients.shipped())(truth, truth.iloc[:0]), index=truth.index)

    def errors(predicted_s: pd.Series) -> pd.DataFrame:
        error = (predicted_s / truth["time_s"] - 1.0).abs()
        return 100 * error.groupby(truth["op_class"]).agg(["median", "mean"]).loc[["gemm", "convolution"]]

    of_whole, of_sparse = predicted(load_device), predicted(sparse)
    whole, lacking = errors(of_whole), errors(of_sparse)
    print(pd.concat({"whole files": whole, "sparse files": lacking}, axis=1).round(1))
    print(
        "standard deviation of the change:",
        np.log(of_sparse / of_whole).groupby(truth["op_class"]).std().round(3).to_dict(),
    )
    assert (lacking < ALLOWED * whole + 1.0).all(axis=None)
