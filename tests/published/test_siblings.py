"""Products of measured devices, predicted by specifications alone and by those of a device of the same architecture.

The coefficients were fitted to all of these devices, which makes the errors by specifications smaller than on devices
never seen, and those by siblings hardly.
"""

import numpy as np
import pandas as pd
import pytest

from estimator.core.schema import MEASUREMENTS
from estimator.core.types import RunPlan
from estimator.devices import load_device
from estimator.devices.measurements import load_measurements
from estimator.devices.sides import siblings_of
from estimator.model import TargetDevice
from estimator.model.prediction import predict_ops
from estimator.model.resemblance import Siblings
from tests.published.specifications import NONE, counted

DEVICES = ("m40-12gb", "titan-x-maxwell", "gtx-1080-ti", "titan-x-pascal", "p4", "v100-pcie-32gb", "v100-sxm2-16gb")
DRAWS = 200
LEAST_S = 20e-6  # shorter products are mostly launches


def products_of(device: str) -> pd.DataFrame:
    rows = load_measurements(load_device(device), named=device)
    is_judged = rows["op_class"].eq("gemm") & rows["precision"].isin(["fp32", "fp16"]) & (rows["time_s"] > LEAST_S)
    return rows[is_judged & rows["flag"].isna()].reset_index(drop=True)


def errors(products: pd.DataFrame, device: str, siblings: Siblings) -> tuple[float, float]:
    """The median error of what is predicted, and how many intervals hold."""
    untimed = products[MEASUREMENTS.names()].drop(columns=["time_s", "time_low_s", "time_high_s"])
    work = counted(untimed.assign(op="product", calls=1.0).to_dict("records"))
    target = TargetDevice(load_device(device), NONE, siblings)
    ops = predict_ops(work, target, RunPlan(device, draws=DRAWS), at_once=len(work))
    held = products["time_s"].between(ops["low_s"], ops["high_s"])
    return float((ops["target_time_s"] / products["time_s"] - 1.0).abs().median()), float(held.mean())


@pytest.mark.slow
def test_products_of_siblings_correct_the_model() -> None:
    medians, shares_held = [], []
    for device in DEVICES:
        siblings = siblings_of(load_device(device))
        for precision, rows in products_of(device).groupby("precision"):
            products = rows.reset_index(drop=True)
            (before, held_before), (after, held) = (errors(products, device, each) for each in (tuple, siblings))
            print(f"{device} {precision}: {before:.1%} → {after:.1%}; {held_before:.0%} → {held:.0%} of intervals hold")
            medians.append((before, after))
            shares_held.append((held_before, held))
    (before, after), (held_before, held) = np.mean(medians, axis=0), np.mean(shares_held, axis=0)
    print(f"all, the mean: {before:.1%} → {after:.1%}; {held_before:.0%} → {held:.0%}")
    assert after < 0.7 * before
    assert held > held_before - 0.02
    assert max(with_siblings - without for without, with_siblings in medians) < 0.01
