"""Numbers of a device or system by dotted name."""

from estimator.core.types import SystemSpec
from estimator.devices.specs.values import sourced_values
from tests.conftest import make_device


def test_every_number_of_a_device_has_the_dotted_name_of_its_place() -> None:
    device = make_device(
        peak={"fp32": "10 TFLOP/s", "bf16": {"vector": "20 TFLOP/s", "tensor": "80 TFLOP/s"}, "fp8": "unsupported"},
        link={"per_direction": "300 GB/s"}, network={"latency": "2 us"}, part_of={"device": "board", "parts": 2},
        memory_capacity="16 GB", year=2020,
    )  # fmt: skip
    assert {name: number.value for name, number in sourced_values(device)} == {
        "peak.fp32.vector": 10e12, "peak.bf16.vector": 20e12, "peak.bf16.tensor": 80e12, "memory_bandwidth": 500e9,
        "memory_capacity": 16e9, "link.per_direction": 300e9, "network.latency": 2e-6,
    }  # fmt: skip


def test_a_system_has_its_counts_among_its_numbers() -> None:
    system = SystemSpec.model_validate({"name": "toy", "device": "toy", "nodes": "9", "devices_per_node": "4"})
    assert [(name, number.value) for name, number in sourced_values(system)] == [("nodes", 9), ("devices_per_node", 4)]
