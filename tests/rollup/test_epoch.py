"""Step → epoch → run, by hand."""

import numpy as np
import pytest

from estimator.rollup import epoch

SAMPLES = np.array([1000.0, 1050.0, 1099.0, 99.0])


def test_a_last_smaller_batch_is_dropped_or_trained_on() -> None:
    assert epoch.steps_per_epoch_floor(SAMPLES, np.array(100.0)).tolist() == [10, 10, 10, 0]
    assert epoch.steps_per_epoch_ceil(SAMPLES, np.array(100.0)).tolist() == [10, 11, 11, 1]


def test_an_epoch_is_its_steps() -> None:
    assert epoch.epoch_time(np.array([0.1, 0.2]), np.array(10.0)) == pytest.approx([1, 2])


def test_forward_passes_over_held_out_samples_end_an_epoch() -> None:
    actual = epoch.validated_epoch_time(np.array(0.1), np.array(10.0), np.array(0.03), np.array(4.0))
    assert actual == pytest.approx(0.1 * 10 + 0.03 * 4)


def test_a_step_bears_its_share_of_what_else_an_epoch_takes() -> None:
    assert epoch.step_of_epoch(np.array(1.12), np.array(10.0)) == pytest.approx(0.112)


def test_a_run_loads_its_data_once() -> None:
    assert epoch.run_time(np.array([2.0, 3.0]), np.array(5.0), np.array(60.0)).tolist() == [70, 75]


def test_an_amount_takes_its_time_at_a_rate() -> None:
    """20 million tokens at the rate of jubench-megatron-lm, which prints 554.70 s."""
    assert f"{epoch.time_of_amount(np.array(20e6), np.array(36055.39)):.2f}" == "554.70"


def test_the_batch_of_all_devices_is_that_of_each_times_their_number() -> None:
    assert epoch.global_batch(np.array([32.0]), np.array([8.0])).tolist() == [256]
    assert epoch.local_batch(np.array([256.0]), np.array([8.0])).tolist() == [32]
