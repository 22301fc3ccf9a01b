"""The shipped studies against the figures that the lecture prints (Learning Systems 2018, Lecture 10)."""

from collections.abc import Callable

import pytest

from estimator.core.interval import summarise
from estimator.core.types import StudyResult

Shipped = Callable[[str], StudyResult]


def test_the_figure_of_merit_example(shipped_study: Shipped) -> None:
    result = shipped_study("lecture-example")
    actual = summarise(result.foms["machine-a"].samples)
    assert (actual.low, actual.high) == (None, None)
    assert actual.mid == pytest.approx(229125 / 2774, rel=1e-14)
    assert round(actual.mid, 4) == 82.5973
    assert result.foms["machine-a"].dominant_unit == "P1"


def test_the_ratios_of_the_slide(shipped_study: Shipped) -> None:
    chains = shipped_study("lecture-example").chains
    ratios = [chains["machine-a", unit]["ratio"].samples[0] for unit in ("P1", "P2", "P3")]
    assert ratios == pytest.approx([75.4495, 60.3596, 241.4384], abs=5e-5)


def test_other_definitions_are_other_numbers(shipped_study: Shipped) -> None:
    actual = shipped_study("lecture-example").foms["machine-a"].other_definitions
    assert actual["harmonic mean of the ratios"] == pytest.approx(88.331, abs=5e-4)
    assert actual["geometric mean of the ratios"] == pytest.approx(103.213, abs=5e-4)
    assert actual["arithmetic mean of the ratios"] == pytest.approx(125.749, abs=5e-4)
    assert actual["minimum mean of the ratios"] == pytest.approx(60.360, abs=5e-4)


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
