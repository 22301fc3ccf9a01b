"""Figures follow their definition."""

import pandas as pd
import pytest

from estimator.validation import scores
from estimator.validation.tables import KEYS
from tests.validation.public import truth

SHAPE = {"device": "p4", "m": 4096, "n": 4096, "k": 4096, "time_s": 1.0}


@pytest.fixture
def judged() -> pd.DataFrame:
    """Errors of one group −50, 10, 40 %, of another 100 %, of batched products 0 %."""
    rows = [
        *({**SHAPE, "data_set": "a"} for _ in range(3)),
        {**SHAPE, "data_set": "a", "device": "v100-sxm2-16gb"},
        {**SHAPE, "data_set": "b", "batch": 8},
    ]
    return truth(*rows).assign(model=[0.5, 1.1, 1.4, 2.0, 1.0], perfect=1.0)


def figures(judged: pd.DataFrame, **keys: str) -> dict[str, object]:
    table = scores.held_out({"gemm": judged}, ["model", "perfect"]).query("method == 'model'")
    wanted = dict.fromkeys(KEYS, "") | keys
    matches = table[(table[KEYS] == list(wanted.values())).all(axis=1)]
    assert len(matches) == 1
    return dict(matches.iloc[0])


def test_figures_of_a_group(judged: pd.DataFrame) -> None:
    keys = {"family": "pascal-gp102", "op_class": "gemm", "precision": "fp32", "path": "vector"}
    row = figures(judged, data_set="a", device="p4", **keys)
    assert (row["n"], row["groups"], row["max"]) == (3, 1, 50)
    assert row["median"] == pytest.approx(40)
    assert row["mean"] == pytest.approx(100 / 3, abs=0.01)
    assert row["p90"] == pytest.approx(48)
    assert row["bias"] == pytest.approx(10)


def test_a_slice_is_the_mean_over_groups(judged: pd.DataFrame) -> None:
    row = figures(judged)
    assert (row["n"], row["groups"], row["max"]) == (5, 3, 100)
    assert row["median"] == pytest.approx((40 + 100 + 0) / 3, abs=0.01)
    assert figures(judged, data_set="a")["median"] == pytest.approx((40 + 100) / 2)
    assert figures(judged, family="volta")["median"] == pytest.approx(100)


def test_batched_products_are_a_separate_class(judged: pd.DataFrame) -> None:
    assert figures(judged, op_class="batched gemm")["mean"] == 0
    assert figures(judged, op_class="gemm")["groups"] == 2


def test_a_key_of_one_value_makes_no_slice(judged: pd.DataFrame) -> None:
    table = scores.held_out({"gemm": judged}, ["model"])
    assert set(table["precision"]) == {"", "fp32"}
    assert table[(table["precision"] == "fp32") & (table["device"] == "")].empty


def test_the_worst_misses_in_bytes_say_so(judged: pd.DataFrame) -> None:
    (row,) = scores.worst(judged, "model", 1, "bytes")
    assert {"measured_bytes", "predicted_bytes"} <= row.keys()
    assert "measured_s" not in row


def test_the_worst_misses_are_by_factor_either_way(judged: pd.DataFrame) -> None:
    shapes = [row["shape"] for row in scores.worst(judged, "model", 2)]
    assert shapes == ["m 4096, n 4096, k 4096"] * 2
    ratios = {row["predicted_s"] / row["measured_s"] for row in scores.worst(judged, "model", 2)}
    assert ratios == {0.5, 2.0}


def test_pairs_of_whole_models_have_signed_errors(judged: pd.DataFrame) -> None:
    pairs = judged.iloc[:1].assign(source="p4", target="v100", model="toy", ours=0.5)
    table = scores.of_pairs({"gemm": judged, "whole": pairs}, "ours")
    assert table.to_numpy().tolist() == [["whole", "p4", "v100", "toy", -50.0]]
    assert scores.of_pairs({"gemm": judged}, "ours").empty
