"""What ``estimator estimate`` prints."""

from functools import partial

import pytest

from estimator.cli.render.estimate import render_estimate
from estimator.reports.summaries import OPS_SHOWN
from tests.cli.command_line import printed, read, run

INFERENCE = ("estimate", "nt3", "--to", "v100", "--batch", "64", "--mode", "inference")


@pytest.mark.slow
@pytest.mark.parametrize("words", [("estimate", "p1b3", "--to", "k20x"), INFERENCE])
def test_people_read_what_programs_get(words: tuple[str, ...]) -> None:
    assert printed(partial(render_estimate, read(*words))) == run(*words)


def test_a_summary_splits_no_word() -> None:
    shown = run("estimate", "p1b3", "--to", "v100", columns=80).stdout
    assert {"elementwise", "interpolated", "unmodelled"} <= set(shown.split())
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.slow
def test_another_run_than_the_profiled_one_has_no_speedup() -> None:
    shown = run(*INFERENCE).stdout
    assert "inference, batch 64" in shown
    assert "speedup" not in shown


def test_the_longest_ops_are_shown() -> None:
    shown = run("estimate", "nt3", "--to", "v100").stdout.splitlines()
    start = next(place for place, line in enumerate(shown) if line.startswith("Ops by time"))
    assert len(shown) - start - 2 == OPS_SHOWN


def test_assumptions_and_warnings_are_notes_on_stderr() -> None:
    document = read("estimate", "p1b3", "--to", "v100")
    notes = run("estimate", "p1b3", "--to", "v100").stderr.splitlines()
    assert notes == [f"note: {sentence}" for sentence in (*document["assumptions"], *document["warnings"])]
