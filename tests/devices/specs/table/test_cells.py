import pytest
from hypothesis import given

from estimator.core.types import DeviceSpec, Sourced, SystemSpec
from estimator.devices.specs import catalogue
from estimator.devices.specs.table.cells import UNSUPPORTED, Machine, peak, total_of_machine, value
from estimator.devices.specs.table.columns import DEVICES, SYSTEMS
from tests.devices.specs.table.strategies import devices


@given(devices())
def test_a_derived_number_is_unverified_if_an_input_is(rows: list[DeviceSpec]) -> None:
    ridge = DEVICES.columns["ridge_point_bf16"]
    for row in rows:
        cell, rate, bandwidth = ridge.get(row), row.peak_of("bf16").matrix, row.memory_bandwidth
        assert bandwidth is not None
        if rate is None:
            assert cell == (None if row.peak_of("bf16").supported else UNSUPPORTED)
            continue
        assert isinstance(cell, Sourced)
        assert cell.value == rate.value / bandwidth.value
        assert cell.unverified == (rate.unverified or bandwidth.unverified)


def test_totals_of_a_machine_are_nodes_times_devices_times_value() -> None:
    machine = Machine(catalogue.load_system("summit"))
    spec, device = machine.spec, machine.device
    assert device is not None
    devices_ = spec.nodes.value * spec.devices_per_node.value
    for name, device_value in (("memory_capacity", device.memory_capacity), ("fp64", device.peak_of("fp64").matrix)):
        cell = SYSTEMS.columns[name].get(machine)
        assert isinstance(cell, Sourced)
        assert device_value is not None
        assert cell.value == pytest.approx(devices_ * device_value.value)
    assert spec.rpeak is not None
    assert SYSTEMS.columns["rpeak"].get(machine) is spec.rpeak
    assert total_of_machine("FLOP/s", "peak", peak("bf16"))(machine) == UNSUPPORTED


def test_a_system_of_an_unknown_device_has_no_totals() -> None:
    system = SystemSpec.model_validate({"name": "mine", "nodes": 2, "devices_per_node": 1, "device": "v1O0"})
    machine = Machine(system)
    assert machine.device is None
    assert [fault.split(". ")[0] for fault in machine.faults] == ["mine: Unknown device 'v1O0'"]
    assert [SYSTEMS.columns[name].get(machine) for name in ("fp64", "memory_capacity")] == [None, None]
    assert value(SYSTEMS.columns["devices"].get(machine)) == 2
