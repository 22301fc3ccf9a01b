"""The table of a catalogue fits its terminal; what it hides it says."""

import re

import pytest

from estimator.devices.specs.table.columns import DEVICES, SYSTEMS
from tests.cli.command_line import run


@pytest.mark.parametrize("what", ["devices", "systems"])
@pytest.mark.parametrize("columns", [80, 120, 200])
def test_a_table_fits_its_terminal(what: str, columns: int) -> None:
    title, *lines = run(what, terminal=True, columns=columns).stdout.splitlines()
    names = [subject.name for subject in {"devices": DEVICES, "systems": SYSTEMS}[what].load_all()]
    assert title.split()[0] == str(len(names))
    assert max(map(len, lines)) <= columns
    assert "numbers shown are unverified" in " ".join(lines)
    assert set(names) <= {line.split()[0] for line in lines if line.strip()}  # no row wraps


def test_a_wider_terminal_shows_more() -> None:
    words = ("devices", "--where", "name = h100-sxm5-80gb")
    narrow, wide = (" ".join(run(*words, terminal=True, columns=width).stdout.split()) for width in (80, 200))
    assert "more columns in a wider terminal" in narrow
    assert "ridge bf16" not in narrow
    assert "ridge bf16" in wide


def test_chosen_columns_are_never_cut_short() -> None:
    numbers = ",".join(name for name, column in DEVICES.columns.items() if column.kind != "text")
    words = ("devices", "--where", "name = v100-sxm2-16gb", "--columns", numbers)
    shown = run(*words, terminal=True, columns=80).stdout
    assert "…" not in shown
    assert " 138.9 " in shown
    assert max(map(len, shown.splitlines())) > 80


@pytest.mark.parametrize("words", [("devices",), ("systems", "summit"), ("devices", "--columns", "help")])
def test_output_that_is_no_terminal_is_as_wide_as_columns_says(words: tuple[str, ...]) -> None:
    assert run(*words, columns=90) == run(*words, columns=90, terminal=True)
    assert run(*words, columns=None) == run(*words, columns=160) != run(*words, columns=90)


def test_integers_are_counted_in_operations() -> None:
    shown = run("devices", "--columns", "int8,bf16", "--where", "int8 >= 1 POP/s").stdout
    assert shown.splitlines()[2].split()[1:] == ["TOP/s", "TFLOP/s"]


def test_a_table_without_rows_says_why() -> None:
    assert run("devices", "--where", "year > 3000").stdout.startswith("no devices fit")


def test_the_hint_leads_to_the_columns_and_to_one_in_full() -> None:
    shown = run("systems", columns=200).stdout
    assert re.search(r"'estimator systems --columns help' names .* 'estimator systems NAME' shows one in full", shown)


@pytest.mark.parametrize(
    "words", [("devices",), ("systems",), ("devices", "rubin", "h100-sxm5-80gb"), ("systems", "equinox", "alps")]
)
def test_tables_say_what_is_announced(words: tuple[str, ...]) -> None:
    shown = " ".join(run(*words).stdout.split())
    name = {"devices": "rubin", "systems": "equinox"}[words[0]]
    assert f"{name} (announced)" in shown
    assert "alps (announced)" not in shown


def test_announced_is_a_column() -> None:
    words = ("devices", "--where", "announced = yes", "--columns", "year,announced")
    shown = run(*words).stdout
    assert "rubin (announced)" in shown
    assert "v100" not in shown
