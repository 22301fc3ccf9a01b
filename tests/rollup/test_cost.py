"""Run → energy and money, by hand."""

import numpy as np
import pytest

from estimator.rollup import cost


def test_a_step_takes_its_power_for_its_time() -> None:
    assert cost.step_energy(np.array([200.0, 100.0]), np.array(0.5)).tolist() == [100, 50]


def test_a_device_is_idle_while_it_loads() -> None:
    actual = cost.device_energy(np.array(200.0), np.array(50.0), np.array(100.0), np.array(20.0))
    assert actual == 80 * 200 + 20 * 50


def test_workers_share_what_their_node_draws() -> None:
    """4 workers of 10 s each complete 34,560 units in a day."""
    assert cost.overhead_energy(np.array(600.0), np.array(4 * 8640.0)) == 1500


def test_devices_without_a_training_are_idle() -> None:
    """A node of 8 runs one training of 5: three devices idle at 100 W each, and the rest of the node draws 600 W."""
    eight, five, one, units_in_a_day = (np.array(number) for number in (8.0, 5.0, 1.0, 8640.0))
    actual = cost.overhead_energy_of_groups(np.array(600.0), np.array(100.0), eight, five, one, units_in_a_day)
    assert actual == pytest.approx(9000)


def test_the_facility_takes_a_multiple() -> None:
    assert cost.unit_energy(np.array(1000.0), np.array(500.0), np.array(1.2)) == pytest.approx(1800)
    assert cost.kilowatt_hours(np.array(7.2e6)) == 2


def test_an_hour_of_a_node_is_shared_and_one_of_a_device_is_not() -> None:
    half_an_hour, units_in_a_day = np.array(1800.0), np.array(4 * 48.0)
    assert cost.price_by_node(np.array(8.0), units_in_a_day) == 1
    assert cost.price_by_device(np.array(2.0), half_an_hour, np.array(1.0)) == 1
    assert cost.price_by_device(np.array(2.0), half_an_hour, np.array(4.0)) == 4


def test_a_unit_that_keeps_half_of_its_rate_takes_twice_as_much() -> None:
    half, power, idle, time, load = (np.array(value) for value in (0.5, 200.0, 50.0, 100.0, 20.0))
    assert cost.device_energy(power, idle, time, load, half) == 2 * (80 * 200 + 20 * 50)
    price, devices = np.array(36.0), np.array(4.0)
    assert cost.price_by_device(price, time, devices, half) == pytest.approx(2 * 4)


def test_a_group_takes_the_energy_of_all_its_devices() -> None:
    device_j, together, nodes_j, pue = (np.array([value]) for value in (10.0, 4.0, 5.0, 1.2))
    assert cost.group_energy(device_j, together, nodes_j, pue) == pytest.approx([54.0])
    assert cost.group_step_energy(np.array([100.0]), np.array([0.1]), together) == pytest.approx([40.0])
