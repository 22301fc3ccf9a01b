"""The shipped studies against the figures that the lecture prints (Learning Systems 2018, Lecture 10)."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from estimator.core.interval import summarise
from estimator.core.types import StudyResult

Shipped = Callable[[str], StudyResult]


@pytest.fixture(scope="module")
def table(shipped_study: Shipped) -> Mapping[str, Any]:
    """The audit of the lecture's table, as programs read it."""
    (appendix,) = shipped_study("lecture-table").appendices
    return appendix.document


def test_the_figure_of_merit_example(shipped_study: Shipped) -> None:
    result = shipped_study("lecture-example")
    found = summarise(result.foms["machine-a"].samples)
    assert (found.low, found.high) == (None, None)
    assert found.mid == pytest.approx(229125 / 2774, rel=1e-14)
    assert round(found.mid, 4) == 82.5973
    assert result.foms["machine-a"].dominant_unit == "P1"


def test_the_ratios_of_the_slide(shipped_study: Shipped) -> None:
    chains = shipped_study("lecture-example").chains
    ratios = [chains["machine-a", unit]["ratio"].samples[0] for unit in ("P1", "P2", "P3")]
    assert ratios == pytest.approx([75.4495, 60.3596, 241.4384], abs=5e-5)


def test_other_definitions_are_other_numbers(shipped_study: Shipped) -> None:
    found = shipped_study("lecture-example").foms["machine-a"].other_definitions
    assert found["harmonic mean of the ratios"] == pytest.approx(88.331, abs=5e-4)
    assert found["geometric mean of the ratios"] == pytest.approx(103.213, abs=5e-4)
    assert found["arithmetic mean of the ratios"] == pytest.approx(125.749, abs=5e-4)
    assert found["minimum mean of the ratios"] == pytest.approx(60.360, abs=5e-4)


def test_the_report_explains_the_slides_figure(shipped_study: Shipped) -> None:
    (entry,) = shipped_study("lecture-example").comparisons
    assert entry.printed == 82.599
    assert entry.with_their_rates == pytest.approx(82.5990, abs=5e-5)
    assert "7475" in str(entry.reason)


def test_13_8_of_a_gpu_is_20_4_of_a_machine(shipped_study: Shipped) -> None:
    """The slide names no level: per GPU its two numbers agree, per node they do not."""
    chains = shipped_study("lecture-kpp").chains
    summit, by_nodes = (chains[name, "the code"] for name in ("summit", "summit-by-nodes"))
    levels = ("ratio_worker", "ratio_node", "ratio")
    assert [summit[name].samples[0] for name in levels] == pytest.approx([13.8, 6 * 13.8, 13.8 * 27648 / 18688])
    assert f"{summit['ratio'].samples[0]:.1f}" == "20.4"
    assert [summit[name].level for name in levels] == ["device", "node", "system"]
    assert f"{by_nodes['ratio'].samples[0]:.2f}" == "3.40"


@pytest.mark.parametrize(
    ("on", "implied_ms"), [("titan", 401), ("p100-pcie-16gb", 340), ("summit", 665), ("xeon-phi-7250", 812)]
)
def test_the_printed_p1b3_times_are_slower_than_the_profiled_step(
    on: str, implied_ms: float, shipped_study: Shipped
) -> None:
    """287 ms on x86: no device that is slower than that was held back by its arithmetic."""
    result = shipped_study("candle-fom")
    (entry,) = (c for c in result.comparisons if c.on == on)
    assert entry.implied_step_s is not None
    assert 1e3 * entry.implied_step_s == pytest.approx(implied_ms, abs=0.6)
    assert entry.implied_step_s > result.estimates["titan", "P1B3"].source_step_s
    assert "Data-bound" in str(entry.reason)


def test_the_p1b3_study_covers_the_machines_and_names_levels(shipped_study: Shipped) -> None:
    result = shipped_study("candle-fom")
    assert list(result.foms) == ["summit", "frontier", "aurora", "machine-a"]
    summit = result.chains["summit", "P1B3"]
    assert summit["steps_per_epoch"].samples[0] == 9001
    per_device, per_node, system = (summit[name].samples[0] for name in ("ratio_worker", "ratio_node", "ratio"))
    assert per_node == pytest.approx(6 * per_device)
    assert system == pytest.approx(per_device * 27648 / 18688)  # 27,648 GPUs over 18,688
    assert all(estimate.matrix_step_s[0] < estimate.step.total[0] for estimate in result.estimates.values())


def cell(table: Mapping[str, Any], kind: str, row: str | None, column: str | None) -> dict[str, Any]:
    (number,) = (c for c in table["printed"][kind] if (c["unit"], c["on"]) == (row, column))
    return dict(number)


def test_every_number_of_the_table_is_audited(table: Mapping[str, Any]) -> None:
    """11 rows with two counts, 4 times and 3 ratios; 5 more times and ratios of vendors; peaks and means."""
    expected = {"peaks": 5, "counts": 22, "means": 6, "ratios": 33 + 5, "like rows": 4, "times": 44 + 5}
    assert {kind: len(found) for kind, found in table["printed"].items()} == expected
    assert all(c["mark"] in table["marks"] for found in table["printed"].values() for c in found)
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
    found = {c["on"]: str(c["reason"]) for c in table["printed"]["like rows"]}
    assert "518 ms and 352 ms a step, which contradict each other, 1.47 to 1" in found["P100"]
    assert all("agree within" in found[column] for column in ("V100", "KNL", "Titan"))
