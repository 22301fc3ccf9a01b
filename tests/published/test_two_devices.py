"""Two models recorded on an H100 and an MI300X (AMD-AGI/TraceLens, reference traces): each from the other's dump."""

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from estimator.core.interval import bounds
from estimator.core.types import RunPlan
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile

DEVICES = {"h100": "h100-sxm5-80gb", "mi300x": "mi300x"}
FARTHEST, WITHOUT_SHAPES = 0.2, 0.35  # of the GPU's busy time
SHAPES = ("Input Dims", "Input Strides", "Input type", "Concrete Inputs")
PAIRS = [("h100", "mi300x"), ("mi300x", "h100")]


@pytest.fixture(scope="module")
def dumps(public_data: Callable[[str], Path]) -> dict[str, dict[str, str]]:
    folder = public_data("dumps")
    with (folder / "manifest.csv").open() as file:
        return {row["name"]: {**row, "file": str(folder / row["file"])} for row in csv.DictReader(file)}


@pytest.mark.slow
@pytest.mark.parametrize("model", ["bert-small", "falconsai"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_model_is_predicted_from_the_other_device(
    dumps: dict[str, dict[str, str]], model: str, source: str, target: str
) -> None:
    profile, truth = read_profile(dumps[f"{model}-{source}"]["file"]), dumps[f"{model}-{target}"]
    actual = estimate(profile, RunPlan(DEVICES[target], source=DEVICES[source]))
    for samples, name in ((actual.kernels_s, "gpu_busy_step_s"), (actual.step.total, "step_host_s")):
        low, _, high = bounds(samples)
        assert low < float(truth[name]) < high
    assert actual.kernels_s[0] == pytest.approx(float(truth["gpu_busy_step_s"]), rel=FARTHEST)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["bert-small", "falconsai"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_model_is_predicted_from_a_dump_without_shapes(
    dumps: dict[str, dict[str, str]], model: str, source: str, target: str, tmp_path: Path
) -> None:
    """Most of its kernels take 2 to 10 us, of which their start is the larger part."""
    trace = json.loads(gzip.decompress(Path(dumps[f"{model}-{source}"]["file"]).read_bytes()))
    for event in trace["traceEvents"]:
        for name in SHAPES:
            event.get("args", {}).pop(name, None)
    (tmp_path / "trace.json").write_text(json.dumps(trace))
    profile = read_profile(tmp_path / "trace.json")
    kernels_s = estimate(profile, RunPlan(DEVICES[target], source=DEVICES[source])).kernels_s
    low, _, high = bounds(kernels_s)
    truth = float(dumps[f"{model}-{target}"]["gpu_busy_step_s"])
    assert low < truth < high
    assert kernels_s[0] == pytest.approx(truth, rel=WITHOUT_SHAPES)
