"""Sentences that commands share."""

from estimator.cli.render import text


def test_assumptions_are_counted_once() -> None:
    note = "2 assumptions lie behind these figures; 'estimator report' lists them"
    assert text.assumption_notes(["a", "b", "a"], "report", []) == [note]


def test_what_the_input_leaves_open_is_listed_and_the_rest_counted() -> None:
    note = "1 more assumption lies behind these figures; 'estimator report' lists them"
    assert text.assumption_notes(["a", "b"], "report", ["b", "b"]) == ["b", note]
    assert text.assumption_notes(["b"], "report", ["b"]) == ["b"]
    assert text.assumption_notes([], "report", []) == []
