"""Failures and checkpoints, against the source's own figures and against a simulation."""

import numpy as np
import pytest

from estimator.core.types import Floats
from estimator.rollup import failures

MINUTE, HOUR = 60.0, 3600.0


def one(value: float) -> Floats:
    return np.array([value])


@pytest.mark.parametrize(("mtbf_s", "minutes"), [(24 * HOUR, 117), (6 * HOUR, 57), (15 * MINUTE, 9.1)])
def test_the_best_interval_is_that_of_dalys_figures(mtbf_s: float, minutes: float) -> None:
    """Captions of figures 3 to 5 of Daly 2006: 5 min to write a checkpoint."""
    actual = failures.best_interval(one(5 * MINUTE), one(mtbf_s))[0] / MINUTE
    assert actual == pytest.approx(minutes, abs=0.5 if minutes > 10 else 0.05)


def test_where_writing_takes_longer_than_nodes_last_the_interval_is_that_time() -> None:
    assert failures.best_interval(one(100.0), one(50.0)).tolist() == [50]


def test_no_interval_loses_less_than_the_best() -> None:
    given = one(500 * HOUR), one(10 * MINUTE)
    best_s = failures.best_interval(one(5 * MINUTE), one(6 * HOUR))
    lost = [
        failures.time_with_checkpoints(*given, factor * best_s, one(5 * MINUTE), one(6 * HOUR))[0]
        for factor in (0.5, 0.8, 1.0, 1.25, 2.0)
    ]
    assert min(lost) == lost[2]


@pytest.mark.parametrize("every_s", [900.0, 3600.0])
def test_the_expected_time_is_that_of_a_simulation(every_s: float) -> None:
    training_s, load_s, write_s, mtbf_s = 36_000.0, 300.0, 120.0, 7200.0
    actual = failures.time_with_checkpoints(*(one(v) for v in (training_s, load_s, every_s, write_s, mtbf_s)))
    simulated = simulate(int(training_s / every_s), every_s + write_s, load_s, mtbf_s)
    assert actual[0] == pytest.approx(simulated, rel=0.03)


def simulate(segments: int, segment_s: float, load_s: float, mtbf_s: float, runs: int = 2000) -> float:
    """Mean time of runs whose segments start anew, with a load, after each failure."""
    rng, total_s = np.random.default_rng(0), runs * load_s
    for _ in range(runs * segments):
        need_s = segment_s
        while (up_s := rng.exponential(mtbf_s)) < need_s:
            total_s += up_s
            need_s = segment_s + load_s
        total_s += need_s
    return total_s / runs


def test_a_run_without_checkpoints_begins_anew() -> None:
    actual = failures.time_without_checkpoints(one(3600.0), one(60.0), one(7200.0))
    assert actual[0] == pytest.approx(60 + 7200 * np.exp(60 / 7200) * (np.exp(0.5) - 1))
    shorter = failures.time_with_checkpoints(one(3600.0), one(60.0), one(4000.0), one(120.0), one(7200.0))
    assert shorter[0] == actual[0], "a run that is shorter than the interval writes no checkpoint"


def test_a_run_that_never_ends_has_a_number() -> None:
    assert np.isfinite(failures.time_without_checkpoints(one(1e9), one(1e6), one(1.0)))[0]


def test_nearly_no_failures_cost_nearly_nothing() -> None:
    actual = failures.time_without_checkpoints(one(3600.0), one(60.0), one(1e12))
    assert actual[0] == pytest.approx(3660)
    assert failures.lost_share(actual, one(3600.0), one(60.0))[0] == pytest.approx(0, abs=1e-6)


def test_more_nodes_fail_more_often() -> None:
    nodes = failures.nodes_of_training(np.array([1.0, 8.0, 9.0]), one(8.0))
    assert nodes.tolist() == [1, 1, 2]
    assert failures.mean_time_between(one(100.0), nodes).tolist() == [100, 100, 50]
    assert failures.training_time(one(10.0), one(3.0)).tolist() == [30]


def test_nodes_in_use_are_whole() -> None:
    assert failures.nodes_in_use(np.array([100.0, 10.0, 3.0]), np.array([0.29, 0.35, 0.3])).tolist() == [29, 3, 0]
