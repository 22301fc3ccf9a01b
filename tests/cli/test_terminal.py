"""Tables at any width: no word is split while there is room for it, and no number ever is."""

import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.cli import terminal
from tests.cli.command_line import Terminal

WORDS = ("elementwise", "interpolated", "matrix products alone", "v100-sxm2-16gb")


@given(st.integers(60, 160))
def test_words_stay_whole_wherever_they_fit(width: int) -> None:
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        patch.setattr(sys, "stdout", out)
        table = terminal.new_table("", "name", "what it is", "of what", "on what", "time", right=("time",))
        table.add_row("a name", *WORDS[1:], "123.4 us")
        table.add_row("b", WORDS[0], "", "", "1.2 us")
        terminal.print_table(table)
    shown = out.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    assert set(" ".join(WORDS).split()) <= set(shown.split())
    assert "123.4 us" in shown


def test_a_number_is_printed_beyond_the_edge_rather_than_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    table = terminal.new_table("", "name", "first", "second", right=("first", "second"))
    table.add_row("a long name", "123,456,789", "987,654,321")
    terminal.print_table(table)
    assert {"123,456,789", "987,654,321"} <= set(capsys.readouterr().out.split())


def test_widths_are_those_of_the_longest_lines() -> None:
    assert terminal.text_width(["ab\nabcd", "abc"]) == 4
    assert terminal.text_width([]) == 0
    assert terminal.table_width([4, 3]) == 9


def test_notes_are_one_line_each_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_notes(["a [bold] word", "x" * 300])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"note: a [bold] word\nnote: {'x' * 300}\n"


@pytest.mark.parametrize(
    ("is_terminal", "as_json", "shown"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_progress_is_shown_on_a_terminal_to_people_alone(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, as_json: bool, shown: bool
) -> None:
    errors = Terminal() if is_terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setenv("TERM", "xterm")
    with terminal.progress("shapes", as_json) as progress:
        progress(1, 2)
        progress(2, 2)
    assert ("2/2" in errors.getvalue()) == shown
