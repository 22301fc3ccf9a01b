"""What was read of an XPlane dump: which parts computed, and which times count."""

import numpy as np
import pytest

from estimator.profiles.events import Tally
from estimator.profiles.steps import Windows
from estimator.profiles.xplane.ops import Kind
from estimator.profiles.xplane.reading import Part, Reading


def part(name: str, busy_ps: int, *, computes: bool = True, begun: tuple[int, int] = (0, 0)) -> Part:
    kinds = [Kind(0, {"op": "a", "op_type": "Relu"}, "a")]
    total = Tally(busy_ps=busy_ps, sum_ps=busy_ps)
    return Part(name, kinds=kinds, computes=computes, total=total, begun=begun)


def marked(*steps: tuple[int, int]) -> Windows:
    windows = Windows()
    for start, end in steps:
        windows.mark("train", start, end)
    return windows


def test_workers_are_the_parts_that_computed_more_than_next_to_nothing() -> None:
    parts = [part("busy", 10**6), part("copied", 10**6, computes=False), part("idle", 1)]
    assert [each.name for each in Reading(parts).workers()] == ["busy"]


def test_parts_that_copied_are_workers_where_none_computed() -> None:
    parts = [part("copied", 10**6, computes=False), Part("empty")]
    assert [each.name for each in Reading(parts).workers()] == ["copied"]


def test_a_host_that_stands_for_devices_is_busy_no_longer_than_one_of_them() -> None:
    host = part("host", 100)
    host.total.sum_ps = 160
    assert host.busy_ps() == 100
    host.ordinals = {0, 1}
    assert host.busy_ps() == 80


@pytest.mark.parametrize(("begun", "counted"), [((0, 150), []), ((0, 250), [[0, 100], [100, 200]])])
def test_steps_are_read_again_where_ops_began_outside_of_them(begun: tuple[int, int], counted: list[list[int]]) -> None:
    reading = Reading([part("host", 100, begun=begun)], steps=marked((0, 100), (100, 200)))
    assert reading.counted().tolist() == counted


def test_without_steps_all_ops_count() -> None:
    assert np.size(Reading([part("host", 100)]).counted()) == 0
