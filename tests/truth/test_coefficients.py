"""The shipped coefficients follow from public measurements, where those are at hand."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.core import physics
from estimator.devices import load_device
from estimator.devices.measurements import load_measurements
from estimator.model import coefficients

# peak fp32 [FLOP/s], peak fp16 tensor [FLOP/s], bandwidth [B/s], from the vendors' data sheets
DEEPBENCH = {
    "NV_P100": (9.3e12, None, 732e9), "NV_V100": (15.7e12, 125e12, 900e9), "IA_KNL7250": (6.09e12, None, 400e9),
    "NV_M40": (6.84e12, None, 288e9), "NV_TitanX": (6.6e12, None, 336e9),
    "NV_TitanX_Pascal": (10.97e12, None, 480e9), "NV_1080Ti": (11.34e12, None, 484e9),
}  # fmt: skip
NEUSIGHT = {
    "NVIDIA A100-PCIE-40GB": 1555e9, "Tesla P100-PCIE-16GB": 732e9, "Tesla V100-PCIE-32GB": 900e9, "Tesla P4": 192e9,
    "AMD Instinct MI100": 1228.8e9,
}  # fmt: skip


def gemm_shares(rows: pd.DataFrame, peak: float, bandwidth: float, itemsize: int) -> pd.Series:
    m, n, k = (rows[name].to_numpy(dtype=float) for name in "mnk")
    flop, bytes_ = physics.gemm_flop(1, m, n, k), physics.gemm_bytes(1, m, n, k, itemsize)
    return pd.Series(physics.ideal_time(flop, bytes_, peak, bandwidth) / (rows["time_ms"].to_numpy() * 1e-3))


def test_matrix_products_on_vector_units(public_data: Callable[[str], Path]) -> None:
    rows = pd.read_csv(public_data("data/deepbench/gemm.csv")).query("mode == 'train' and precision == 'Float'")
    shares = {d: gemm_shares(rows[rows["device"] == d], p, b, 4) for d, (p, _, b) in DEEPBENCH.items()}
    shipped = coefficients.load().matrix_vector
    assert shipped.mid == pytest.approx(np.median([s.median() for s in shares.values()]), abs=0.005)
    assert (shipped.low, shipped.high) == pytest.approx(tuple(pd.concat(shares).quantile([0.05, 0.95])), abs=0.005)


def test_matrix_products_on_tensor_units(public_data: Callable[[str], Path]) -> None:
    rows = pd.read_csv(public_data("data/deepbench/gemm.csv")).query("mode == 'train' and device == 'NV_V100'")
    rows = rows[rows["precision"] == "16 bit inputs, 16 bit multiplication, 32 bit addition"]
    shares = gemm_shares(rows, 125e12, 900e9, 2)
    shipped = coefficients.load().matrix_tensor
    found = tuple(shares.quantile([0.05, 0.5, 0.95]))
    assert (shipped.low, shipped.mid, shipped.high) == pytest.approx(found, abs=0.005)


def test_memory_bound_ops(public_data: Callable[[str], Path]) -> None:
    rows = pd.read_parquet(public_data("data/neusight/vector_ops.parquet")).query("op in ['add', 'mul']")
    ideal = 3 * 4 * rows["B"] * rows["H"] / rows["device"].map(NEUSIGHT)
    shares = (ideal / (rows["time_ms"] * 1e-3))[ideal > 1e-4]
    quantiles = shares.groupby(rows["device"]).quantile([0.05, 0.5, 0.95]).unstack()
    shipped = coefficients.load().memory
    assert shipped.mid == pytest.approx(quantiles[0.5].median(), abs=0.005)
    assert (shipped.low, shipped.high) == pytest.approx((quantiles[0.05].min(), quantiles[0.95].max()), abs=0.01)


def test_every_coefficient_names_its_source() -> None:
    shipped = coefficients.load()
    assert all(getattr(shipped, name).source for name in type(shipped).model_fields)


def test_the_shipped_tables_are_the_published_ones(public_data: Callable[[str], Path]) -> None:
    published = pd.read_csv(public_data("data/deepbench/gemm.csv")).query("mode == 'train'")
    for device, name in {
        "NV_P100": "p100-pcie-16gb",
        "NV_V100": "v100-sxm2-16gb",
        "IA_KNL7250": "xeon-phi-7250",
    }.items():
        ours = load_measurements(load_device(name)).query("op_class == 'gemm' and precision == 'fp32'")
        theirs = published[(published["device"] == device) & (published["precision"] == "Float")]
        keys = ["m", "n", "k", "trans_a", "trans_b"]
        renamed = theirs.rename(columns={"a_t": "trans_a", "b_t": "trans_b"})
        renamed = renamed.assign(trans_a=renamed["trans_a"].str.lower(), trans_b=renamed["trans_b"].str.lower())
        joined = ours[[*keys, "time_s"]].astype(object).merge(renamed[[*keys, "time_ms"]].astype(object), on=keys)
        assert len(ours) == len(theirs) == 160
        assert len(joined) >= 160
        ratio = joined["time_s"].astype(float) / (1e-3 * joined["time_ms"].astype(float))
        assert (ratio.sub(1).abs() < 1e-6).sum() >= 160
