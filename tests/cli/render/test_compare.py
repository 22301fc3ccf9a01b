"""What ``estimator compare`` prints."""

import re
from functools import partial

import pytest

from estimator.cli.render.compare import render_compare
from tests.cli.command_line import printed, read, run

WORDS = ("compare", "p1b3", "--to", "v100", "--to", "a100")
INFERENCE = ("compare", "nt3", "--to", "v100", "--batch", "40", "--mode", "inference")


@pytest.mark.slow
def test_people_read_what_programs_get() -> None:
    assert printed(partial(render_compare, read(*WORDS))) == run(*WORDS)


def test_a_device_name_is_not_split() -> None:
    shown = run(*WORDS, columns=80).stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "v100-sxm2-16gb" in shown
    assert "a100-sxm4-80gb" in shown


def test_each_pair_has_one_sentence_on_the_faster_one() -> None:
    shown = run("compare", "p1b2", "--to", "v100", "--to", "a100", "--to", "v100").stdout.splitlines()
    (sentence,) = (line for line in shown if "is faster than" in line)
    fast, slow = "p1b2 on a100-sxm4-80gb", "p1b2 on v100-sxm2-16gb"
    assert re.fullmatch(rf"{fast} is faster than {slow} \(1\) in 99 %, {slow} \(3\) in 99 % of draws", sentence)


@pytest.mark.slow
def test_another_run_than_the_profiled_one_has_no_speedup() -> None:
    shown = run(*INFERENCE, columns=200).stdout
    workload, batch, target, _, speedup, *_ = re.split(r" {2,}", shown.splitlines()[-1])
    assert (workload, batch, target, speedup) == ("nt3, inference", "40", "v100-sxm2-16gb", "–")


@pytest.mark.slow
def test_assumptions_of_all_are_counted_once_beside_what_is_left_open() -> None:
    document = read(*WORDS)
    assumptions, left_open = (
        {sentence for estimate in document["estimates"] for sentence in estimate[key]}
        for key in ("assumptions", "left_open")
    )
    others = sum(not sentence.startswith(tuple(left_open)) for sentence in assumptions)
    count = f"note: {others} more assumptions lie behind these figures"
    notes = run(*WORDS).stderr.splitlines()
    assert {f"note: {sentence}" for sentence in left_open} == set(notes[: len(left_open)])
    assert notes[len(left_open)].startswith(count)
