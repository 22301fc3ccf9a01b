"""What ``estimator sweep`` prints."""

from functools import partial

import pytest

from estimator.cli.render.sweep import render_sweep
from tests.cli.command_line import printed, read, run

WORDS = ("sweep", "p1b3", "--to", "v100", "--batch", "100", "--batch", "20000", "--batch", "80000")


@pytest.mark.slow
def test_people_read_what_programs_get() -> None:
    shown = run(*WORDS)
    assert printed(partial(render_sweep, read(*WORDS))) == shown
    assert "100 *" in shown.stdout
    assert "beyond batch 20000 throughput gains less than 10 % per doubling" in shown.stdout
    assert "DAWNBench" in shown.stderr
    assert max(map(len, shown.stdout.splitlines())) <= 120


@pytest.mark.slow
def test_in_a_narrow_terminal_intervals_stand_below_their_numbers() -> None:
    shown = printed(partial(render_sweep, read(*WORDS)), columns=80).stdout.splitlines()
    assert max(map(len, shown)) <= 80
    assert shown[1].split()[:4] == ["batch", "step", "time", "samples/s"]
    assert " – " in shown[3]
    assert len(shown[3].split()) == 3  # the interval of the step alone
