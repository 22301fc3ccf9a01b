"""Trainings in PyTorch on cards against published rates: what is read, by what coefficients, and how far off it is."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import RunPlan
from estimator.model import coefficients
from estimator.model.coefficients import Coefficients, shipped
from estimator.pipeline.step import estimate
from estimator.validation import cards
from estimator.validation.protocol import FittedPredictor
from estimator.validation.tables import KEYS
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
        return FittedPredictor(shipped())

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
def test_published_rates_of_cards(
    public_data: Callable[[str], Path], fitted_without: Callable[[str], Coefficients]
) -> None:
    """The rows of Ada and Volta; the whole table is that of 'estimator validate --data DIR --problem cards'."""
    rates = cards.read_rates(public_data("data"))
    off = []
    for family, devices in {"ada": ["rtx-4090"], "turing": ["rtx-2080-ti", "titan-rtx"]}.items():
        rows = rates.rows[rates.rows["device"].isin(devices) & (rates.rows["model"] == "resnet50")]
        with coefficients.replaced(fitted_without(family)):
            for row in rows.to_dict("records"):
                profile = cards.profile_of_model(row["model"], int(row["batch"]), row["precision"])
                plan = RunPlan(row["device"], precision=row["precision"], batch=int(row["batch"]), draws=0)
                off.append(float(estimate(profile, plan).step.total[0]) / row["time_s"] - 1.0)
    assert pd.Series(off).abs().median() < 0.15
