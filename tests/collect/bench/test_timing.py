"""Timing of calls, with a fake clock."""

import math

import numpy as np
import pytest

from estimator.collect.bench import timing
from estimator.collect.bench.timing import FEWEST_REPEATS, MOST_REPEATS, quantile, relative_error, repeat, stopwatch
from estimator.collect.bench.types import LeftOutError, Sample


class Machine:
    """A clock, and calls that take what a list says, the last value from then on."""

    def __init__(self, *costs: float) -> None:
        self.now, self.costs, self.counts = 0.0, list(costs), list[int]()
        self.slow = math.inf  # cost from which on a sample is a disturbed one

    def time_calls(self, count: int) -> Sample:
        cost = self.costs.pop(0) if len(self.costs) > 1 else self.costs[0]
        self.now += count * cost
        self.counts.append(count)
        return count * cost, cost >= self.slow

    def repeat(
        self, wanted: float = 0.02, share: float = 100.0, most: float = 100.0, batch: float = 0.0
    ) -> list[float]:
        samples, self.disturbed = repeat(self.time_calls, wanted, share, most, batch, lambda: self.now)
        return samples


def test_steady_calls_need_the_fewest_repeats() -> None:
    assert Machine(0.5).repeat() == [0.5] * FEWEST_REPEATS


def test_repeats_go_on_until_the_median_is_known_so_well() -> None:
    noise = [1.0 + 0.3 * math.sin(7 * i) for i in range(5000)]
    loose, strict = (Machine(1.0, 1.0, 1.0, *noise).repeat(wanted, share=1e9) for wanted in (0.1, 0.05))
    assert FEWEST_REPEATS < len(loose) < len(strict) < MOST_REPEATS
    assert relative_error(strict) <= 0.05 < relative_error(strict[:-1])


def test_the_share_of_the_budget_ends_the_repeats() -> None:
    machine = Machine(1.0, *[1.0, 2.0] * 500)
    assert FEWEST_REPEATS <= len(machine.repeat(1e-6, share=40.0)) <= 40


def test_compilation_and_warm_up_are_no_samples() -> None:
    assert Machine(1000.0, 5.0, 2.0, 1.0, 1.0).repeat(share=30.0) == [1.0] * FEWEST_REPEATS


def test_calls_that_are_too_long_are_left_out() -> None:
    with pytest.raises(LeftOutError, match="share of the budget"):
        Machine(1.0).repeat(most=6.0)


def test_disturbed_samples_do_not_count() -> None:
    machine = Machine(1.0, 1.0, 1.0, *[50.0, 1.0, 60.0] * 20)
    machine.slow = 50.0
    assert machine.repeat(share=1e4) == [1.0] * FEWEST_REPEATS
    assert machine.disturbed == pytest.approx(13 / 20)


def test_samples_that_are_all_disturbed_are_reported() -> None:
    machine = Machine(50.0)
    machine.slow = 50.0
    samples = machine.repeat(share=1000.0, most=1000.0)
    assert set(samples) == {50.0}
    assert len(samples) > FEWEST_REPEATS
    assert machine.disturbed == 1.0


def test_few_samples_do_not_end_the_repeats() -> None:
    machine = Machine(1.0, 1.0, 1.0, 1.0, *[70.0, 60.0, 50.0] * 20)
    machine.slow = 50.0
    samples = machine.repeat(share=2000.0)
    assert sorted(samples) == [1.0, *[50.0] * (FEWEST_REPEATS - 1)]
    assert machine.disturbed > 0.9


def test_a_busy_neighbour_disturbs(monkeypatch: pytest.MonkeyPatch) -> None:
    count = iter((0, 1, 1, 1, 5, 9))
    monkeypatch.setattr(timing, "switches", lambda: next(count))
    assert [stopwatch()()[1] for _ in range(3)] == [True, False, True]


def test_short_calls_are_timed_many_at_once() -> None:
    machine = Machine(1e-7)
    assert machine.repeat(batch=1e-3) == pytest.approx([1e-7] * FEWEST_REPEATS)
    assert machine.counts[-1] * 1e-7 >= 1e-3
    alone = Machine(1e-7)
    alone.repeat()
    assert set(alone.counts) == {1}


def test_the_relative_error_is_that_of_the_median() -> None:
    rng = np.random.default_rng(5)
    medians, errors = [], []
    for _ in range(400):
        samples = rng.lognormal(0.0, 0.2, 41).tolist()
        medians.append(quantile(samples, 0.5))
        errors.append(relative_error(samples))
    inside = [abs(median - 1.0) <= error for median, error in zip(medians, errors, strict=True)]
    assert 0.88 <= np.mean(inside) <= 0.99


def test_quantiles_are_numpys() -> None:
    samples = [3.0, 1.0, 2.0, 10.0]
    for share in (0.05, 0.5, 0.95):
        assert quantile(samples, share) == pytest.approx(np.quantile(samples, share))
