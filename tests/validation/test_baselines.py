"""The simple methods, on made-up rows and on public data."""

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.validation import baselines, protocol, scores
from estimator.validation.data import read_truth
from estimator.validation.tables import KEYS
from tests.validation.public import truth

pytest.importorskip("sklearn", reason="extra 'fit' is not installed")
SIZES = tuple(itertools.product((512, 1024, 2048, 4096, 8192), repeat=3))
METHODS = baselines.BASELINES


def products(device: str, efficiency: Callable[[int], float], **fields: object) -> pd.DataFrame:
    """Products that attain a share of the roofline that depends on k."""
    rows = truth(*({"device": device, "m": m, "n": n, "k": k, **fields} for m, n, k in SIZES))
    rows = rows[rows["ideal_s"] > protocol.JUDGED_OVER_S]
    return rows.assign(time_s=rows["ideal_s"] / rows["k"].map(efficiency).to_numpy(dtype=float))


def errors(name: str, train: pd.DataFrame, rows: pd.DataFrame, own: pd.DataFrame) -> np.ndarray:
    predicted_s = METHODS[name](train)(rows.drop(columns=protocol.MEASURED), own)
    return np.asarray(predicted_s / rows["time_s"].to_numpy() - 1)


def test_roofline_predicts_the_roofline_time() -> None:
    rows = products("p4", lambda k: 0.5)
    assert errors("roofline", rows, rows, rows[:0]) == pytest.approx(-0.5)


@pytest.mark.parametrize("name", ["constant efficiency", "nearest neighbours", "gradient boosting"])
def test_constant_efficiency_is_learnt_from_other_devices(name: str) -> None:
    rows = products("p4", lambda k: 0.4)
    train = products("v100-pcie-32gb", lambda k: 0.4)
    assert errors(name, train, rows, rows[:0]) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("name", ["nearest neighbours", "gradient boosting"])
def test_efficiency_by_shape_is_learnt_from_other_devices(name: str) -> None:
    by_depth = {512: 0.2, 1024: 0.3, 2048: 0.5, 4096: 0.7, 8192: 0.9}
    train = pd.concat([products(d, by_depth.__getitem__) for d in ("v100-pcie-32gb", "m40-12gb", "p100-pcie-16gb")])
    rows = products("p4", by_depth.__getitem__)
    assert np.median(np.abs(errors(name, train, rows, rows[:0]))) < 0.1
    assert np.median(np.abs(errors("constant efficiency", train, rows, rows[:0]))) > 0.2


@pytest.mark.parametrize("name", ["constant efficiency", "nearest neighbours", "gradient boosting"])
def test_own_rows_shift_the_prediction(name: str) -> None:
    train, rows = products("v100-pcie-32gb", lambda k: 0.8), products("p4", lambda k: 0.3)
    assert errors(name, train, rows, rows[:0]) == pytest.approx(0.3 / 0.8 - 1, abs=1e-6)
    assert errors(name, train, rows, rows[:3]) == pytest.approx(0, abs=1e-6)
    elsewhere = rows.assign(data_set="elsewhere")
    assert errors(name, train, elsewhere, rows[:3]) == pytest.approx(0.3 / 0.8 - 1, abs=1e-6)


def test_neighbours_are_sought_on_the_same_path_first() -> None:
    tensor = products("v100-pcie-32gb", lambda k: 0.2, precision="fp16", data_set="toy")
    vector = products("v100-pcie-32gb", lambda k: 0.6, data_set="other")
    train = pd.concat([tensor, vector], ignore_index=True)
    rows = products("p4", lambda k: 0.6, data_set="toy")
    assert errors("nearest neighbours", train, rows, rows[:0]) == pytest.approx(0, abs=1e-6)


def test_boosting_gives_the_same_twice() -> None:
    train, rows = products("v100-pcie-32gb", lambda k: k / 9000), products("p4", lambda k: 0.3)
    once, twice = (
        errors("gradient boosting", train.sample(frac=1, random_state=seed), rows, rows[:0]) for seed in (1, 1)
    )
    assert once.tolist() == twice.tolist()


@pytest.mark.slow
def test_errors_on_public_data_are_those_published(public_data: Callable[[str], Path]) -> None:
    """The reference errors of the data's README, where the methods are the same: a margin for rows kept back there."""
    names = ("roofline", "constant efficiency", "nearest neighbours")
    rows, _ = read_truth(public_data("data"))
    judged = protocol.judge(rows, {name: METHODS[name] for name in names}, max_rows=300)
    table = scores.held_out(judged, names)
    overall = table[(table[KEYS] == "").all(axis=1)].set_index(["problem", "method"])
    assert overall.loc[("gemm", "nearest neighbours"), "median"] == pytest.approx(22, abs=4)
    assert overall.loc[("gemm", "constant efficiency"), "mean"] == pytest.approx(27.5, abs=4)
    assert overall.loc[("gemm-own", "nearest neighbours"), "median"] == pytest.approx(6.9, abs=2)
    assert overall.loc[("gemm-own", "nearest neighbours"), "mean"] == pytest.approx(11.9, abs=2.5)
    assert overall.loc[("memory", "roofline"), "median"] == pytest.approx(27, abs=5)
    assert overall.loc[("memory", "roofline"), "mean"] == pytest.approx(29, abs=5)
    plain = table[(table["problem"] == "gemm-kit") & (table["op_class"] == "gemm") & (table["device"] == "")]
    assert plain.set_index("method")["mean"]["constant efficiency"] == pytest.approx(17, abs=4)
    of_groups = table[(table["method"] == "roofline") & (table["device"] != "") & (table["problem"] == "gemm")]
    assert (of_groups["bias"] < 0).all()
