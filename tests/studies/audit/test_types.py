"""The types of an audit: a step that a time implies, and what is looked up of a table."""

import pytest

from estimator.core.types import Interval
from estimator.studies.audit.types import ImpliedStep
from tests.studies.audit.tables import AUDIT


@pytest.mark.parametrize(("time_s", "holds"), [(0.9, False), (1.0, True), (1.5, True), (2.0, True), (2.1, False)])
def test_an_interval_holds_its_ends(time_s: float, holds: bool) -> None:
    assert ImpliedStep(time_s, predicted=Interval(1.0, 1.5, 2.0, 0.9, "all")).holds == holds


def test_without_an_interval_nothing_is_held() -> None:
    assert ImpliedStep(1.0).holds is None
    assert ImpliedStep(1.0, predicted=Interval(None, 1.0, None, 0.9, "all")).holds is None


def test_a_cell_has_the_numbers_of_one_kind_in_a_row_and_column() -> None:
    assert [number.quantity for number in AUDIT.cell("counts", "A")] == ["batch size", "parameters"]
    assert [number.mark for number in AUDIT.cell("times", "A", "new")] == ["data-bound"]
    assert [AUDIT.cell(*place) for place in (("times", "A"), ("times", "A", "old"), ("peaks", "A", "new"))] == [
        [],
        [],
        [],
    ]


def test_findings_contradict_the_table_or_compare_like_rows() -> None:
    """Times depend on the predictions, and are shown apart."""
    assert [number.quantity for number in AUDIT.findings()] == ["parameters", "step of A and B"]


def test_marks_are_counted_by_kind() -> None:
    counts = AUDIT.count_marks()
    assert counts["wrong part"] == {"peaks": 0, "counts": 1, "means": 0, "ratios": 0, "like rows": 0, "times": 0}
    assert sum(counts["reproduced"].values()) == 6
    assert sum(sum(of_kinds.values()) for of_kinds in counts.values()) == 9
