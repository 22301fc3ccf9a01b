"""The audit of the lecture's table: how each printed number is marked (Learning Systems 2018, Lecture 10)."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from estimator.core.types import StudyResult

pytestmark = pytest.mark.slow  # 95 estimates


@pytest.fixture(scope="module")
def table(shipped_study: Callable[[str], StudyResult]) -> Mapping[str, Any]:
    """The audit of the lecture's table, as programs read it."""
    (appendix,) = shipped_study("lecture-table").appendices
    return appendix.document


def cell(table: Mapping[str, Any], kind: str, row: str | None, column: str | None) -> dict[str, Any]:
    (number,) = (c for c in table["printed"][kind] if (c["unit"], c["on"]) == (row, column))
    return dict(number)


def test_every_number_of_the_table_is_audited(table: Mapping[str, Any]) -> None:
    """11 rows with two counts, 4 times and 3 ratios; 5 more times and ratios of vendors; peaks and means."""
    expected = {"peaks": 5, "counts": 22, "means": 6, "ratios": 33 + 5, "like rows": 4, "times": 44 + 5}
    assert {kind: len(actual) for kind, actual in table["printed"].items()} == expected
    assert all(c["mark"] in table["marks"] for actual in table["printed"].values() for c in actual)
    assert all(c["reason"] for kind in ("times", "ratios", "means", "peaks") for c in table["printed"][kind])


def test_the_ratios_follow_from_the_times_but_for_their_last_digit(table: Mapping[str, Any]) -> None:
    cut_off = [(c["unit"], c["on"]) for c in table["printed"]["ratios"] if c["mark"] == "rounding"]
    assert cut_off == [("P1B2", "KNL"), ("NT3", "P100"), ("NT3", "KNL"), ("P3B3", "P100"), ("P3B3", "KNL")]
    assert not [c for c in table["printed"]["ratios"] if c["mark"] == "cannot be told"]


def test_one_printed_mean_follows_no_rule(table: Mapping[str, Any]) -> None:
    first, second = (table["printed"]["means"][i : i + 3] for i in (0, 3))
    assert {c["ours"]["formula"] for c in first} == {"arithmetic mean of the 7 measured ratios"}
    assert {c["ours"]["formula"] for c in second} == {"arithmetic mean of all 11 ratios"}
    assert [c["mark"] for c in (*first, *second)] == ["cannot be told", "reproduced", "rounding", *["reproduced"] * 3]
    assert first[0]["ours"]["value"]["mid"] == pytest.approx(4.757, abs=5e-4)
    assert "harmonic mean of the 7 measured ratios, 2.907" in str(first[0]["reason"])


def test_one_printed_peak_is_of_two_precisions(table: Mapping[str, Any]) -> None:
    marks = {c["on"]: c["mark"] for c in table["printed"]["peaks"]}
    assert marks.pop("P100") == "wrong precision"
    assert set(marks.values()) == {"reproduced"}
    assert "fp64 of p100-pcie-16gb over fp32 of k20x" in str(cell(table, "peaks", None, "P100")["reason"])


def test_one_printed_count_is_that_of_a_part(table: Mapping[str, Any]) -> None:
    odd = [c for c in table["printed"]["counts"] if c["mark"] != "reproduced"]
    assert [(c["unit"], c["mark"]) for c in odd] == [("COMBO", "wrong part")]
    assert odd[0]["ours"]["value"]["mid"] == 13_772_001


@pytest.mark.parametrize("column", ["P100", "V100", "KNL", "Titan"])
def test_p1b3_waits_for_its_data(table: Mapping[str, Any], column: str) -> None:
    assert cell(table, "times", "P1B3", column)["mark"] == "data-bound"


@pytest.mark.parametrize(("column", "printed"), [("A", 68.02), ("B", 200.7)])
def test_the_vendors_ratios_divide_a_data_bound_time_by_one_of_kernels(
    table: Mapping[str, Any], column: str, printed: float
) -> None:
    ratio = cell(table, "ratios", "P1B3", column)
    assert ratio["mark"] == "data-bound"
    assert ratio["ours"]["value"]["mid"] == pytest.approx(printed, abs=0.05)
    assert ratio["like_with_like"]["value"]["mid"] < 0.2 * printed


@pytest.mark.parametrize("row", ["NT3", "TC1"])
def test_networks_that_compute_are_predicted_on_v100_within_a_quarter(table: Mapping[str, Any], row: str) -> None:
    assert cell(table, "times", row, "V100")["mark"] == "reproduced"


def test_their_geometric_mean_on_p100_is_predicted_within_a_quarter(table: Mapping[str, Any]) -> None:
    marks = {c["on"]: c["mark"] for c in table["printed"]["like rows"]}
    assert marks["P100"] == marks["V100"] == "reproduced"


def test_the_p100_contradicts_itself(table: Mapping[str, Any]) -> None:
    actual = {c["on"]: str(c["reason"]) for c in table["printed"]["like rows"]}
    assert "518 ms and 352 ms a step, which contradict each other, 1.47 to 1" in actual["P100"]
    assert all("agree within" in actual[column] for column in ("V100", "KNL", "Titan"))
