"""Numbers of shipped files on which pages differ: each is settled with a source, and its note tells the others."""

import pytest

from estimator.core.types import Sourced
from estimator.devices import load_device, load_system
from estimator.devices.specs.values import sourced_values

SETTLED = [  # device or system, field, SI value, status, what its note tells of the other figures
    ("rtx-pro-6000-server", "memory_bandwidth", 1792e9, "read", ("1597", "Server Edition")),
    ("trainium2", "peak.bf16.tensor", 632e12, "derived", ("667",)),
    ("trainium2", "peak.fp8.tensor", 1264e12, "derived", ("1299",)),
    ("trainium1", "peak.bf16.tensor", 184e12, "derived", ("190",)),
    ("trainium1", "peak.int8.tensor", 368e12, "derived", ("380", "190")),
    ("inferentia2", "peak.bf16.tensor", 184e12, "derived", ("190",)),
    ("inferentia2", "peak.int8.tensor", 368e12, "derived", ("380", "190")),
    ("b300-sxm", "compute_units", 148, "read", ("160", "full")),
    ("sn40l", "memory_bandwidth", 1600e9, "read", ("25.6 TB/s", "2 TB/s")),
    ("gaudi3", "link.per_direction", 525e9, "derived", ("21", "600")),
    ("gaudi3", "link.total", 1050e9, "derived", ("1200",)),
    ("jupiter-booster", "nodes", 5884, "derived", ("6000", "5938")),
]
FILLED = [  # gaps of shipped files: published, derived, or recalled and marked
    ("h100-sxm5-64gb", "peak.bf16.tensor", "derived"),
    ("h100-sxm5-64gb", "memory_bandwidth", "derived"),
    ("a100-sxm4-64gb", "peak.bf16.tensor", "derived"),
    ("bgq-node", "peak.fp32.vector", "derived"),
    ("b200-sxm", "last_level_cache", "read"),
    ("h200-sxm-141gb", "last_level_cache", "recall"),
    ("gh200-96gb", "last_level_cache", "recall"),
    ("epyc-9654", "peak.bf16.vector", "recall"),
    ("gaudi3", "peak.fp16.tensor", "derived"),
    ("gaudi3", "peak.fp32.vector", "derived"),
]


def number(name: str, field: str) -> Sourced:
    spec = load_system(name) if name == "jupiter-booster" else load_device(name)
    return dict(sourced_values(spec))[field]


@pytest.mark.parametrize(("name", "field", "value", "status", "words"), SETTLED)
def test_a_question_is_settled(name: str, field: str, value: float, status: str, words: tuple[str, ...]) -> None:
    actual = number(name, field)
    assert actual.value == pytest.approx(value)
    assert actual.status == status
    assert actual.source
    assert actual.note
    assert all(word in actual.note for word in words)


@pytest.mark.parametrize(("name", "field", "status"), FILLED)
def test_a_gap_is_filled_and_marked(name: str, field: str, status: str) -> None:
    actual = number(name, field)
    assert actual.status == status
    assert actual.source
    assert actual.note
    assert actual.confidence != "high"


def test_a_bandwidth_whose_memory_is_disputed_holds_both() -> None:
    actual = number("h100-sxm5-64gb", "memory_bandwidth")
    assert actual.relative_uncertainty is not None
    assert (
        actual.value * (1 + actual.relative_uncertainty) >= 4 / 5 * number("h100-sxm5-80gb", "memory_bandwidth").value
    )


def test_what_nothing_tells_stays_unknown_and_says_so() -> None:
    gh200 = load_device("gh200-96gb")
    assert gh200.power_limit is None
    assert any("power_limit is not known" in note for note in gh200.notes)
