"""Recorded messages on another device, or among another number of ranks."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.core.schema import WORK
from estimator.core.types import DeviceSpec, RunPlan
from estimator.devices import load_device
from estimator.model import SourceRun, TargetDevice
from estimator.model.ladder import estimate_op_times
from estimator.model.recorded_messages import WIDENING, are_messages, message_times, unsized_times, waits
from estimator.profiles import read_profile
from estimator.work import count_work
from tests.conftest import make_device, make_measurements
from tests.model.toy import predict_on

SLOW, FAST = (
    make_device(name=name, link={"per_direction": rate}) for name, rate in (("a", "50 GB/s"), ("b", "500 GB/s"))
)
UNKNOWN = float("nan")
PLAN = RunPlan("toy", draws=500)


def messages(*bytes_: float, time_s: float = 1.0, ranks: int = 8, operator: str = "all_reduce") -> pd.DataFrame:
    row = {"op": "x", "op_class": "collective", "operator": operator, "precision": "fp32", "calls": 1.0, "ranks": ranks}
    return WORK.conform(pd.DataFrame([{**row, "bytes": size, "time_s": time_s} for size in bytes_]), "test")


def with_time(work: pd.DataFrame, device: DeviceSpec, factor: float = 1.0) -> pd.DataFrame:
    return work.assign(time_s=factor * message_times(work, device))


def test_a_message_that_took_what_its_links_need_waited_for_nobody() -> None:
    work = with_time(messages(1e6, 1e8), SLOW)
    assert np.allclose(waits(work, SLOW, np.array([0.1, 0.5, 1.0])), 0.0)
    actual = predict_on(work, FAST, make_measurements([]), source=SLOW).ops
    assert actual["target_time_s"].to_numpy() == pytest.approx(message_times(work, FAST))
    assert set(actual["method"]) == {"roofline"}


def test_what_it_took_longer_is_a_wait_that_goes_as_what_others_compute() -> None:
    work = messages(1e6, time_s=1.0)
    own_s = message_times(work, SLOW)[0]
    assert waits(work, SLOW, np.array([0.1, 0.5, 1.0]))[:, 0] == pytest.approx(
        (1.0 - own_s) * np.array([0.1, 0.5, 1.0])
    )


@pytest.mark.slow
def test_waits_are_noted_with_their_interval() -> None:
    prompt, late = (predict_on(work, FAST, make_measurements([]), source=SLOW) for work in (
        with_time(messages(1e6), SLOW), messages(1e6, time_s=1.0),
    ))  # fmt: skip
    assert "ranks-wait" not in {note.code for note in prompt.warnings}
    (note,) = (note for note in late.warnings if note.code == "ranks-wait")
    assert "1,000 ms of a step (50.0 ms to 20.0 s) are waits" in note.text
    assert note.share == 1.0


@pytest.mark.slow
def test_a_wait_widens_the_interval_of_its_message() -> None:
    prompt, late = (with_time(messages(1e8), SLOW, factor) for factor in (1.0, 3.0))
    ends = [predict_on(work, FAST, make_measurements([]), PLAN, source=SLOW).ops.iloc[0] for work in (prompt, late)]
    assert ends[1]["high_s"] / ends[1]["low_s"] > 3 * ends[0]["high_s"] / ends[0]["low_s"]


def test_other_ops_and_messages_that_never_ran_wait_for_nobody() -> None:
    work = messages(1e6, time_s=0.0)
    assert not are_messages(work).any()
    assert not waits(work, SLOW, np.ones(3)).any()


def test_a_message_on_its_own_device_takes_its_own_time() -> None:
    target = TargetDevice(SLOW, make_measurements([]), same_setting=True)
    actual = estimate_op_times(messages(1e6), SourceRun(SLOW), target)
    assert actual.interval_s[1].tolist() == [1.0]
    assert not actual.waits_s.any()


def test_a_message_of_unknown_bytes_is_as_large_as_its_time_allows() -> None:
    known = with_time(messages(1e8), SLOW)
    unknown = known.assign(bytes=UNKNOWN)
    low, mid, high = unsized_times(unknown, unknown, SLOW, FAST)
    assert mid == pytest.approx(message_times(known, FAST))
    assert low == pytest.approx(message_times(known.assign(bytes=1.0), FAST))
    assert high == pytest.approx(WIDENING * mid)


@pytest.mark.slow
def test_more_ranks_take_longer_also_where_bytes_are_unknown() -> None:
    unknown = with_time(messages(1e8, ranks=2), SLOW).assign(bytes=UNKNOWN)
    times_s = [unsized_times(unknown.assign(ranks=ranks), unknown, SLOW, SLOW)[1, 0] for ranks in (2, 4, 16)]
    assert times_s[0] == pytest.approx(unknown["time_s"][0])
    assert times_s == sorted(times_s)
    assert times_s[2] > 1.5 * times_s[0]


def test_a_message_of_unknown_ranks_or_kind_goes_by_both_devices_links() -> None:
    work = messages(1e8, time_s=0.01, operator="collective").assign(ranks=pd.NA)
    actual = predict_on(work, FAST, make_measurements([]), PLAN, source=SLOW).ops.iloc[0]
    assert actual["method"] == "proportional"
    assert actual["target_time_s"] == pytest.approx(0.001, rel=0.1)  # ten times the rate
    assert actual["low_s"] < 1e-4
    assert actual["high_s"] == pytest.approx(WIDENING * actual["target_time_s"], rel=0.2)


def test_ops_that_send_nothing_have_no_such_time() -> None:
    work = messages(1e6).assign(op_class="gemm", operator="gemm")
    assert np.isnan(unsized_times(work, work, SLOW, FAST)).all()


@pytest.mark.slow
def test_of_several_ranks_the_last_to_come_takes_what_the_links_need(public_data: Callable[[str], Path]) -> None:
    """Eight ranks of one job on one node: the shortest time of a message is that of its links, the rest are waits."""
    traces = sorted(public_data("dumps/dlrm-v100-8ranks").iterdir())
    ranks = [count_work(profile.ops, profile.workload).work for profile in map(read_profile, traces)]
    sent = pd.concat([work[are_messages(work)].assign(ranks=8) for work in ranks])
    modelled = pd.Series(message_times(sent, load_device("v100-sxm2-32gb")), index=sent.index)
    times = sent.assign(modelled_s=modelled.to_numpy()).groupby(["operator", "phase", "bytes"])
    shortest_s, mean_s, modelled_s = times["time_s"].min(), times["time_s"].mean(), times["modelled_s"].first()
    assert len(shortest_s) == 8
    assert (shortest_s / modelled_s).between(0.5, 1.2).all()
    assert (shortest_s / modelled_s)["all_reduce"].between(0.9, 1.2).all()
    assert mean_s.sum() > 20 * shortest_s.sum()
