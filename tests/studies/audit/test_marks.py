import pytest

from estimator.core.errors import EstimatorError
from estimator.studies.audit.marks import agreement, agrees, mark_time, meanings, statements
from estimator.studies.audit.printed import read_printed
from estimator.studies.audit.table import Row, Rules


@pytest.mark.parametrize(
    ("printed", "ours", "mark"),
    [
        ("4.4x", 4.447, "reproduced"),
        ("2.9x", 2.966, "rounding"),  # cut off
        ("2.9x", 3.001, "cannot be told"),
        ("0.60", 0.6049, "reproduced"),
        ("0.6", 0.649, "reproduced"),  # fewer digits say less
        ("~200x", 200.7, "rounding"),
        ("6.2x", 6.25, "reproduced"),  # the very half
    ],
)
def test_agreement_by_the_last_printed_digit(printed: str, ours: float, mark: str) -> None:
    assert agreement(read_printed(printed, "1"), ours) == mark
    assert agrees(read_printed(printed, "1"), ours) == (mark != "cannot be told")


@pytest.mark.parametrize(
    ("printed", "ours", "mark"),
    [
        ("100 s", 75.0, "reproduced"),
        ("100 s", 125.0, "reproduced"),
        ("100 s", 74.9, "cannot be told"),
        ("2 s", 1.1, "rounding"),  # whole seconds tell no more
        ("2 s", 0.9, "cannot be told"),
    ],
)
def test_agreement_within_the_tolerance(printed: str, ours: float, mark: str) -> None:
    assert agreement(read_printed(printed, "s"), ours, 0.25) == mark


def row(printed: str = "100 s", busy: str | None = None, mark: str | None = None) -> Row:
    stated = [{"of": "new", "reason": "so the study states", **({"mark": mark} if mark else {})}]
    return Row.model_validate(
        {"profile": "p", "times": {"new": printed}, "busy": {"new": busy} if busy else {}, "stated": stated}
    )


def test_a_slow_time_is_data_bound_only_for_a_reason() -> None:
    assert mark_time(row(), "new", 10.0, Rules()) == "cannot be told"
    assert mark_time(row(mark="data-bound"), "new", 10.0, Rules()) == "data-bound"
    assert mark_time(row(busy="5 %"), "new", 10.0, Rules()) == "data-bound"
    assert mark_time(row(busy="90 %"), "new", 10.0, Rules()) == "cannot be told"
    assert mark_time(row("[100 s]", busy="5 %"), "new", 10.0, Rules()) == "cannot be told"  # an estimate cannot wait
    assert mark_time(row(busy="5 %"), "new", 10.0, Rules(data_bound=11)) == "cannot be told"


@pytest.mark.parametrize(
    ("mark", "ours", "busy", "words"),
    [
        (
            "data-bound",
            50.0,
            None,
            "is stated to be 'data-bound', but the numbers make it 'cannot be told': printed 100",
        ),
        ("data-bound", 10.0, "90 %", "10 times the predicted 10 s, the device busy for 90 % of the time"),
        ("data-bound", None, None, "nothing is predicted"),
        ("cannot be told", 99.0, None, "the numbers make it 'reproduced'"),
        ("reproduced", 50.0, None, "the numbers make it 'cannot be told'"),
        ("wrong precision", 99.0, None, "the numbers make it 'reproduced'"),
    ],
)
def test_a_stated_mark_that_the_numbers_contradict_is_an_error(
    mark: str, ours: float | None, busy: str | None, words: str
) -> None:
    with pytest.raises(EstimatorError) as caught:
        mark_time(row(busy=busy, mark=mark), "new", ours, Rules())
    assert words in str(caught.value)


def test_statements_are_selected_by_column() -> None:
    assert [entry.reason for entry in statements(row(), "new")] == ["so the study states"]
    assert not statements(row(), "old")


def test_the_meanings_name_the_rules() -> None:
    meaning = meanings(Rules(reproduced=0.1, data_bound=7, busy=0.2))
    assert "10 %" in meaning["reproduced"]
    assert "7 times" in meaning["data-bound"]
    assert "20 %" in meaning["data-bound"]
