"""Trainings in PyTorch on cards against published rates: what is read, by what coefficients, and how far off it is."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import RunPlan
from estimator.model.coefficients import shipped
from estimator.pipeline.step import estimate
from estimator.validation import cards
from estimator.validation.protocol import FittedPredictor
from estimator.validation.tables import KEYS, PublishedRows
from tests.validation.public import write

ROW = {
    "device": "A40", "gpus": 1, "suite": "v1", "model": "resnet50", "precision": "amp", "batch_per_gpu": 64,
    "throughput": 640.0,
}  # fmt: skip
BERT = {"model": "bert_base_squad", "device": "V100 16GB SXM2", "batch_per_gpu": 2, "throughput": 40.0}


def test_rates_of_one_card_are_read(tmp_path: Path) -> None:
    others = ({"gpus": 2}, {"model": "ncf"}, {"device": "RTX 3070"}, {"precision": "int8"}, {"batch_per_gpu": None})
    write(tmp_path, cards.FILE, [ROW, ROW | {"precision": "fp32"}, ROW | BERT, *(ROW | other for other in others)])
    rates = cards.read_rates(tmp_path)
    assert rates.rows[["model", "device", "precision", "batch", "time_s"]].to_numpy().tolist() == [
        ["resnet50", "a40", "fp16", 64, 0.1],
        ["resnet50", "a40", "tf32", 64, 0.1],
        ["bert_base_squad", "v100-sxm2-16gb", "fp16", 2, 0.05],
    ]
    assert rates.notes == ()


def test_formats_without_a_peak_are_left_out(tmp_path: Path) -> None:
    card = ROW | {"device": "GTX 1080 Ti"}
    write(tmp_path, cards.FILE, [card, card | {"precision": "fp32"}])
    rates = cards.read_rates(tmp_path)
    assert rates.rows["precision"].tolist() == ["fp32"]
    text = "1 of 2 rates of cards are left out, as the device's file gives no peak in their format"
    assert rates.notes == (text,)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    write(tmp_path, cards.FILE, [{"model": "resnet50", "gpus": 1}])
    with pytest.raises(EstimatorError, match="the column 'device' is missing"):
        cards.read_rates(tmp_path)


@pytest.mark.slow
def test_rows_are_judged_without_the_family_of_their_device(tmp_path: Path) -> None:
    write(tmp_path, cards.FILE, [ROW, ROW | BERT])
    truth = pd.DataFrame({"family": ["volta", "ampere-ga102", "turing"]})
    seen: list[set[str]] = []

    def method(train: pd.DataFrame) -> FittedPredictor:
        seen.append(set(train["family"]))
        return FittedPredictor(lambda rows, own: rows["time_s"].to_numpy(), shipped())

    judged = cards.judge(truth, cards.read_rates(tmp_path), method)
    assert seen == [{"volta", "turing"}, {"ampere-ga102", "turing"}]
    resnet, bert = judged["cards"], judged["cards-layers"]
    assert resnet["op_class"].tolist() == ["resnet50"]
    assert bert["op_class"].tolist() == ["bert_base_squad"]
    assert set(KEYS) <= set(resnet.columns)
    profile = cards.profile_of_model("resnet50", 64, "fp16")
    plan = RunPlan("a40", precision="fp16", batch=64)
    assert resnet["ours"].tolist() == pytest.approx([float(estimate(profile, plan).step.total[0])])
    assert (resnet["low_s"] < resnet["ours"]).all()
    assert (resnet["roofline"] < resnet["ours"]).all()


@pytest.mark.slow
def test_published_rates_are_missed_by_no_more(public_data: Callable[[str], Path]) -> None:
    """The newer stack, by the shipped coefficients, which have seen the families: a guard, not the judgement."""
    rates = cards.read_rates(public_data("data"))
    newer = PublishedRows(rates.rows[rates.rows["suite"] == "v1"].reset_index(drop=True), rates.notes)
    method = FittedPredictor(lambda rows, own: rows["time_s"].to_numpy(), shipped())
    judged = cards.judge(pd.DataFrame({"family": []}), newer, lambda train: method)
    for problem, (rows, median) in {"cards": (10, 0.2), "cards-layers": (32, 0.25)}.items():
        error = (judged[problem]["ours"] / judged[problem]["time_s"] - 1).abs()
        assert len(error) == rows
        assert error.median() < median
        held = judged[problem]["time_s"].between(judged[problem]["low_s"], judged[problem]["high_s"])
        assert held.mean() > 0.84
