"""The memory of cards that trained BERT and ResNet-50 in PyTorch, by nvidia-smi (lambdal/deeplearning-benchmark)."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.core.interval import bounds
from estimator.core.parallel import Split
from estimator.core.types import RunPlan
from estimator.pipeline.group_memory import memory_of_group
from estimator.validation.cards import profile_of_model

pytestmark = pytest.mark.slow  # 59 rows
MIB = 2**20
NVIDIA = "a100-pcie-80gb"  # the reserve is one for all of a vendor
BERT, RESNET = "bert_.*", "resnet50"


@pytest.fixture(scope="module")
def cards(public_data: Callable[[str], Path]) -> pd.DataFrame:
    """One row of each model, precision, batch and number of cards: what a card held, and our interval [MiB]."""
    table = pd.read_csv(public_data("data/scaling/lambda.csv"))
    named = table["model"].str.fullmatch(f"{BERT}|{RESNET}") & table["precision"].isin(["fp32", "fp16"])
    known = table[named & table["peak_mem_mib"].notna() & table["batch_per_gpu"].notna()]
    rows = known.drop_duplicates(["model", "precision", "batch_per_gpu", "gpus"])
    actual = [_interval(*key) for key in rows[["model", "precision", "batch_per_gpu", "gpus"]].itertuples(index=False)]
    return rows.assign(**dict(zip(("low", "mid", "high"), np.transpose(actual), strict=True)))


def _interval(model: str, precision: str, batch_of_card: float, cards: int) -> tuple[float, float, float]:
    batch = int(batch_of_card)
    plan = RunPlan(NVIDIA, batch=batch, precision=precision, draws=200)
    use = memory_of_group(profile_of_model(model, batch, precision), plan, Split(), cards)
    low, mid, high = (float(end) / MIB for end in bounds(use.total))
    return low, mid, high


@pytest.mark.parametrize(("model", "median_off", "intervals"), [(BERT, 0.092, (26, 28)), (RESNET, 0.035, (31, 31))])
def test_cards_held_what_is_predicted(
    cards: pd.DataFrame, model: str, median_off: float, intervals: tuple[int, int]
) -> None:
    rows = cards[cards["model"].str.fullmatch(model)]
    off = (rows["mid"] / rows["peak_mem_mib"] - 1.0).abs()
    assert off.median() == pytest.approx(median_off, abs=0.001)
    assert (rows["peak_mem_mib"].between(rows["low"], rows["high"]).sum(), len(rows)) == intervals


def test_a_sample_of_bert_took_a_sixth_more(cards: pd.DataFrame) -> None:
    """From the smallest to the largest batch, by which the fixed parts cancel."""
    rows = cards[cards["model"].str.fullmatch(BERT)].sort_values("batch_per_gpu")
    ends = rows.groupby(["model", "precision"])[["peak_mem_mib", "mid"]].agg(["first", "last"])
    grown = {name: ends[name, "last"] - ends[name, "first"] for name in ("peak_mem_mib", "mid")}
    assert (grown["peak_mem_mib"] / grown["mid"]).to_numpy() == pytest.approx(1.17, abs=0.03)
