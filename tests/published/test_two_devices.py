"""Two models recorded on an H100 and an MI300X (AMD-AGI/TraceLens, reference traces): each from the other's dump."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from estimator.core.interval import bounds
from estimator.core.types import RunPlan
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile

DEVICES = {"h100": "h100-sxm5-80gb", "mi300x": "mi300x"}
FARTHEST = 0.2  # of the GPU's busy time


@pytest.fixture(scope="module")
def dumps(public_data: Callable[[str], Path]) -> dict[str, dict[str, str]]:
    folder = public_data("dumps")
    with (folder / "manifest.csv").open() as file:
        return {row["name"]: {**row, "file": str(folder / row["file"])} for row in csv.DictReader(file)}


@pytest.mark.slow
@pytest.mark.parametrize("model", ["bert-small", "falconsai"])
@pytest.mark.parametrize(("source", "target"), [("h100", "mi300x"), ("mi300x", "h100")])
def test_a_model_is_predicted_from_the_other_device(
    dumps: dict[str, dict[str, str]], model: str, source: str, target: str
) -> None:
    profile, truth = read_profile(dumps[f"{model}-{source}"]["file"]), dumps[f"{model}-{target}"]
    found = estimate(profile, RunPlan(DEVICES[target], source=DEVICES[source]))
    for samples, name in ((found.kernels_s, "gpu_busy_step_s"), (found.step.total, "step_host_s")):
        low, _, high = bounds(samples)
        assert low < float(truth[name]) < high
    assert found.kernels_s[0] == pytest.approx(float(truth["gpu_busy_step_s"]), rel=FARTHEST)
