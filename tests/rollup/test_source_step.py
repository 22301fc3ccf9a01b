"""The source's own step: overlap, idle time, and how much of it the ops explain."""

import pandas as pd
import pytest

from estimator.core.notes import Note
from estimator.rollup import source_step as step
from tests.rollup.toy_steps import profile


@pytest.mark.parametrize(
    ("times", "overlap", "idle", "coverage", "total"),
    [
        ({}, 1.0, 0.0, None, 1.0),
        ({"wall_step_s": 1.25}, 1.0, 0.25, 0.8, 1.25),
        ({"wall_step_s": 1.0, "busy_step_s": 0.5}, 0.5, 0.5, 0.5, 1.0),
        ({"wall_step_s": 0.5}, 0.5, 0.0, 1.0, 0.5),  # ops ran at once: their sum is above the wall time
        ({"busy_step_s": 0.7}, 0.7, 0.0, None, 0.7),
        ({"busy_step_s": 1.5, "wall_step_s": 2.0}, 1.0, 1.0, 0.5, 2.0),  # no longer busy than its ops took
    ],
)
def test_overlap_idle_time_coverage_and_step_time(
    times: dict[str, float], overlap: float, idle: float, coverage: float | None, total: float
) -> None:
    toy_profile = profile(**times)
    assert step.overlap_factor(toy_profile) == pytest.approx(overlap)
    assert step.idle_time(toy_profile) == pytest.approx(idle)
    assert step.coverage(toy_profile) == (None if coverage is None else pytest.approx(coverage))
    assert step.source_step_time(toy_profile) == pytest.approx(total)


def test_what_is_known_of_the_sources_step() -> None:
    waited, work = (
        profile(wall_step_s=1.25, busy_step_s=0.5),
        pd.DataFrame({"op_class": ["input", "gemm", "input"], "time_s": [0.1, 0.2, 0.3]}),
    )
    known = {"overlap": 0.5, "coverage": 0.4, "idle_s": 0.75, "input_s": 0.4}
    assert step.source_step(waited, work) == pytest.approx(known)
    assert step.source_step(profile(), work) == {"overlap": 1, "coverage": None, "idle_s": None, "input_s": 0.4}


def test_a_step_that_ops_explain_little_of_is_noted() -> None:
    (note,) = step.coverage_notes(profile(wall_step_s=2.0))
    text = "toy: ops account for 50 % of the profiled step (1.00 s of 2.00 s); the rest is host time or waits"
    assert note == Note("step-coverage-low", text, subject="toy", share=0.5)
    assert step.coverage_notes(profile(wall_step_s=1.25)) == ()  # 80 % are enough
    assert step.coverage_notes(profile()) == ()


def test_ops_that_ran_at_once_explain_as_much_as_they_were_busy() -> None:
    (note,) = step.coverage_notes(profile(wall_step_s=2.0, busy_step_s=0.5))
    assert (
        note.text == "toy: ops account for 25 % of the profiled step (500 ms of 2.00 s); the rest is host time or waits"
    )


@pytest.mark.parametrize(
    ("left_out", "expected"), [((), 2.0), (("input",), 1.8), (("host",), 0.8), (("host", "input"), 0.6)]
)
def test_the_source_is_counted_as_the_target_is(left_out: tuple[str, ...], expected: float) -> None:
    """Half of its ops' time ran side by side; without a host nothing is idle."""
    ops = pd.DataFrame({"op_class": ["gemm", "host", "input"], "time_s": [1.2, 0.4, 0.4]})
    actual = step.source_step_without(profile(wall_step_s=2.0, busy_step_s=0.5), ops, left_out)
    assert actual == pytest.approx(expected)
