"""Tables at any width: no word is split while there is room for it, and no number ever is."""

import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.cli import terminal

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
