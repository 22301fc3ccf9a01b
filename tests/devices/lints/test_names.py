"""Lints of sources, aliases, links, and parts of a module."""

import pytest

from tests.devices.lints.files import DIE, MODULE, SYSTEM, Faulty, changed, check_fault, rules, sourced

FAULTY: list[Faulty] = [
    ("missing-source", DIE, [("power_limit.source", None)], "power_limit has no source;", "power_limit"),
    ("missing-source", SYSTEM, [("power.source", None)], "power has no source;", "power"),
    ("link-directions", MODULE, [("link.total.value", "400 GB/s")],
     "is the total of both directions written one way?", "link.total"),
    ("link-directions", MODULE, [("link.total.value", "900 GB/s")],
     "expected twice it; mend one", "link.per_direction"),
    ("link-directions", DIE, [("link.per_neighbour.value", "300 GB/s"), ("link.total", None)],
     "more than all neighbours together", "link.per_neighbour"),
    ("link-directions", DIE, [("link.slowest_neighbour", sourced("150 GB/s"))],
     "more than link.per_neighbour of 100 GB/s", "link.slowest_neighbour"),
    ("part-of-module", DIE, [("memory_capacity.value", "128 GB")], "is it the module's number?", "memory_capacity"),
    ("part-of-module", DIE, [("last_level_cache.value", "6 MB")],
     "expected 2 parts to make the module; mend one", "last_level_cache"),
    ("part-of-module", MODULE, [("part_of", {"device": "module", "parts": 2})],
     "part_of names this device itself", None),
    ("unknown-device", DIE, [("part_of.device", "modul")], "Unknown device 'modul'", None),
    ("unknown-device", SYSTEM, [("device", "dye")], "Unknown device 'dye'", None),
    ("duplicate-alias", DIE, [("aliases", ["Taken"])], "the alias 'Taken' also names other", None),
    ("duplicate-alias", DIE, [("aliases", ["module"])], "the alias 'module' also names module", None),
    ("duplicate-alias", SYSTEM, [("aliases", ["A", "a"])], "stands twice", None),
]  # fmt: skip


@pytest.mark.parametrize("faulty", FAULTY)
def test_each_fault_is_found_and_can_be_waived(faulty: Faulty) -> None:
    check_fault(*faulty)


def test_a_link_with_consistent_rates_has_no_finding() -> None:
    """Both directions of all are twice one, to one neighbour goes no more, to the slowest no more than to that."""
    rates = {
        "per_direction": "300 GB/s",
        "total": "600 GB/s",
        "per_neighbour": "100 GB/s",
        "slowest_neighbour": "50 GB/s",
    }
    assert rules(changed(DIE, ("link", {name: sourced(rate) for name, rate in rates.items()}))) == set()
