"""Collectives as kernels: what measured ones change."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.schema import MEASUREMENTS, WORK
from estimator.core.types import DeviceSpec, RunPlan
from estimator.devices import load_device
from estimator.devices.measurements import with_measured
from estimator.model import SourceRun, TargetDevice, predict
from estimator.model.coefficients import shipped
from estimator.model.kernels.collectives import COLLECTIVE, messages_of
from estimator.model.kernels.kernel_model import KernelInputs
from tests.conftest import make_device

DEVICE = load_device("a100-sxm4-80gb")
SIZES = np.array([1e3, 1e6, 1e9])


def rows(*sizes: float, ranks: int = 8, operator: str = "all_reduce", **columns: object) -> pd.DataFrame:
    each = [
        {"op": "x", "op_class": "collective", "operator": operator, "precision": "fp32", "ranks": ranks, "bytes": size,
         "time_s": 0.0, "calls": 1.0, **columns}
        for size in sizes
    ]  # fmt: skip
    return WORK.conform(pd.DataFrame(each), "test")


def measured(times: dict[float, float], ranks: int = 8) -> pd.DataFrame:
    given = rows(*times, ranks=ranks).assign(time_s=list(times.values()))
    return MEASUREMENTS.conform(given[[name for name in MEASUREMENTS.names() if name in given]], "test")


def predicted(work: pd.DataFrame, evidence: pd.DataFrame, device: DeviceSpec = DEVICE) -> pd.DataFrame:
    target = TargetDevice(with_measured(device, evidence), evidence)
    return predict(work, SourceRun(), target, RunPlan(device.name, draws=200)).ops


def test_collectives_with_ranks_and_bytes_are_modelled() -> None:
    work = rows(*SIZES)
    assert COLLECTIVE.matches(work).all()
    assert not COLLECTIVE.matches(work.assign(ranks=pd.NA)).any()
    assert not COLLECTIVE.matches(work.assign(operator="collective")).any()
    actual = predicted(work, measured({}))
    assert set(actual["method"]) == {"roofline"}
    assert (actual["low_s"] < actual["target_time_s"]).all()


def test_calls_count() -> None:
    once, twice = rows(1e6), rows(2e6, calls=2.0)  # bytes of all calls
    inputs = [KernelInputs.on_device(work, DEVICE, shipped()) for work in (once, twice)]
    assert COLLECTIVE.busy_time(inputs[0]).time_s == pytest.approx(COLLECTIVE.busy_time(inputs[1]).time_s)


def test_a_node_holds_as_many_ranks_as_its_links_join() -> None:
    node = make_device(network={"linked_devices": 4})
    assert messages_of(rows(1.0, ranks=16), node).nodes.tolist() == [4.0]
    assert messages_of(rows(1.0, ranks=16, ranks_per_node=1), node).nodes.tolist() == [16.0]
    assert messages_of(rows(1.0, ranks=16), make_device()).nodes.tolist() == [1.0]


def test_a_measured_size_gives_its_time() -> None:
    actual = predicted(rows(1e6), measured({1e3: 1e-3, 1e6: 2e-3}))
    assert actual["method"].tolist() == ["measured"]
    assert actual["target_time_s"].tolist() == [pytest.approx(2e-3)]


def test_sizes_between_measured_ones_follow_their_latency_and_rate() -> None:
    """α = 1 ms, β = 1 ns/B, which no specification tells."""
    times = {size: 1e-3 + 1e-9 * size for size in (1e3, 1e5, 1e7, 1e9)}
    actual = predicted(rows(1e6), measured(times))
    assert actual["method"].tolist() == ["interpolated"]
    assert actual["target_time_s"][0] == pytest.approx(2e-3, rel=0.05)


def test_two_measured_sizes_correct_other_numbers_of_ranks() -> None:
    plain = predicted(rows(1e9, ranks=4), measured({}))["target_time_s"][0]
    of_eight = predicted(rows(1e9, ranks=8), measured({}))["target_time_s"][0]
    slow = predicted(rows(1e9, ranks=4), measured({1e3: 1e-4, 1e9: 3 * of_eight}))
    assert slow["target_time_s"][0] == pytest.approx(3 * plain, rel=0.1)
    before = predicted(rows(1e9, ranks=4), measured({}))
    width, width_before = (actual["high_s"][0] / actual["low_s"][0] for actual in (slow, before))
    assert width < width_before


def test_another_operator_of_the_same_bytes_is_little_evidence() -> None:
    alone = measured({1e4: 1e-3, 1e8: 1e-1})
    other = measured({1e6: 4e-3}).assign(operator="all_to_all")
    by_both = predicted(rows(1e6), MEASUREMENTS.conform(pd.concat([alone, other]), "test"))
    by_own = predicted(rows(1e6), alone)
    width, width_alone = (actual["high_s"][0] / actual["low_s"][0] for actual in (by_both, by_own))
    assert width == pytest.approx(width_alone, rel=0.2)
    times = [actual["target_time_s"][0] for actual in (by_both, by_own)]
    assert times[0] == pytest.approx(times[1], rel=0.2)


def test_groups_that_share_a_nodes_way_take_longer_than_the_one_that_was_timed() -> None:
    """Eight ranks on eight nodes, alone and as one of eight groups."""
    times = {size: 1e-5 + 5e-10 * size for size in SIZES}
    evidence = measured(times).assign(ranks_per_node=1)
    both = [rows(3e8, groups_at_once=groups, ranks_per_node=1) for groups in (1, 8)]
    alone, crowded = (predicted(work, evidence)["target_time_s"][0] for work in both)
    modelled = [predicted(work, measured({}))["target_time_s"][0] for work in both]
    assert alone == pytest.approx(1e-5 + 0.15, rel=0.05)
    assert crowded / alone == pytest.approx(modelled[1] / modelled[0], rel=0.1)


def test_a_timed_collective_of_one_node_is_none_between_nodes() -> None:
    within, between = (
        predicted(work, measured({1e6: 1e-4, 1e9: 1e-2})) for work in (rows(3e8), rows(3e8, ranks_per_node=1))
    )
    assert between["target_time_s"][0] > 3 * within["target_time_s"][0]
