"""The lint of ranges."""

import pytest

from estimator.devices import lints
from tests.conftest import make_device
from tests.devices.lints.files import (
    CATALOGUE,
    DIE,
    MODULE,
    SYSTEM,
    Faulty,
    changed,
    check_fault,
    faults,
    rules,
    sourced,
)

FAULTY: list[Faulty] = [
    ("plausible", DIE, [("power_limit.value", "280 kW")], "power_limit is 280 kW; expected", "power_limit"),
    ("plausible", DIE, [("pcie_generation", 9)], "pcie_generation is 9, but there are 1, 2, 3", None),
    ("plausible", DIE, [("pcie_generation", 5), ("year", 2020)], "pcie_generation is 5, but 5 came in 2021", None),
    ("plausible", DIE, [("compute_unit", "MXU")],
     "compute_units is 110; expected up to 64 of 'MXU'", "compute_units"),
    ("plausible", DIE, [("peak.fp16.tensor.accumulate", "fp8")],
     "accumulates in fp8, which is narrower", "peak.fp16.tensor"),
    ("plausible", MODULE, [("specifications", "incomplete")], "specifications is 'incomplete', but a peak and", None),
    ("plausible", SYSTEM, [("year", 2019)], "years after the device is -2; expected -1 to 10", None),
    ("plausible", SYSTEM, [("power.value", "40 kW")], "power / devices is 5.00 W; expected 30.0 W", "power"),
]  # fmt: skip


@pytest.mark.parametrize("faulty", FAULTY)
def test_each_fault_is_found_and_can_be_waived(faulty: Faulty) -> None:
    check_fault(*faulty)


@pytest.mark.parametrize(("joined", "expected"), [(8, set()), (8000, set()), (8001, {"plausible"}), (7, {"plausible"})])
def test_links_join_a_node_to_the_whole_machine(joined: int, expected: set[str]) -> None:
    assert rules(SYSTEM | {"linked_devices": sourced(joined)}) == expected


def test_a_taper_that_no_network_has_is_found() -> None:
    """A share in per cent is no taper."""
    assert faults(changed(SYSTEM, ("taper", 4))) == []
    (fault,) = faults(changed(SYSTEM, ("taper", 100)))
    assert "taper is 100; expected 1.00 to 50.0 (the core carries a fiftieth" in fault


def test_a_device_of_few_facts_is_as_fast_as_some_device_is() -> None:
    """A slip in both of its numbers leaves their quotient."""
    slow = make_device(memory_bandwidth="4 B/s", peak={"fp32": "60 FLOP/s"})
    sentences = {finding.sentence for lint, finding in lints.findings(slow, CATALOGUE) if lint == "plausible"}
    assert sentences == {
        "memory_bandwidth is 4.00 B/s; expected 1.00 GB/s to 100 TB/s (one channel of 2008 to a module of HBM4); check "
        "values and units",
        "peak.fp32.vector is 60.0 FLOP/s; expected 1.00 GFLOP/s to 1.00 PFLOP/s (one core of 2008 to a module of "
        "2028); check values and units",
    }


def test_measured_bandwidth_may_be_below_the_data_sheet() -> None:
    slow = {"value": "16 GB/s", "source": "sweep"}
    for status, expected in (("measured", set()), ("read", {"plausible"})):
        device = make_device(
            memory_bandwidth={**slow, "status": status}, peak={"fp32": "1 TFLOP/s"}, last_level_cache="128 MB"
        )
        found_faults = {lint for lint, _ in lints.findings(device, CATALOGUE) if lint == "plausible"}
        assert found_faults == expected
