"""What the docs take from the code: every command, table and device; figures as the shipped files have them."""

import json
from typing import Literal, get_type_hints

import pandas as pd
import pytest

import estimator
from estimator.cli.on_demand import MODULES
from estimator.core import library
from estimator.core.notes import WARNINGS
from estimator.core.operators import COLUMNS, operators
from estimator.core.schema import SHAPES, WORK
from estimator.core.types import DeviceSpec, Network, Sourced
from estimator.studies.study import Machine, Study
from estimator.validation.validate import TITLES
from from_code import accuracy, api, catalogue, commands, gallery, markdown, notes, plots, tables
from from_code.types_of_keys import described, models_in


def lines(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(start)]


def test_a_cell_keeps_marks_as_they_are_but_not_in_code() -> None:
    assert markdown.cell("a|b *c* <d> `e_f`\n ``g_h`` [i]") == r"a\|b \*c* \<d> `e_f` `g_h` \[i]".replace("c*", r"c\*")
    assert markdown.code("a|b") == r"`a\|b`"
    assert markdown.table(["a", "b"], [["c", "1"]], ["b"]).splitlines() == ["| a | b |", "| --- | ---: |", "| c | 1 |"]


def test_every_command_has_its_section_with_options_and_examples() -> None:
    text = commands.markdown()
    assert {f"## estimator {name}" for name in MODULES} <= set(text.splitlines())
    assert "## estimator measurements import" in text
    assert "| `--to DEVICE` | Target device: a shipped name or a path to YAML. \\[required] |" in text
    assert "```bash\nestimator estimate p1b3 --to v100\n" in text


def test_every_table_operator_and_verb_is_there() -> None:
    text = tables.all_tables()
    assert SHAPES.document() in text
    assert WORK.document() in text
    columns, vocabulary = tables.operators().split("## All operators")
    assert [name for name in COLUMNS if f"| `{name}` | " not in columns] == []
    assert len(lines(vocabulary, "| ")) == len(operators()) + 2
    assert {f"## {name}" for name in estimator.__all__ if name[0] != "_"} == set(lines(api.markdown(), "## "))


@pytest.mark.slow
def test_every_code_of_a_note_has_a_meaning_and_a_place() -> None:
    text = notes.markdown()
    assert [name for name in WARNINGS if f"| `{name}` | warning |" not in text] == []
    assert [name for name, actual in notes.places().items() if not actual] == []
    assert "| `rebatch-unknown` | warning | " in text
    assert text.count("`work/rebatch.py`") == 4


def test_every_device_system_and_study_is_there() -> None:
    devices, systems = catalogue.devices(), catalogue.systems()
    assert len(lines(devices, "| `")) == len(library.names("devices", "*.yaml"))
    assert len(lines(systems, "| `")) == len(library.names("devices", "systems/*.yaml"))
    (v100,) = lines(devices, "| `v100-sxm2-16gb`")
    assert v100.split(" | ")[4:7] == ["15.7", "", "125"]
    assert "| `v100-sxm2-16gb` | read |" in catalogue.sources()
    assert len(lines(gallery.markdown(), "## ")) == len(library.names("reports", "*"))


@pytest.mark.slow
def test_errors_are_those_of_the_shipped_table() -> None:
    actual = accuracy.errors()
    rows = accuracy.of_problem(actual, "gemm")
    assert rows.loc["ours", "n"] == 147365
    best = accuracy.best_simple(rows)
    assert best is not None
    assert rows.loc[best, "median"] == rows.drop(index=["ours", "roofline"])["median"].min()
    assert f"| {rows.loc['ours', 'median']:.1f}" in accuracy.overview()
    assert accuracy.best_simple(pd.DataFrame({"median": [1.0, 2.0]}, index=["ours", "roofline"])) is None
    sections = accuracy.problems()
    assert [name for name in set(actual["problem"]) if f"({name})=" not in sections] == []


def test_the_kept_validation_is_of_the_shipped_problems() -> None:
    of_all = [row for row in accuracy.kept()["intervals"] if not {"target", "data_set"} & row.keys()]
    assert {row["problem"] for row in of_all} <= TITLES.keys()
    whole = accuracy.of_problem(accuracy.errors(), "whole").loc["ours", "n"]
    assert next(row["rows"] for row in of_all if row["problem"] == "whole") == whole


@pytest.mark.slow
def test_every_kept_run_has_a_row_and_a_place_in_the_plot() -> None:
    runs = accuracy.read_runs()
    assert len(lines(accuracy.runs(), "| `")) == len(runs) >= 9
    assert json.dumps(sorted(runs)[::-1]) == json.dumps(list(runs))
    for plot in (plots.errors, plots.selftest):
        assert plot() == plot()
        assert plot().startswith("<?xml")


@pytest.mark.slow
def test_a_method_without_a_point_is_drawn_as_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "best_simple", lambda rows: None)
    assert plots.errors().startswith("<?xml")


@pytest.mark.parametrize(
    ("hint", "words", "unit"),
    [
        (str | None, "text", ""),
        (dict[str, int], "by name: whole number", ""),
        (tuple[Network, ...], "list of [Network](#network)", ""),
        (Literal["a", "b"], "`a`, `b`", ""),
    ],
)
def test_types_are_described_in_words(hint: object, words: str, unit: str) -> None:
    assert described(hint) == (words, unit)


def test_units_are_documented() -> None:
    hints = get_type_hints(DeviceSpec, include_extras=True)
    assert described(hints["memory_bandwidth"]) == ("rate with [source](#sourced), as `900 GB/s`", "B/s")
    assert described(get_type_hints(Machine, include_extras=True)["mtbf_node"]) == ("time, as `60 h`", "s")
    named = {model for hint in hints.values() for model in models_in(hint)}
    assert Sourced in named
    assert Network in named
    assert Machine in set(models_in(get_type_hints(Study, include_extras=True)["machines"]))
