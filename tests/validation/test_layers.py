"""BERT given as layers against published rates: what is read, by what coefficients, and how far off it is."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import RunPlan
from estimator.model import coefficients
from estimator.model.coefficients import Coefficients, shipped
from estimator.pipeline.step import estimate
from estimator.validation import layers
from estimator.validation.protocol import FittedPredictor
from estimator.validation.tables import KEYS, PublishedRows
from tests.validation.public import write

ROW = {
    "framework": "PyTorch", "model": layers.MODEL, "section": "Pre-training", "device": "A100 80G", "gpus": 1,
    "precision": "amp", "unit": "sequences/s", "batch_per_gpu": 8, "grad_accum": 4, "seq_len": 128, "throughput": 400,
}  # fmt: skip
TUNED = {"section": "Fine-tuning", "seq_len": None, "grad_accum": None}


def rates(folder: Path, *rows: dict[str, object]) -> PublishedRows:
    write(folder, layers.FILES[0], [ROW | row for row in rows])
    return layers.read_rates(folder)


def test_rates_of_one_device_are_read(tmp_path: Path) -> None:
    others: tuple[dict[str, object], ...] = (
        {"gpus": 8},
        {"model": "GNMT"},
        {"device": "TPU"},
        {"precision": "int8"},
        {"batch_per_gpu": None},
    )
    actual = rates(tmp_path, {}, TUNED | {"throughput": 50}, *others)
    columns = ["device", "batch", "accumulated", "length", "time_s"]
    assert actual.rows[columns].to_numpy().tolist() == [
        ["a100-sxm4-80gb", 8, 4, 128, 8 / 400],
        ["a100-sxm4-80gb", 8, 1, 384, 8 / 50],
    ]
    assert actual.notes == ()


def test_the_batch_of_an_update_is_divided_where_a_table_lists_it(tmp_path: Path) -> None:
    actual = rates(tmp_path, {"framework": "PaddlePaddle", "batch_per_gpu": 64})
    assert actual.rows[["batch", "time_s"]].to_numpy().tolist() == [[16, 16 / 400]]


@pytest.mark.slow
def test_misprints_and_batches_that_no_memory_holds_are_left_out(tmp_path: Path) -> None:
    actual = rates(tmp_path, {}, {"seq_len": 512}, {"throughput": 9, "batch_per_gpu": 4000}, {"throughput": 300})
    assert list(actual.rows["throughput"]) == [300]
    assert actual.notes == (
        "2 of 4 rates of BERT whose figure stands for several settings are left out",
        "1 of 4 rates of BERT whose batch no memory holds are left out",
    )


def test_the_update_is_shared_by_the_steps_that_accumulate(tmp_path: Path) -> None:
    (row,) = rates(tmp_path, {}).rows.to_dict("records")
    read = layers.profile_of_row(row)
    assert set(read.ops.loc[read.ops["phase"] == "optimizer", "calls"]) == {0.25}
    assert set(read.ops.loc[read.ops["phase"] != "optimizer", "calls"]) == {1.0}
    assert read.workload.precision == "fp16"
    assert read.workload.optimizer is not None
    assert read.workload.optimizer.name == "lamb"
    assert read.workload.parameters == 336_226_108 + 6 * (1024 + 1)  # the padded vocabulary


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    write(tmp_path, layers.FILES[0], [{"model": "x", "gpus": 1}])
    with pytest.raises(EstimatorError, match="the column 'framework' is missing"):
        layers.read_rates(tmp_path)


@pytest.mark.slow
def test_each_row_is_predicted_without_its_family_and_its_measurements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spy tells by which coefficients and measurements each device was asked for."""
    actual = rates(tmp_path, {}, {"device": "V100 32G", "throughput": 150})
    fits = {family: shipped().model_copy() for family in ("ampere-ga100", "volta")}
    truth = pd.DataFrame({"family": ["ampere-ga100", "volta", "kepler"]})
    asked: dict[str, tuple[Coefficients, str]] = {}

    def method(train: pd.DataFrame) -> FittedPredictor:
        (unseen,) = {"ampere-ga100", "volta"} - set(train["family"])
        return FittedPredictor(lambda rows, own: rows["time_s"].to_numpy(), fits[unseen])

    def spy(profile: object, plan: RunPlan) -> object:
        asked[plan.target] = coefficients.shipped(), Path(str(plan.measurements)).read_text()
        return estimate(profile, plan)  # type: ignore[arg-type]

    monkeypatch.setattr(layers, "estimate", spy)
    judged = layers.judge(truth, actual, method)["layers"]
    assert asked["a100-sxm4-80gb"][0] is fits["ampere-ga100"]
    assert asked["v100-sxm2-32gb"][0] is fits["volta"]
    assert all(len(measured.splitlines()) == 1 for _, measured in asked.values())
    assert {*KEYS, "ours", "low_s", "high_s", "roofline"} <= set(judged)
    assert (judged["low_s"] < judged["ours"]).all()
    assert (judged["ours"] < judged["high_s"]).all()
    assert (judged["roofline"] < judged["ours"]).all()


@pytest.mark.slow
def test_published_rates_are_missed_by_no_more(public_data: Callable[[str], Path]) -> None:
    """By the shipped coefficients, which have seen the families: a guard, not the judgement."""
    actual = layers.read_rates(public_data("data"))
    assert len(actual.rows) == 30
    method = FittedPredictor(lambda rows, own: rows["time_s"].to_numpy(), shipped())
    judged = layers.judge(pd.DataFrame({"family": []}), actual, lambda train: method)["layers"]
    error = (judged["ours"] / judged["time_s"] - 1).abs()
    assert error.median() < 0.25
    held = judged["time_s"].between(judged["low_s"], judged["high_s"])
    assert held.mean() > 0.84
