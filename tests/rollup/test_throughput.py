"""Run → units per day → ratio, by hand."""

import numpy as np
import pytest

from estimator.rollup import throughput


def test_a_worker_completes_the_day_over_the_time_of_a_run() -> None:
    assert throughput.runs_per_day(np.array([86400.0, 3600.0, 43200.0])).tolist() == [1, 24, 2]


def test_workers_of_a_node_and_nodes_of_a_machine_add_up() -> None:
    per_node = throughput.runs_per_day_per_node(np.array([24.0, 2.0]), np.array(6.0))
    assert per_node.tolist() == [144, 12]
    assert throughput.units_per_day(per_node, np.array(8.0)).tolist() == [1152, 96]


def test_a_ratio_is_over_the_baseline() -> None:
    assert throughput.ratio(np.array([30.0, 5.0]), np.array(10.0)) == pytest.approx([3, 0.5])


def test_a_machine_that_works_as_a_whole_keeps_a_share_of_its_rate() -> None:
    alone, workers, efficiency = np.array([24.0]), np.array([4.0]), np.array(0.75)
    assert throughput.runs_per_day_per_node(alone, workers, efficiency).tolist() == [72]


def test_a_machine_runs_as_many_trainings_as_have_all_their_devices() -> None:
    nodes, per_node, together = (np.array([value]) for value in (7.0, 2.0, 4.0))
    assert throughput.trainings_at_once(nodes, per_node, together).tolist() == [3]
    assert throughput.units_per_node(np.array([3.0]), nodes) == pytest.approx([3 / 7])


def test_trainings_do_not_straddle_nodes() -> None:
    """8 nodes of 8 devices; the last needs more than there are."""
    together = np.array([1.0, 4.0, 5.0, 8.0, 9.0, 12.0, 16.0, 64.0, 65.0])
    actual = throughput.trainings_at_once(np.array([8.0]), np.array([8.0]), together)
    assert actual.tolist() == [64, 16, 8, 8, 4, 4, 4, 1, 0]


def test_a_machine_that_is_down_completes_nothing() -> None:
    actual = throughput.units_per_day(np.array([24.0]), np.array([10.0]), np.array([0.9]))
    assert actual.tolist() == [216]


def test_units_run_in_waves_that_count_in_full() -> None:
    at_once = throughput.units_at_once(np.array([10.0]), np.array([4.0]))
    actual = throughput.waves(np.array([1.0, 40.0, 41.0]), at_once)
    assert actual.tolist() == [1, 1, 2]
    assert throughput.phase_time(actual, np.array([60.0])).tolist() == [60, 60, 120]
    assert throughput.phase_time(actual, np.array([60.0]), np.array([0.5])).tolist() == [120, 120, 240]
    assert throughput.of_all(np.array([41.0]), np.array([2.0])).tolist() == [82]


def test_units_that_lack_nodes_do_not_begin() -> None:
    nodes, sixty = np.array([300.0, 310.0, 360.0]), np.array([60.0])
    at_once = throughput.units_on_nodes(nodes, sixty)
    assert at_once.tolist() == [5, 5, 6]
    linear = throughput.linear_units_per_day(24 * at_once, nodes, sixty)
    assert linear == pytest.approx(24 * nodes / 60)


def test_a_campaign_keeps_a_share_of_its_rate_on_the_whole_machine() -> None:
    actual = throughput.phase_time(np.array([2.0]), np.array([45.0]), np.array([0.5]), np.array([0.9]))
    assert actual.tolist() == [200]
