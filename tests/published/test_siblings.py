"""Products of measured devices, predicted by specifications alone and by those of a device of the same architecture.

The coefficients were fitted to all of these devices, which makes the errors by specifications smaller than on devices
never seen, and those by siblings hardly.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from estimator.core.interval import log_spread
from estimator.core.schema import MEASUREMENTS
from estimator.core.types import RunPlan
from estimator.devices import load_device
from estimator.devices.measurements import load_measurements
from estimator.devices.sides import siblings_of
from estimator.model import TargetDevice, resemblance
from estimator.model.prediction import predict_ops
from estimator.model.resemblance import Siblings
from tests.published.specifications import NONE, counted

DEVICES = ("m40-12gb", "titan-x-maxwell", "gtx-1080-ti", "titan-x-pascal", "p4", "v100-pcie-32gb", "v100-sxm2-16gb")
DRAWS = 200
PREDICTED = ["target_time_s", "low_s", "high_s"]
LEAST_S = 20e-6  # shorter products are mostly launches


def products_of(device: str) -> pd.DataFrame:
    rows = load_measurements(load_device(device), named=device)
    is_judged = rows["op_class"].eq("gemm") & rows["precision"].isin(["fp32", "fp16"]) & (rows["time_s"] > LEAST_S)
    return rows[is_judged & rows["flag"].isna()].reset_index(drop=True)


def judged(products: pd.DataFrame, device: str, siblings: Siblings) -> tuple[float, float, float]:
    """The median error of what is predicted, how many intervals hold, and the logarithm of the truth's density."""
    untimed = products[MEASUREMENTS.names()].drop(columns=["time_s", "time_low_s", "time_high_s"])
    work = counted(untimed.assign(op="product", calls=1.0).to_dict("records"))
    target = TargetDevice(load_device(device), NONE, siblings)
    ops = predict_ops(work, target, RunPlan(device, draws=DRAWS), at_once=len(work))
    truth, middle, low, high = (np.log(column) for column in (products["time_s"], *ops[PREDICTED].to_numpy().T))
    std = log_spread(ops["low_s"], ops["high_s"])
    density = -0.5 * ((truth - middle) / std) ** 2 - np.log(std)
    held = (low <= truth) & (truth <= high)
    return float(np.median(np.abs(np.expm1(middle - truth)))), float(held.mean()), float(density.mean())


@pytest.fixture(scope="module")
def products() -> list[tuple[str, pd.DataFrame]]:
    """The products of each device in each format."""
    tables = [(device, table) for device in DEVICES for _, table in products_of(device).groupby("precision")]
    return [(device, table.reset_index(drop=True)) for device, table in tables]


@pytest.mark.slow
def test_products_of_siblings_correct_the_model(products: list[tuple[str, pd.DataFrame]]) -> None:
    all_judged = []
    for device, rows in products:
        all_judged.append([judged(rows, device, each) for each in (tuple, siblings_of(load_device(device)))])
        print(device, rows["precision"].iloc[0], words(*all_judged[-1]))
    without, corrected = np.mean(all_judged, axis=0)
    print("all, the mean:", words(without, corrected))
    assert corrected[0] < 0.75 * without[0]
    assert corrected[1] > without[1]
    assert corrected[2] > without[2] + 0.1
    assert max(after[0] - before[0] for before, after in all_judged) < 0.01


@pytest.mark.slow
def test_no_other_correlation_is_much_likelier(
    products: list[tuple[str, pd.DataFrame]], monkeypatch: pytest.MonkeyPatch
) -> None:
    densities = {}
    for same in (0.5, resemblance.SAME, 0.8):
        monkeypatch.setattr(resemblance, "SAME", same)
        of_each = [judged(rows, device, siblings_of(load_device(device)))[2] for device, rows in products]
        densities[same] = float(np.mean(of_each))
    print("log density by correlation:", densities)
    assert densities[0.8] < densities[0.65]
    assert max(densities.values()) - densities[0.65] < 0.05


def words(before: Sequence[float], after: Sequence[float]) -> str:
    """Both of what :func:`judged` returns."""
    (error, held, density), (new_error, new_held, new_density) = before, after
    return (
        f"error {error:.1%} → {new_error:.1%}, intervals hold {held:.0%} → {new_held:.0%}, "
        f"log density {density:.2f} → {new_density:.2f}"
    )
