"""Lints of peaks: sparse for dense, fp64 for fp32, module for die."""

import copy

import pytest

from estimator.core.types import DeviceSpec
from tests.devices.lints import mutants
from tests.devices.lints.files import (
    DIE,
    H100,
    MODULE,
    SHIPPED_CATALOGUE,
    Faulty,
    changed,
    check_fault,
    faults,
    rules,
    sourced,
)

FAULTY: list[Faulty] = [
    ("peak-arithmetic", MODULE, [("peak.fp4.tensor.value", "3064 TFLOP/s")],
     "twice that: is it the sparse", "peak.fp4.tensor"),
    ("peak-arithmetic", MODULE, [("peak.fp4.tensor.value", "1580 TFLOP/s")],
     "so it is 1.03 x that", "peak.fp4.tensor"),
    ("peak-arithmetic", MODULE, [("peak.fp64.vector.value", "23.9 TFLOP/s")],
     "half of that: is it fp64 for", "peak.fp64.vector"),
    ("sparse-or-dense", MODULE, [("peak.bf16.tensor.value", "192 TFLOP/s"), ("peak.bf16.tensor.flop_per_clock", 512)],
     "peak.fp16.tensor is 1.99 x that of bf16; expected 1 x", "peak.bf16.tensor"),
    ("sparse-or-dense", MODULE, [("peak.fp8.tensor.note", "with sparsity")],
     "peak.fp8.tensor is said to be with sparsity", "peak.fp8.tensor"),
    ("sparse-or-dense", MODULE, [("peak.int8.tensor", sourced("1533 TOP/s"))],
     "peak.int8.tensor is 4 x that of bf16", "peak.int8.tensor"),
    ("tensor-below-vector", MODULE,
     [("peak.fp64.tensor.value", "23.9 TFLOP/s"), ("peak.fp64.tensor.flop_per_clock", 64)],
     "peak.fp64.tensor is 23.9 TFLOP/s, below peak.fp64.vector", "peak.fp64.vector"),
    ("clock-order", DIE, [("base_clock.value", "1750 MHz")],
     "base_clock is 1.750 GHz, above boost_clock with 1.7 GHz", "base_clock"),
]  # fmt: skip


@pytest.mark.parametrize("faulty", FAULTY)
def test_each_fault_is_found_and_can_be_waived(faulty: Faulty) -> None:
    check_fault(*faulty)


def test_peak_arithmetic_uses_the_boost_clock_and_needs_units() -> None:
    unclocked = mutants.deleted(MODULE, ("peak", "fp32", "vector", "clock"))
    free = changed(unclocked, ("peak.fp32.vector.value", "100 TFLOP/s"))
    assert rules(free) == {"peak-arithmetic"}
    assert rules(changed(free, ("boost_clock", None))) == set()
    assert rules(changed(free, ("compute_units", None), ("boost_clock", None))) == set()


def test_peaks_without_clocks_are_checked_against_each_other() -> None:
    unclocked = copy.deepcopy(MODULE)
    for paths in unclocked["peak"].values():
        for rate in paths.values() if isinstance(paths, dict) else ():
            del rate["clock"]
    unclocked |= {"boost_clock": None}
    assert rules(unclocked) == set()
    assert rules(changed(unclocked, ("peak.fp32.vector.value", "187.2 TFLOP/s"))) == {"peak-arithmetic"}


@pytest.mark.parametrize(
    ("note", "sparse"),
    [
        ("with sparsity", True),
        ("including 2:4 structured sparsity", True),
        ("headline 1979 is with sparsity", False),
        ("989 dense; 1979 with sparsity", False),
        ("halved from the figure with sparsity", False),
        (None, False),
    ],
)
def test_notes_that_state_sparsity_are_recognised(note: str | None, sparse: bool) -> None:
    assert ("sparse-or-dense" in rules(changed(MODULE, ("peak.fp8.tensor.note", note)))) is sparse


def test_given_flop_per_clock_is_not_compared_with_siblings() -> None:
    cut = H100 | {"peak": {"bf16": sourced("148 TFLOP/s")}}
    assert "peak-arithmetic" in {fault.rule for fault in faults(cut, DeviceSpec, SHIPPED_CATALOGUE)}
    with_flop_per_clock = cut | {"peak": {"bf16": sourced("148 TFLOP/s", flop_per_clock=566)}}
    assert "peak-arithmetic" not in {fault.rule for fault in faults(with_flop_per_clock, DeviceSpec, SHIPPED_CATALOGUE)}
