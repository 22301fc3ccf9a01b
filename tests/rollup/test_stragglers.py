"""The slowest of many units, and a queue of units by hand and by simulation."""

import heapq

import numpy as np
import pytest

from estimator.rollup import stragglers
from estimator.rollup.scaling import expected_maximum


def test_the_slowest_of_those_that_run_at_once_counts() -> None:
    spread, count, at_once = np.array([0.1, 0.0]), np.array([40.0, 40.0]), np.array([10.0, 10.0])
    actual = stragglers.slowest_unit(spread, count, at_once, np.array([1.0]))
    assert actual == pytest.approx([np.exp(0.1 * expected_maximum(10)), 1])
    assert stragglers.slowest_unit(spread, np.array([1.0]), at_once, np.array([1.0])).tolist() == [1, 1]
    shared = stragglers.slowest_unit(spread, count, at_once, np.array([0.2]))  # five on each device
    assert shared == pytest.approx([np.exp(0.1 * expected_maximum(2)), 1])


@pytest.mark.parametrize("spread", [0.025, 0.1])
def test_units_of_several_devices_are_the_slowest_of_them(spread: float) -> None:
    times = np.exp(spread * np.random.default_rng(0).standard_normal((300, 100, 8))).max(axis=2)
    simulated = times.max(axis=1).mean() / times.mean()
    given = (np.array([number]) for number in (spread, 100.0, 100.0, 8.0))
    assert stragglers.slowest_unit(*given)[0] == pytest.approx(simulated, rel=0.01)


@pytest.mark.parametrize(
    ("count", "waves", "slowest", "expected"),
    [(10, 1, 1.3, 1.3), (5, 1, 1.3, 1.3), (20, 2, 1.3, 2.6), (100, 10, 1.3, 10.8), (15, 2, 1, 2), (12, 2, 1.1, 2)],
)
def test_the_last_stop(count: float, waves: float, slowest: float, expected: float) -> None:
    given = (np.array([number], dtype=float) for number in (count, 10, waves, slowest))
    assert stragglers.times_to_last_stop(*given) == pytest.approx([expected])


@pytest.mark.parametrize("count", [50, 100, 180, 250, 1000, 4000])
def test_a_queue_of_units_ends_so(count: int) -> None:
    """100 devices of lasting speeds take the next unit whenever they are free; fast ones take those of a last wave that
    is not full, so that the queue may end up to a tenth earlier.
    """
    rng, at_once, spread = np.random.default_rng(0), 100, 0.05
    simulated = np.mean([_last_stop(np.exp(spread * rng.standard_normal(at_once)), count) for _ in range(50)])
    given = np.array([float(count)]), np.array([float(at_once)])
    slowest = stragglers.slowest_unit(np.array([spread]), *given, np.array([1.0]))
    actual = stragglers.times_to_last_stop(*given, np.ceil(given[0] / at_once), slowest)
    assert 0.9 * actual[0] < simulated < 1.02 * actual[0]


def _last_stop(times: np.ndarray, count: int) -> float:
    """When the last of so many units stops."""
    free = [(0.0, device) for device in range(len(times))]
    stops = []
    for _ in range(count):
        start, device = heapq.heappop(free)
        stops.append(start + times[device])
        heapq.heappush(free, (stops[-1], device))
    return float(max(stops))


def test_the_rate_of_counted_units_is_that_to_their_last_stop() -> None:
    assert stragglers.counted_per_day(np.array([30.0]), np.array([43200.0])).tolist() == [60]
