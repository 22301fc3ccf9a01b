"""Replaying a step: hand-made timelines whose steps can be told by hand, and laws on random ones."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.schema import HOST, TIMELINE
from estimator.core.types import Floats
from estimator.rollup.timeline import ROWS, Events, replay, step_s
from tests.rollup.timelines import random_timeline

DELAY_S = 0.1


def launched(count: int, every_s: float, takes_s: float, lane: str = "gpu") -> list[dict[str, object]]:
    """Ops that a host launches one after another."""
    return [
        {"op": i, "lane": lane, "start_s": i * every_s + DELAY_S, "duration_s": takes_s, "launch_s": i * every_s,
         "delay_s": DELAY_S}
        for i in range(count)
    ]  # fmt: skip


def replayed(rows: list[dict[str, object]], factor: float | list[float], pace: float, host_step_s: float) -> float:
    """One more step of a timeline [s]."""
    events = Events(TIMELINE.conform(pd.DataFrame(rows), "toy"))
    count = int(events.op.max()) + 1
    factors = np.broadcast_to(np.asarray(factor, dtype=float), (1, count))
    return float(step_s(replay(events, factors, np.array([pace]), host_step_s))[0])


def test_a_fast_device_waits_for_its_host() -> None:
    assert replayed(launched(3, every_s=2.0, takes_s=1.0), 1.0, 1.0, host_step_s=6.0) == pytest.approx(6.0)


def test_a_slow_device_makes_the_step() -> None:
    assert replayed(launched(3, every_s=2.0, takes_s=1.0), 4.0, 1.0, host_step_s=6.0) == pytest.approx(12.0)


@pytest.mark.parametrize("pace", [0.0, 0.1, 0.5])
def test_a_faster_host_leaves_the_kernels(pace: float) -> None:
    assert replayed(launched(3, every_s=2.0, takes_s=1.0), 1.0, pace, host_step_s=6.0) == pytest.approx(3.0)


def test_a_host_that_waits_for_its_device_adds_what_it_does_before_and_behind() -> None:
    rows = launched(3, every_s=2.0, takes_s=1.0)
    wait = {"lane": HOST, "start_s": 4.5, "duration_s": 0.7, "after": 2, "lag_s": 0.1}
    assert replayed([*rows, wait], 1.0, 1.0, host_step_s=6.0) == pytest.approx(6.0)
    assert replayed([*rows, wait], 3.0, 1.0, host_step_s=6.0) == pytest.approx(DELAY_S + 9.0 + 0.1 + 0.8)


def test_an_op_of_the_host_delays_what_is_launched_behind_it() -> None:
    reads = {"op": 0, "lane": HOST, "start_s": 0.0, "duration_s": 2.0}
    runs = {"op": 1, "lane": "gpu", "start_s": 2.0, "duration_s": 1.0, "launch_s": 2.0}
    assert replayed([reads, runs], [1.0, 1.0], 1.0, host_step_s=2.0) == pytest.approx(2.0)
    assert replayed([reads, runs], [1.0, 5.0], 1.0, host_step_s=2.0) == pytest.approx(5.0)
    assert replayed([reads, runs], [4.0, 1.0], 0.0, host_step_s=2.0) == pytest.approx(8.0)


def test_lanes_run_side_by_side_but_for_what_waits() -> None:
    first = {"op": 0, "lane": "a", "start_s": 0.0, "duration_s": 1.0, "launch_s": 0.0}
    beside = {"op": 1, "lane": "b", "start_s": 0.0, "duration_s": 1.0, "launch_s": 0.0}
    waiting = {**beside, "start_s": 1.0, "after": 0}
    assert replayed([first, beside], [3.0, 2.0], 1.0, host_step_s=0.0) == pytest.approx(3.0)
    assert replayed([first, waiting], [3.0, 2.0], 1.0, host_step_s=0.0) == pytest.approx(3.0)  # steps overlap
    wait = {"lane": HOST, "start_s": 0.0, "duration_s": 2.0, "after": 1}
    assert replayed([first, waiting, wait], [3.0, 2.0], 1.0, host_step_s=2.0) == pytest.approx(5.0)


def test_blocks_of_a_long_lane_are_cut_without_a_trace() -> None:
    rows = launched(3 * ROWS + 7, every_s=2.0, takes_s=1.0)
    assert replayed(rows, 5.0, 1.0, host_step_s=0.0) == pytest.approx(5.0 * len(rows))


def total(rows: pd.DataFrame, factor: Floats, pace: float, host_step_s: float) -> float:
    return float(step_s(replay(Events(rows), factor[None], np.array([pace]), host_step_s))[0])


SEEDS, LANES, TICKS = st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.0, 1e-5, 1e-4])


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(seed=SEEDS, lanes=LANES, pace=st.floats(0.0, 3.0), tick_s=TICKS)
def test_a_step_is_no_shorter_than_its_longest_lane_and_no_longer_than_all_in_turn(
    seed: int, lanes: int, pace: float, tick_s: float
) -> None:
    rows, host_step_s = random_timeline(seed, lanes, tick_s=tick_s)
    factor = np.random.default_rng(seed).exponential(size=len(rows))
    actual = total(rows, factor, pace, host_step_s)
    ran = rows["op"].notna()
    took = factor[rows.loc[ran, "op"].astype(int)] * rows.loc[ran, "duration_s"]
    assert actual >= took.groupby(rows["lane"]).sum().max() * (1 - 1e-9)
    assert actual <= (took.sum() + pace * (host_step_s + rows["lag_s"].sum()) + rows["delay_s"].sum()) * (1 + 1e-9)


def test_a_lane_that_falls_back_by_little_makes_the_step_from_the_first() -> None:
    """The lane that ends last does not tell: it is launched late, and hides how the other one falls back."""
    slow = {"op": 0, "lane": "a", "start_s": 0.0, "duration_s": 1.0, "launch_s": 0.0}
    late = {"op": 1, "lane": "b", "start_s": 1.0, "duration_s": 1.0, "launch_s": 1.0}
    assert replayed([slow, late], [1.2, 1.0], 1.0, host_step_s=1.0) == pytest.approx(1.2)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, lanes=LANES, tick_s=TICKS)
def test_a_replay_with_its_own_times_gives_its_own_step(seed: int, lanes: int, tick_s: float) -> None:
    """Where the host waits for the device, so that a step begins when the one before has ended."""
    rows, host_step_s = random_timeline(2 * seed + 1, lanes, tick_s=tick_s)
    assert total(rows, np.ones(len(rows)), 1.0, host_step_s) == pytest.approx(host_step_s, rel=0.01)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, lanes=LANES, tick_s=TICKS, pace=st.floats(0.0, 2.0))
def test_no_slower_host_makes_a_step_shorter(seed: int, lanes: int, tick_s: float, pace: float) -> None:
    rows, host_step_s = random_timeline(seed, lanes, tick_s=tick_s)
    factor = np.random.default_rng(seed).exponential(size=len(rows))
    assert total(rows, factor, 1.3 * pace, host_step_s) >= total(rows, factor, pace, host_step_s) * (1 - 1e-9)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, tick_s=TICKS)
def test_no_longer_op_makes_a_step_shorter(seed: int, tick_s: float) -> None:
    rows, host_step_s = random_timeline(seed, 3, tick_s=tick_s)
    rng = np.random.default_rng(seed)
    factor = rng.exponential(size=len(rows))
    longer = factor * np.where(rng.random(len(rows)) < 0.2, 2.0, 1.0)
    assert total(rows, longer, 1.0, host_step_s) >= total(rows, factor, 1.0, host_step_s) * (1 - 1e-9)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, lanes=LANES, tick_s=TICKS, of_host=st.booleans())
def test_widening_an_input_widens_the_interval(seed: int, lanes: int, tick_s: float, of_host: bool) -> None:
    """An input is the time of some ops, or the pace of the host."""
    rows, host_step_s = random_timeline(seed, lanes, tick_s=tick_s)
    rng, z = np.random.default_rng(seed), np.linspace(-2.0, 2.0, 21)
    some = rng.random(len(rows)) < 0.3 if not of_host else np.zeros(len(rows), dtype=bool)

    def ends(std: float) -> tuple[float, float]:
        factors, pace = np.exp(std * np.outer(z, some)), np.exp(std * z * of_host)
        steps = step_s(replay(Events(rows), factors, pace, host_step_s))
        return float(steps.min()), float(steps.max())

    (low, high), (lower, higher) = ends(0.2), ends(0.4)
    assert lower <= low * (1 + 1e-9)
    assert higher >= high * (1 - 1e-9)


def test_lanes_that_take_turns_in_being_late_count_in_the_mean() -> None:
    """Of this timeline two lanes fall back by 1.08 and 1.10 ms in turn, which depended on the pace."""
    rows, host_step_s = random_timeline(652, 4, tick_s=1e-5)
    paces = np.exp(np.linspace(-0.8, 0.8, 21))
    steps = step_s(replay(Events(rows), np.ones((len(paces), len(rows))), paces, host_step_s))
    assert (np.diff(steps) >= -1e-9 * steps[0]).all()


def test_draws_are_replayed_each_by_itself() -> None:
    rows, host_step_s = random_timeline(3, 3)
    rng = np.random.default_rng(3)
    factors, paces = rng.exponential(size=(5, len(rows))), rng.exponential(size=5)
    together = step_s(replay(Events(rows), factors, paces, host_step_s))
    assert together == pytest.approx(
        [total(rows, f, p, host_step_s) for f, p in zip(factors, paces, strict=True)], rel=1e-12
    )


def test_the_order_of_the_rows_does_not_matter() -> None:
    rows, host_step_s = random_timeline(5, 3)
    order = np.random.default_rng(0).permutation(len(rows))
    place = pd.Series(np.argsort(order), dtype="Int64")
    shuffled = rows.iloc[order].reset_index(drop=True)
    after = shuffled["after"].map(lambda row: row if pd.isna(row) else place[row]).astype("Int64")
    factor = np.random.default_rng(1).exponential(size=len(rows))
    one, other = (total(t, factor, 1.0, host_step_s) for t in (rows, shuffled.assign(after=after)))
    assert one == pytest.approx(other, rel=1e-12)


def test_a_wait_for_what_begins_later_waits_for_nothing() -> None:
    rows = launched(3, every_s=2.0, takes_s=1.0)
    wait = {"lane": HOST, "start_s": 0.5, "duration_s": 0.5, "after": 2}
    assert replayed([*rows, wait], 1.0, 1.0, host_step_s=6.0) == pytest.approx(6.0 - 0.5)  # the wait itself


def test_a_host_that_waits_for_what_it_launches_later_waits_for_nothing() -> None:
    """Clocks that disagree may say so."""
    rows = launched(3, every_s=2.0, takes_s=1.0)
    wait = {"lane": HOST, "start_s": 3.0, "duration_s": 0.5, "after": 2}
    assert replayed([*rows, wait], 1.0, 1.0, host_step_s=6.0) == pytest.approx(6.0 - 0.5)


def test_events_that_wait_for_each_other_are_replayed() -> None:
    rows = launched(2, every_s=1.0, takes_s=1.0)
    rows[0] |= {"lane": "gpu/0", "after": 1}
    rows[1] |= {"lane": "gpu/1", "after": 0}
    assert 2.0 <= replayed(rows, 1.0, 1.0, host_step_s=2.0) <= 3.0
