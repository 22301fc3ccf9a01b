"""Gradients that travel in a narrower format, or but the largest of them: bytes on the links and in memory."""

import pandas as pd
import pytest

from estimator.core.parallel import read_split
from estimator.core.types import Workload
from estimator.work.compression import Compression, compression
from estimator.work.parallel import Ranks, exchange, messages_as_work
from tests.work.test_parallel import layers

ELEMENTS = 512 * 4096 + 4096 * 4096 + 4096 * 1000


def sent(split: str) -> pd.DataFrame:
    return exchange(layers(512, 4096, 4096, 1000), Workload(name="t"), read_split(split)).messages


def how(split: str) -> Compression:
    return exchange(layers(512, 4096, 4096, 1000), Workload(name="t"), read_split(split)).compression


@pytest.mark.parametrize("narrow", ["fp16", "bf16"])
def test_narrow_gradients_halve_their_messages(narrow: str) -> None:
    plain, halved = sent("data"), sent(f"data,gradients={narrow}")
    assert halved["bytes"].tolist() == [size / 2 for size in plain["bytes"]]
    assert halved.drop(columns="bytes").equals(plain.drop(columns="bytes"))


def test_a_cast_before_and_a_cast_behind_each_message() -> None:
    (actual,) = how("gradients=fp16").work(copies=8)
    assert actual["operator"].tolist() == ["cast", "cast"]
    assert actual["bytes"].tolist() == [ELEMENTS * 6.0] * 2
    assert set(actual["calls"]) == {3.0}
    assert actual[["from_precision", "to_precision"]].to_numpy().tolist() == [["fp32", "fp16"], ["fp16", "fp32"]]
    assert how("data").work(copies=8) == []


def test_weights_that_owners_send_stay_as_they_are() -> None:
    plain, halved = (sent(split).groupby("operator")["bytes"].sum() for split in ("zero1", "zero1,gradients=bf16"))
    assert halved["reduce_scatter"] == plain["reduce_scatter"] / 2
    assert halved["all_gather"] == plain["all_gather"]


def test_gradients_that_are_narrow_already_are_not_cast() -> None:
    actual = compression(sent("data"), 2.0, read_split("zero1,gradients=fp16"))
    assert (actual.share, actual.format) == (1.0, None)


def test_copies_gather_what_each_has_chosen() -> None:
    """Values and places of 1 %; Lin et al., 2018."""
    messages = sent("top=0.01")
    assert set(messages["operator"]) == {"all_gather"}
    assert messages["bytes"].sum() == pytest.approx(0.01 * ELEMENTS * (4 + 4))
    assert sent("top=0.01,gradients=fp16")["bytes"].sum() == pytest.approx(0.01 * ELEMENTS * (2 + 4))
    for copies in (2, 64):
        work = messages_as_work(messages, {"data": Ranks(copies, copies, 1)})
        assert work["bytes"].sum() == pytest.approx(copies * 0.01 * ELEMENTS * 8)


def test_choosing_takes_traffic_that_grows_with_the_copies() -> None:
    few, many = (how("top=0.01").work(copies)[0]["bytes"].sum() for copies in (2, 64))
    passes = 4.0 * ELEMENTS * (3 + 3 + 1 + 1)
    assert few == pytest.approx(passes + 0.01 * ELEMENTS * (8 + 2 * 16))
    assert many - few == pytest.approx(62 * 0.01 * ELEMENTS * 16)
