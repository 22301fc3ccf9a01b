"""The program in a process of its own: its progress, and what its end means."""

import sys
from pathlib import Path

import pytest

from estimator.collect.measure import child
from estimator.collect.measure.program import program
from estimator.core.errors import EstimatorError


def run(source: str) -> list[tuple[int, int]]:
    """The progress that a program of this source reports."""
    progress = list[tuple[int, int]]()
    child._run([sys.executable, "-S", "-c", source], lambda done, total: progress.append((done, total)))
    return progress


def test_lines_that_begin_with_a_count_are_progress() -> None:
    assert run("print('4 shapes'); print('1/4 gemm 3 ms'); print('2/4 add'); print('of 3/4 none')") == [(1, 4), (2, 4)]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("sys.exit('first line\\nshapes.csv: row 1: add n')", "estimator measure: shapes.csv: row 1: add n"),
        ("os._exit(9)", "the measuring process ended with 9: without a word"),
        ("1 / 0", "the measuring process ended with 1: ZeroDivisionError: division by zero"),
    ],
)
def test_a_failure_is_reported_by_the_last_line(source: str, message: str) -> None:
    with pytest.raises(EstimatorError) as caught:
        run(f"import os, sys\n{source}")
    assert message in str(caught.value)


def test_a_program_that_was_interrupted_interrupts() -> None:
    with pytest.raises(KeyboardInterrupt):
        run("raise SystemExit(130)")


def test_ctrl_c_stops_the_program() -> None:
    """Pressed when the first shape is done, of a program that would run for a minute."""

    def press(done: int, total: int) -> None:
        raise KeyboardInterrupt

    waits = "import time; print('1/2 add', flush=True); time.sleep(60)"
    with pytest.raises(KeyboardInterrupt):
        child._run([sys.executable, "-S", "-c", waits], press)


def test_the_program_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = list[str]()
    monkeypatch.setattr(child, "_run", lambda command, progress: texts.append(Path(command[1]).read_text()))
    child.run(["--budget", "1"], lambda done, total: None)
    assert texts == [program()]
