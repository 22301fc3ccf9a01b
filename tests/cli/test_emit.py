"""One result, two readers: exactly one JSON document for programs, a text for people, never both."""

import json
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from estimator.cli import terminal
from estimator.cli.emit import emit

DOCUMENT = {"step_s": 1.5, "name": "é [b]", "ops": [{"flop": np.float64(2)}], "missing": float("nan"), "none": pd.NA}


def render(document: Mapping[str, Any]) -> None:
    sys.stdout.write(f"a step of {document['step_s']} s\n")
    terminal.print_notes(["a note"])


def refuse(document: Mapping[str, Any]) -> None:
    raise AssertionError("a program got what is for people")


def test_programs_get_one_document_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    emit(DOCUMENT, refuse, True)
    printed = capsys.readouterr()
    document = {"step_s": 1.5, "name": "é [b]", "ops": [{"flop": 2.0}], "missing": None, "none": None}
    assert json.loads(printed.out) == document
    assert "é [b]" in printed.out
    assert printed.out.endswith("}\n")
    assert printed.err == ""


def test_people_get_what_is_rendered_and_notes_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    emit(DOCUMENT, render, False)
    printed = capsys.readouterr()
    assert printed.out == "a step of 1.5 s\n"
    assert printed.err == "note: a note\n"


def test_the_renderer_gets_the_document_itself() -> None:
    received: list[Mapping[str, Any]] = []
    emit(DOCUMENT, received.append, False)
    assert received[0] is DOCUMENT


def test_a_document_at_fault_prints_no_half_of_itself(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken(dict[str, Any]):
        def items(self) -> Any:
            yield "first", 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        emit(Broken(), refuse, True)
    assert capsys.readouterr().out == ""
