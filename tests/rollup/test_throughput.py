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
    assert throughput.extrapolated_runs_per_day(np.array([3600.0]), np.array(0.75)).tolist() == [18]
