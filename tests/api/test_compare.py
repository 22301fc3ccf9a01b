"""``compare`` in Python: several devices side by side."""

import dataclasses
from typing import Any

import pytest

from estimator.api.compare import CompareResult, compare, labels
from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, RunPlan
from tests.cli.command_line import read
from tests.reports.test_html import Page


@pytest.fixture(scope="module")
def result() -> CompareResult:
    return compare("p1b3", ["v100", "h100"])


def test_the_document_is_that_of_the_command_line(result: CompareResult) -> None:
    assert result.document() == read("compare", "p1b3", "--to", "v100", "--to", "h100")


def test_which_is_faster_is_decided_draw_by_draw(result: CompareResult) -> None:
    v100, h100 = (each.estimate.step.total[1:] for each in result)
    chances, shorter = result.p_faster, (h100 < v100).mean() + (h100 == v100).mean() / 2
    assert chances["h100-sxm5-80gb"] == {"v100-sxm2-16gb": pytest.approx(shorter)}
    assert chances["v100-sxm2-16gb"] == {"h100-sxm5-80gb": pytest.approx(1 - shorter)}
    twice = compare("p1b2", ["v100", "v100"], draws=50).p_faster
    assert twice["p1b2 on v100-sxm2-16gb (1)"] == {"p1b2 on v100-sxm2-16gb (2)": 0.5}


def test_without_draws_and_of_other_profiles_nothing_is_faster() -> None:
    chances = compare(["p1b2", "p1b1"], ["v100", "h100"], draws=0).p_faster
    assert chances["p1b2 on v100-sxm2-16gb"] == {"p1b2 on h100-sxm5-80gb": None}


def test_profiles_that_were_not_read_are_compared_by_their_workload(p1b3: Profile) -> None:
    one, two = (
        dataclasses.replace(p1b3, sha256="", workload=p1b3.workload.model_copy(update={"name": name}))
        for name in ("one", "two")
    )
    chances = compare([one, two], ["v100", "h100"], draws=20).p_faster
    assert {name: list(others) for name, others in chances.items()} == {
        f"{name} on {device}": [f"{name} on {other}"]
        for name in ("one", "two")
        for device, other in (("v100-sxm2-16gb", "h100-sxm5-80gb"), ("h100-sxm5-80gb", "v100-sxm2-16gb"))
    }


def test_the_table_has_a_row_for_each(result: CompareResult) -> None:
    table = result.table
    assert table["target"].tolist() == ["v100-sxm2-16gb", "h100-sxm5-80gb"]
    assert len(result) == len(table) == 2
    for row, each in zip(table.itertuples(), result, strict=True):
        assert [row.step_low_s, row.step_s, row.step_high_s] == [each.step_s.low, each.step_s.mid, each.step_s.high]
    assert (table["speedup"] * table["step_s"]).to_numpy() == pytest.approx(table["source_step_s"].to_numpy())


@pytest.mark.slow
def test_profiles_come_before_devices() -> None:
    actual = compare(["p1b3", "nt3"], ["v100", "a100"], draws=0)
    pairs = [(each.estimate.profile.workload.name, each.estimate.target.vendor) for each in actual]
    assert pairs == [("p1b3", "NVIDIA"), ("p1b3", "NVIDIA"), ("nt3", "NVIDIA"), ("nt3", "NVIDIA")]


@pytest.mark.slow
def test_labels_tell_estimates_apart(result: CompareResult, p1b3: Profile) -> None:
    assert labels([each.estimate for each in result]) == ["v100-sxm2-16gb", "h100-sxm5-80gb"]
    plans = [RunPlan("v100", draws=0), RunPlan("v100", precision="fp16", draws=0), RunPlan("v100", draws=0)]
    assert labels([each.estimate for each in compare([p1b3], plans)]) == [
        "p1b3 on v100-sxm2-16gb, fp32 (1)", "p1b3 on v100-sxm2-16gb, fp16", "p1b3 on v100-sxm2-16gb, fp32 (3)",
    ]  # fmt: skip
    assert labels([each.estimate for each in compare([p1b3, "nt3"], "v100", draws=0)]) == [
        "p1b3 on v100-sxm2-16gb", "nt3 on v100-sxm2-16gb",
    ]  # fmt: skip


@pytest.mark.slow
def test_ways_to_run_one_device_are_distinguished() -> None:
    ways: list[dict[str, Any]] = [{}, {"fusion": "elementwise"}, {"mode": "inference"}, {"layout": "channels-first"}]
    actual = compare("nt3", [RunPlan("v100", draws=0, **way) for way in ways])
    names = labels([each.estimate for each in actual])
    assert len(set(names)) == len(names)
    assert names[1] == "nt3 on v100-sxm2-16gb, training, fusion: elementwise, layout: auto"
    assert actual.table["fusion"].tolist() == ["none", "elementwise", "none", "none"]
    assert actual.table["layout"].tolist() == ["auto", "auto", "auto", "channels-first"]


def test_an_unfit_device_is_a_row_that_says_why() -> None:
    actual = compare("p1b3", ["tpu-v4", "v100"], draws=0)
    assert [each.estimate.target.name for each in actual] == ["v100-sxm2-16gb"]
    assert actual.table["target"].tolist() == ["tpu-v4", "v100-sxm2-16gb"]
    assert actual.table["step_s"].isna().tolist() == [True, False]
    assert actual.table["refused"][0] == actual.unfit[0].why
    assert "p1b3 on tpu-v4: refused" in repr(actual)
    assert "refused" in actual._repr_html_()
    assert len(actual.plot().axes[0].get_yticklabels()) == 1
    with pytest.raises(EstimatorError, match="tpu-v4 gives no peak for fp32"):
        compare("p1b3", "tpu-v4", draws=0)


def test_it_shows_itself(result: CompareResult) -> None:
    assert repr(result).splitlines()[0] == "2 estimates"
    assert len(repr(result)) < 300
    assert Page(result._repr_html_()).tags.count("tr") == 3
    assert len(result.plot().axes[0].get_yticklabels()) == 2
