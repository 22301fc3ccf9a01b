"""Sentences that commands share."""

from estimator.cli.render import text


def test_assumptions_are_counted_once() -> None:
    note = "2 assumptions lie behind these figures; 'estimator report' lists them"
    assert text.assumptions_note(["a", "b", "a"], "report") == note
