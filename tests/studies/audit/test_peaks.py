import pytest

from estimator.studies.audit.peaks import check_peaks, peak_ratios
from tests.conftest import make_device
from tests.studies.audit.tables import NEW, OLD, toy_row, toy_table

ROWS = {"A": toy_row("2 s", "1 s", "2x")}


@pytest.mark.parametrize(
    ("printed", "mark", "words"),
    [
        ("2.5x", "reproduced", "fp32 of new-device over fp32 of old-device is 10 TFLOP/s / 4 TFLOP/s = 2.5"),
        ("2.4x", "rounding", "= 2.5"),
        ("1.25x", "wrong precision", "fp64 of new-device over fp32 of old-device is 5 TFLOP/s / 4 TFLOP/s = 1.25"),
        ("5.0x", "wrong precision", "fp64 of new-device over fp64 of old-device"),
        ("7.7x", "cannot be told", "= 2.5"),
    ],
)
def test_a_peak_is_that_of_the_runs_precision_or_of_others(printed: str, mark: str, words: str) -> None:
    (checked,) = check_peaks("t", toy_table(ROWS, peak=printed), {"old": [OLD], "new": [NEW]})
    assert (checked.mark, checked.ours and checked.ours.samples[0]) == (mark, 2.5)
    assert words in str(checked.reason)
    assert ("fp32 over fp32 is 2.5" in str(checked.reason)) == (mark == "wrong precision")


def test_either_of_the_devices_that_a_column_may_be_can_have_the_peak() -> None:
    other = make_device(name="other-device", peak={"fp32": "12 TFLOP/s"})
    (checked,) = check_peaks("t", toy_table(ROWS, peak="3.0x"), {"old": [OLD], "new": [NEW, other]})
    assert checked.mark == "reproduced"
    assert "other-device" in str(checked.reason)
    assert [number.id for number in checked.numbers] == [
        "t/new/peak/other-device", "t/new/peak/old-device", "t/new/peak",
    ]  # fmt: skip


def test_a_peak_without_the_precision_of_the_runs_is_not_checked() -> None:
    double = make_device(name="double-device", peak={"fp64": "12 TFLOP/s"})
    assert not list(check_peaks("t", toy_table(ROWS, peak="3.0x"), {"old": [OLD], "new": [double]}))


def test_ratios_are_over_the_likeliest_baseline_alone() -> None:
    ratios = peak_ratios([NEW], [OLD, NEW])
    assert {ratio.under for ratio in ratios} == {"old-device"}
    assert {ratio.precisions: ratio.value for ratio in ratios} == {
        ("fp64", "fp64"): 5, ("fp64", "fp32"): 1.25, ("fp32", "fp64"): 10, ("fp32", "fp32"): 2.5,
    }  # fmt: skip
