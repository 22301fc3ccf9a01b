"""Check ratios of invented times, and of times made from predictions."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from estimator.core.types import Number
from estimator.studies.audit.marks import agreement
from estimator.studies.audit.ratios import check_ratios
from estimator.studies.audit.types import Cell, CheckedNumber, Mark
from tests.studies.audit.tables import audit_rows, scaled_times, toy_row, toy_table


def kernels_number(column: str, value: float) -> Number:
    return Number(f"kernels/{column}", "kernels", np.array([value]), "s", "device", "given")


def check(
    printed: Mapping[str, str], kernels: Mapping[str, float], ratio: str, device_mark: Mark = "reproduced"
) -> CheckedNumber:
    """The ratio of a row of two printed times, of which the kernels of some are known; an epoch is of one step."""
    table = toy_table({"A": toy_row(printed["old"], printed["new"], ratio)})
    numbers = {column: kernels_number(column, value) for column, value in kernels.items()}
    marks: dict[str, Mark] = {"old": "reproduced", "new": device_mark}
    times: dict[Cell, CheckedNumber] = {
        ("A", column): CheckedNumber("time per epoch", "A", column, time, numbers.get(column), marks[column], None)
        for column, time in table.rows["A"].times.items()
    }
    (checked,) = check_ratios("t", table, times, {("A", column): number for column, number in numbers.items()})
    return checked


@pytest.mark.parametrize(("ratio", "mark"), [("4.0x", "reproduced"), ("5x", "rounding"), ("9x", "cannot be told")])
def test_a_ratio_is_checked_by_the_printed_times(ratio: str, mark: str) -> None:
    checked = check({"old": "8 s", "new": "2 s"}, {"old": 8, "new": 2}, ratio)
    assert checked.mark == mark == agreement(checked.printed, 4.0)
    assert checked.ours is not None
    assert (checked.ours.samples[0], checked.ours.inputs) == (4, ("t/A/old/printed", "t/A/new/printed"))
    assert checked.reason == "8 s / 2 s = 4; like with like, of predicted kernels alone, it would be 4"
    assert [number.id for number in checked.numbers] == [
        "t/A/new/ratio/printed", "t/A/new/ratio/like_with_like", "t/A/new/ratio",
    ]  # fmt: skip


@pytest.mark.parametrize(("ratio", "mark"), [("4.0x", "data-bound"), ("9x", "cannot be told")])
def test_a_ratio_with_a_data_bound_time_is_data_bound_where_it_follows(ratio: str, mark: str) -> None:
    assert check({"old": "8 s", "new": "2 s"}, {"old": 8, "new": 2}, ratio, device_mark="data-bound").mark == mark


def test_times_of_different_slowdown_are_called_unlike() -> None:
    reason = str(check({"old": "24 s", "new": "2 s"}, {"old": 8, "new": 2}, "12x").reason)
    assert "unlike is divided by unlike: 24 s is 3 times its predicted kernels and 2 s is 1 times" in reason
    assert "old's predicted 8.00 s over the printed 2 s is 4" in reason
    other_way = str(check({"old": "8 s", "new": "6 s"}, {"old": 8, "new": 2}, "1.3x").reason)
    assert "unlike is divided by unlike" in other_way
    assert "old's predicted" not in other_way
    assert "unlike" not in str(check({"old": "24 s", "new": "6 s"}, {"old": 8, "new": 2}, "4x").reason)


def test_a_slow_time_over_that_of_an_unknown_device() -> None:
    checked = check({"old": "24 s", "new": "2 s"}, {"old": 8}, "12x")
    assert checked.reason == (
        "24 s / 2 s = 12; 24 s is 3 times its predicted kernels, and nothing is known of new's; "
        "old's predicted 8.00 s over the printed 2 s is 4"
    )
    assert checked.like_with_like is not None
    assert checked.like_with_like.samples[0] == 4
    assert "over the printed time" in checked.like_with_like.label


def test_without_predicted_kernels_only_the_printed_times_are_divided() -> None:
    checked = check({"old": "24 s", "new": "2 s"}, {}, "12x")
    assert (checked.reason, checked.like_with_like) == ("24 s / 2 s = 12", None)
    assert len(checked.numbers) == 2


@pytest.mark.slow
def test_a_ratio_of_unlike_times_beside_like_with_like(tmp_path: Path, kernels: Mapping[str, float]) -> None:
    ratio = 50 * kernels["old"] / kernels["new"]
    stated = [{"of": "old", "mark": "data-bound", "reason": "it waits"}]
    audit = audit_rows(tmp_path, scaled_times(kernels, 50, 1), f"{ratio:.3f}x", stated=stated)
    (checked,) = audit.cell("ratios", "A", "new")
    assert checked.mark == "data-bound"
    assert checked.ours is not None
    assert checked.ours.samples[0] == pytest.approx(ratio, rel=1e-5)
    assert checked.like_with_like is not None
    assert checked.like_with_like.samples[0] == pytest.approx(ratio / 50)
    assert f"it would be {ratio / 50:.3g}" in str(checked.reason)
