"""A step never gets shorter with a larger batch, whatever the profile and the device."""

from pathlib import Path

import pytest

from estimator.core.types import Profile, RunPlan
from estimator.pipeline.step import predict_step
from estimator.profiles import read_profile
from estimator.rollup.step import replay_step

DEVICES = {"h100-sxm5-80gb": (1, 2, 4, 16, 64, 512, 4096), "xeon-platinum-8480-plus": (1, 2, 16, 128, 4096)}  # batches
ROUNDING = 1e-3
WORKLOADS = sorted(path.name for path in (Path(__file__).parents[2] / "profiles").iterdir() if path.is_dir())


def step_s(profile: Profile, device: str, batch: int) -> float:
    """The predicted step [s], which need not fit into the device's memory."""
    precision = "bf16" if profile.workload.precision == "fp16" else "auto"  # few processors have fp16
    predicted = predict_step(profile, RunPlan(device, precision=precision, batch=batch, draws=0))
    return float(replay_step(predicted.prediction, predicted.timeline, predicted.scenario).step.total[0])


def shrinking(name: str, device: str) -> list[tuple[int, float, float]]:
    """The batches whose step is shorter than that of the batch before, with both steps [s]."""
    profile, batches = read_profile(name), DEVICES[device]
    steps = [step_s(profile, device, size) for size in batches]
    pairs = zip(batches[1:], steps[:-1], steps[1:], strict=True)
    return [(size, before, after) for size, before, after in pairs if after < (1 - ROUNDING) * before]


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", WORKLOADS)
def test_all_shipped_profiles(name: str, device: str) -> None:
    assert shrinking(name, device) == []
