"""The lint of memory types."""

import pytest

from tests.devices.lints.files import DIE, MODULE, Faulty, changed, check_fault, faults

FAULTY: list[Faulty] = [
    ("memory-type", DIE, [("memory_type", "core store")],
     "memory_type is 'core store'; expected one of GDDR3", "memory_bandwidth"),
    ("memory-type", DIE, [("memory_type", "core store")],
     "or waive memory-type on memory_bandwidth or memory_capacity", "memory_capacity"),
    ("memory-type", DIE, [("memory_type", "HBM5"), ("memory_bandwidth.value", "900 TB/s"), ("part_of", None),
                          ("power_limit", None), ("last_level_cache", None), ("link", None), ("peak", {}),
                          ("specifications", "incomplete"), ("memory_capacity.value", "15 TB")],
     "memory_bandwidth is 900 TB/s; expected 2.00 TB/s to 480 TB/s of what follows HBM4e", "memory_bandwidth"),
    ("memory-type", DIE, [("year", 2018), ("pcie_generation", 4)], "year is 2018; HBM2e came in 2019", None),
    ("memory-type", MODULE, [("memory_capacity.value", "384 GB")],
     "memory_capacity is 384 GB; expected 8.00 GB to 256 GB", "memory_capacity"),
    ("memory-type", MODULE, [("memory_capacity.value", "32 GB")],
     "memory_capacity / memory_bandwidth is 9.77 ms", "memory_bandwidth"),
    ("memory-type", MODULE, [("memory_type", "DDR5-8800 24ch"), ("memory_bandwidth.value", "1800 GB/s")],
     "DDR5-8800 24ch give 1.690 TB/s", "memory_bandwidth"),
]  # fmt: skip


@pytest.mark.parametrize("faulty", FAULTY)
def test_each_fault_is_found_and_can_be_waived(faulty: Faulty) -> None:
    check_fault(*faulty)


@pytest.mark.parametrize("name", ["HBM5", "GDDR8", "LPDDR6", "DDR6", "MRDIMM", "LPDDR5T"])
def test_limits_of_a_new_memory_come_from_its_family(name: str) -> None:
    assert not any("memory_type is" in fault for fault in faults(changed(MODULE, ("memory_type", name))))
