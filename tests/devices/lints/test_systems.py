"""The lint of a machine's Rmax and Rpeak."""

import pytest

from estimator.core import library, yaml_files
from estimator.core.types import SystemSpec
from estimator.devices.specs import catalogue
from tests.devices.lints.files import SYSTEM, Faulty, changed, check_fault, faults, rules, sourced

FAULTY: list[Faulty] = [
    ("rpeak", SYSTEM, [("rmax.value", "200.1 PFLOP/s"), ("rpeak.value", "200.1 PFLOP/s"), ("nodes.value", 200)],
     "rpeak is 200.1 PFLOP/s; 1600 of die lead to expect 21.8 PFLOP/s to 115 PFLOP/s", "nodes"),
]  # fmt: skip


@pytest.mark.parametrize("faulty", FAULTY)
def test_each_fault_is_found_and_can_be_waived(faulty: Faulty) -> None:
    check_fault(*faulty)


def test_rmax_above_rpeak_is_found() -> None:
    assert rules(changed(SYSTEM, ("rmax.value", "210 PFLOP/s"))) == {"rpeak", "plausible"}
    assert not rules(changed(SYSTEM, ("rmax.value", "210 PFLOP/s"), ("rmax.waiver", "rpeak, plausible: turbo in HPL")))


def test_frontier_with_modules_counted_as_dies_is_found() -> None:
    catalogue_view = catalogue.catalogue_for_lints(SystemSpec)
    frontier = yaml_files.read_yaml(library.names("devices", catalogue.SYSTEM_FILES)["frontier"]).data
    assert faults(frontier, SystemSpec, catalogue_view) == []
    eight = changed(frontier, ("device", "mi250x"), ("devices_per_node", sourced(8)))
    assert "rpeak" in {fault.rule for fault in faults(eight, SystemSpec, catalogue_view)}
