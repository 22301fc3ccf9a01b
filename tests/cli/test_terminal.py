"""Tables at any width: no word is split while there is room for it, and no number ever is."""

import io
import os
import pty
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.cli import terminal
from estimator.reports.summaries import TextTable
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


def test_headings_stand_right_above_their_columns_and_marks_beside_them(capsys: pytest.CaptureFixture[str]) -> None:
    table = terminal.new_table("A table", "name", "rate\nGB/s", right=("rate\nGB/s",))
    table.add_row("a", "1.5?")
    table.add_row("b", "10 ")
    table.add_row("c", None)
    terminal.print_table(table)
    assert capsys.readouterr().out.splitlines() == [
        "A table",
        "      rate",
        "name  GB/s",
        "a     1.5?",
        "b      10",
        "c",
    ]


@pytest.mark.parametrize(
    ("term", "no_colour", "expected"),
    [
        ("xterm", False, "\x1b[1mA\x1b[0m b\n\x1b[36mnote: \x1b[0mc\n"),
        ("xterm", True, "A b\nnote: c\n"),
        ("dumb", False, "A b\nnote: c\n"),
    ],
)
def test_a_terminal_shows_styles(monkeypatch: pytest.MonkeyPatch, term: str, no_colour: bool, expected: str) -> None:
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setenv("TERM", term)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_colour:
        monkeypatch.setenv("NO_COLOR", "1")
    terminal.console().print(terminal.Text("A", "bold"), "b")
    terminal.print_notes(["c"])
    assert out.getvalue() == expected


@pytest.mark.slow
@pytest.mark.parametrize("words", [("estimate", "p1b3", "--to", "v100"), ("devices", "--help"), ("sweep", "p1b3")])
@pytest.mark.parametrize("no_colour", ["1", ""])
def test_no_colour_leaves_no_escape_in_a_terminal(words: tuple[str, ...], no_colour: str) -> None:
    """An empty NO_COLOR forbids nothing (no-color.org)."""
    main_end, process_end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "NO_COLOR": no_colour}
    command = [sys.executable, "-m", "estimator", *words]
    with subprocess.Popen(command, stdout=process_end, stderr=process_end, env=environment):
        os.close(process_end)
        shown = b"".join(iter(lambda: _read_from(main_end), b""))
    os.close(main_end)
    assert shown
    assert (b"\x1b" in shown) == (words[0] == "estimate" and not no_colour)


def _read_from(terminal_end: int) -> bytes:
    try:
        return os.read(terminal_end, 1 << 16)
    except OSError:  # the process has ended
        return b""


def test_a_table_fits_its_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    table = terminal.new_table(
        "", "name", "time", "FLOP", "bytes", right=("time", "FLOP", "bytes"), spare=("FLOP", "bytes")
    )
    table.add_row("a" * 500 + "b" * 500, "123.4 us", "12,345,678 FLOP", "987,654,321 B")
    terminal.print_table(table)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 60
    assert "aa…bb" in shown
    assert "FLOP" in shown
    assert "bytes" not in shown


@pytest.mark.parametrize(("columns", "room"), [(11, True), (10, False)])
def test_a_table_has_room_where_no_column_folds_or_is_left_out(
    columns: int, room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert terminal.has_room(TextTable("a long title", ("a", "b"), [["1 2 3", "four"]], spare=("b",))) == room


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (45, ["name  long wide heading      rate       more", "it    2.000 (1.000 – 3.000)  4 (3 – 5)  words"]),
        (44, ["          long wide", "name        heading  rate  more", "it            2.000     4  words",
              "      1.000 – 3.000"]),
    ],
)  # fmt: skip
def test_intervals_stand_below_their_numbers_where_they_have_no_room(
    columns: int, lines: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    headings, cells = (
        ("name", "long wide heading", "rate", "more"),
        ("it", "2.000 (1.000 – 3.000)", "4 (3 – 5)", "words"),
    )
    terminal.print_summary(TextTable("", headings, [cells], stacks=("long wide heading",), drops=("rate",)))
    assert capsys.readouterr().out.splitlines() == lines


def test_a_table_is_as_wide_as_its_columns_and_the_gaps_between_them() -> None:
    assert terminal.table_width([4, 3]) == 9


def test_notes_are_one_line_each_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_notes(["a [bold] word", "x" * 300])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"note: a [bold] word\nnote: {'x' * 300}\n"


@pytest.mark.parametrize(
    ("word", "shown"),
    [("a" * 72, "a" * 72), ("a" * 40 + "b" * 40, "a" * 36 + "…" + "b" * 35), ("/a" * 40, "/a" * 40),
     ("'./" + "a" * 80, "'./" + "a" * 80)],
)  # fmt: skip
def test_notes_to_people_have_short_names_and_whole_paths(
    monkeypatch: pytest.MonkeyPatch, word: str, shown: str
) -> None:
    errors = Terminal()
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    terminal.print_notes([f"ops (such as {word}) differ"])
    assert errors.getvalue() == f"note: ops (such as {shown}) differ\n"


@pytest.mark.parametrize(
    ("is_terminal", "as_json", "no_colour", "shown"),
    [(True, False, "", True), (True, True, "", False), (False, False, "", False), (True, False, "1", False)],
)
def test_progress_is_shown_on_a_terminal_to_people_alone(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, as_json: bool, no_colour: str, shown: bool
) -> None:
    errors = Terminal() if is_terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", no_colour)
    with terminal.progress("shapes", as_json) as progress:
        progress(1, 2)
        progress(2, 2)
    assert ("2/2" in errors.getvalue()) == shown
