"""What ``estimator validate`` prints."""

import re
from functools import partial
from typing import Any

import pytest

from estimator.cli.render.validate import render_validate
from estimator.validation.tables import KEYS
from tests.cli.command_line import printed, read, run

WORDS = ("validate", "--problem", "gemm")


@pytest.fixture(scope="module")
def document() -> Any:
    return read(*WORDS)


def test_people_read_what_programs_get(document: Any) -> None:
    assert printed(partial(render_validate, document)) == run(*WORDS)


def test_figures_are_those_of_the_document(document: Any) -> None:
    shown = printed(partial(render_validate, document), columns=200).stdout
    overall = next(row for row in document["held_out"] if not any(row[key] for key in KEYS))
    line = next(line for line in shown.splitlines() if line.startswith("all "))
    figures = [f"{overall[name]:.1f}" for name in ("median", "mean", "p90", "max", "bias")]
    assert line.split()[3:8] == figures
    assert re.search(r"^family \w+ ", shown, re.MULTILINE)
    assert re.search(r"^neusight-linear on \S+ ", shown, re.MULTILINE)


def test_methods_that_a_narrow_terminal_hides_are_counted(document: Any) -> None:
    shown = printed(partial(render_validate, document), columns=80).stdout
    title, *_ = [line for line in shown.splitlines() if line.startswith("Median / mean error")]
    assert "3 more methods in a wider terminal, or by --json" in title
    assert max(map(len, shown.splitlines())) <= 80
    assert "more methods" not in printed(partial(render_validate, document), columns=200).stdout


def test_the_worst_rows_and_the_notes_of_a_judgement(document: Any) -> None:
    row = {"data_set": "set", "device": "toy", "precision": "fp32", "shape": "m 4", "measured_s": 2e-3}
    worst = {"gemm": [{**row, "predicted_s": 1e-3}]}
    judged = {**document, "data": "public", "worst": worst, "notes": ["a note"]}
    output = printed(partial(render_validate, judged))
    assert output.stdout.startswith("Judged on public\n")
    assert "set toy fp32 m 4 2.000 ms 1.000 ms 0.5" in [" ".join(line.split()) for line in output.stdout.splitlines()]
    assert output.stderr == "note: a note\n"


def test_the_worst_rows_of_memory_are_in_bytes(document: Any) -> None:
    row = {"data_set": "set", "device": "toy", "precision": "fp32", "shape": "net", "measured_bytes": 2e9}
    judged = {**document, "data": "public", "worst": {"gemm": [{**row, "predicted_bytes": 1e9}]}, "notes": []}
    lines = [" ".join(line.split()) for line in printed(partial(render_validate, judged)).stdout.splitlines()]
    assert "set toy fp32 net 2.000 GB 1.000 GB 0.5" in lines
