"""A device timed at every shape of a profile predicts that profile from the rung "measured" alone."""

from pathlib import Path

import numpy as np
import pytest

from estimator.collect.measure.kit import csv_text
from estimator.core.types import RunPlan
from estimator.model.shape_keys import shape_keys
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from estimator.studies.profile_shapes import profile_shapes
from tests.conftest import ROOT

DEVICE = "name: toy\npeak: {fp32: 10 TFLOP/s}\nmemory_bandwidth: 500 GB/s\n"
MODELLED = ("measured", "interpolated", "scaled", "transferred", "roofline")
PROFILES = (
    "p1b3/amd-epyc.xplane", "p1b3/amd-epyc.tfprof", "p1b3/lecture-x86.tfprof", "cnn/amd-epyc.xplane",
    str(ROOT / "tests" / "data" / "kineto_cpu.json.gz"),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PROFILES)
def test_every_modelled_op_takes_the_time_of_its_shape(name: str, tmp_path: Path) -> None:
    shapes, _ = profile_shapes([name])
    shape_number = shape_keys(shapes).factorize()[0]  # a product and its transpose are one shape
    times = 1e-3 * (1.0 + shape_number / len(shapes))
    (tmp_path / "toy.yaml").write_text(DEVICE)
    (tmp_path / "toy.csv").write_text(csv_text(shapes.assign(device="toy", time_s=times, library="toy 1.0")))
    ops = estimate(read_profile(name), RunPlan(str(tmp_path / "toy.yaml"))).prediction.ops
    modelled = ops[ops["method"].isin(MODELLED) & (ops["calls"].fillna(1.0) > 0)]
    assert len(modelled) > 10
    assert modelled["method"].unique().tolist() == ["measured"]
    has_order = (modelled["op_class"] != "gemm") | modelled["trans_a"].notna()  # else the mean of all orders
    with_order = modelled[has_order]
    per_call = with_order["target_time_s"] / with_order["calls"].fillna(1.0)
    assert len(per_call) > 0.8 * len(modelled)
    assert np.abs(per_call.to_numpy()[:, None] / times - 1).min(axis=1).max() < 1e-9
    assert per_call.nunique() > 0.5 * len(with_order.drop_duplicates(["operator", "precision", "m", "n", "k", "bytes"]))
