"""Lints of peaks: sparse for dense, fp64 for fp32, module for die."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from statistics import median

from estimator.core import units
from estimator.core.types import DeviceSpec, PeakRate
from estimator.devices.lints.finding import Catalogue, Finding, Findings, near

TOLERANCE = 0.03  # between a printed peak and units × FLOP/clock × clock
CLOCK_TOLERANCE = 0.2  # relative difference of the clocks of vector and tensor units
ROUNDING = 0.06  # of a printed ratio of two peaks: 362 and 733 TFLOP/s
SAME_CLOCK = 0.02  # 1530 and 1.5 GHz are one clock, printed twice
SIBLING_RANGE = (0.8, 1.12)  # ratio of a peak to that at a sibling's FLOP/clock; its clock may differ
MISTAKES = {  # ratio of printed to computed peak → its likely cause
    2.0: "twice that: is it the sparse peak, fp32 for fp64, or the module of two dies?",
    0.5: "half of that: is it fp64 for fp32, one die of two, or a path at half rate?",
    4.0: "four times that: is it the sparse peak of a narrower precision?",
    1e3: "a thousand times that: check the prefix of the unit",
    1e-3: "a thousandth of that: check the prefix of the unit",
}
PRECISION_STEPS: dict[tuple[str, str], tuple[float, ...]] = {  # (wider, narrower) → the ratios of dense tensor peaks
    ("tf32", "bf16"): (2,),
    ("tf32", "fp16"): (2,),
    ("bf16", "fp16"): (1,),
    ("bf16", "fp8"): (2,),
    ("fp16", "fp8"): (2,),
    ("bf16", "int8"): (2,),
    ("fp16", "int8"): (2,),
    ("fp8", "int8"): (1, 2),
    ("fp8", "fp4"): (2, 3),  # 3: Blackwell Ultra
    ("int8", "fp4"): (2,),
    ("int8", "int4"): (2,),
}
COMPUTED_STEPS = (1, 4)  # allowed too where both peaks are units × FLOP/clock × clock
SPARSE = re.compile(r"\b(?:with|incl\w*|using|structured|2:4)[\s-]+(?:\w+[\s-]+)?spars", re.IGNORECASE)
DENSE = re.compile(r"dense|hal[fv]|headline|without|twice|2x", re.IGNORECASE)


def rates(spec: DeviceSpec, *paths: str) -> Iterator[tuple[str, str, PeakRate]]:
    """Every peak of the paths (default: both): precision, dotted name, rate."""
    for precision, peak in spec.peak.items():
        for path in paths or ("vector", "tensor"):
            rate = getattr(peak, path)
            if rate:
                yield precision, f"peak.{precision}.{path}", rate


def computed(spec: DeviceSpec, rate: PeakRate) -> float | None:
    """Compute units × FLOP/clock × clock [FLOP/s]; None where one of them is not known."""
    clock = rate.clock or (spec.boost_clock.value if spec.boost_clock else None)
    if not (rate.flop_per_clock and clock and spec.compute_units):
        return None
    return spec.compute_units.value * rate.flop_per_clock * clock


def peak_arithmetic(spec: DeviceSpec, catalogue: Catalogue) -> Findings:
    """A peak is compute units × FLOP per clock × clock, within 3 %."""
    for _, field, rate in rates(spec):
        product = computed(spec, rate)
        if product is None or near(rate.value, product, TOLERANCE):
            continue
        ratio = rate.value / product
        mistake = next(
            (words for size, words in MISTAKES.items() if near(ratio, size, ROUNDING)), f"{ratio:.3g} x that"
        )
        yield Finding(
            f"{field} is {units.show(rate.value, 'FLOP/s', 4)}; compute_units x flop_per_clock x clock give "
            f"{units.show(product, 'FLOP/s', 4)}, so it is {mistake}; mend the one that is wrong",
            (field, "compute_units", *(() if rate.clock else ("boost_clock",))),
        )
    yield from _consistent_clocks(spec)
    yield from _sibling_arithmetic(spec, catalogue)


def _sibling_arithmetic(spec: DeviceSpec, catalogue: Catalogue) -> Findings:
    """A peak without FLOP per clock agrees with that of a device of the same architecture on the same path."""
    count = spec.compute_units.value if spec.compute_units else 0
    incomplete = [(field, rate) for _, field, rate in rates(spec) if count and not rate.flop_per_clock]
    if not incomplete:
        return
    sibling_rates = [
        (field, rate.flop_per_clock, other.name)
        for other in catalogue.siblings(spec)
        if spec.compute_unit in (None, other.compute_unit)
        for _, field, rate in rates(other)
        if rate.flop_per_clock
    ]
    for field, rate in incomplete:
        clocks_hz = (
            [rate.clock] if rate.clock else [clock.value for clock in (spec.boost_clock, spec.base_clock) if clock]
        )
        shares = [
            (rate.value / (count * clock_hz * per_clock), f"the {per_clock:g} FLOP/clock of {name}")
            for sibling_field, per_clock, name in sibling_rates
            for clock_hz in clocks_hz
            if sibling_field == field
        ]
        share, reference = min(shares, key=lambda candidate: abs(math.log(candidate[0])), default=(1.0, ""))
        if not SIBLING_RANGE[0] <= share <= SIBLING_RANGE[1]:
            yield Finding(
                f"{field} is {units.show(rate.value, 'FLOP/s', 4)}, {share:.3g} x compute_units x clock x {reference}; "
                "is it sparse, a module's or another path's? mend it, or give flop_per_clock",
                (field, "compute_units"),
            )


def _consistent_clocks(spec: DeviceSpec) -> Findings:
    """Where units or clock are unknown, peak / FLOP per clock is the same for all peaks."""
    known = [
        (field, rate, rate.flop_per_clock)
        for _, field, rate in rates(spec)
        if rate.flop_per_clock and computed(spec, rate) is None
    ]
    for has_clock in (True, False):
        ratios = {
            field: rate.value / (per_clock * (rate.clock or 1))
            for field, rate, per_clock in known
            if bool(rate.clock) is has_clock
        }
        typical = median(ratios.values()) if ratios else 1
        for field, ratio in ratios.items():
            if not near(ratio, typical, CLOCK_TOLERANCE):
                yield Finding(
                    f"{field} over its flop_per_clock is {ratio / typical:.3g} x that of most other peaks; "
                    "expected the same units and clock for all; mend the one that is wrong",
                    (field,),
                )


def sparse_or_dense(spec: DeviceSpec, catalogue: Catalogue) -> Findings:
    """No tensor peak is twice or half what its neighbour in precision leads to expect, or said to be with sparsity."""
    for (wide, narrow), steps in PRECISION_STEPS.items():
        first, second = spec.peak_of(wide).tensor, spec.peak_of(narrow).tensor
        if not (first and second):
            continue
        both_computed = None not in (computed(spec, first), computed(spec, second))
        allowed = {*steps, *(COMPUTED_STEPS if both_computed and max(steps) > 1 else ())}
        ratio = second.value / first.value
        wrong_ratios = [step * slip for step in steps for slip in (2, 0.5)]  # others are cuts of a path, not sparsity
        if _any_near(ratio, wrong_ratios) and not _any_near(ratio, allowed):
            expected = " or ".join(f"{step:g}" for step in sorted(allowed))
            yield Finding(
                f"peak.{narrow}.tensor is {ratio:.3g} x that of {wide}; expected {expected} x; is one of them the "
                "sparse peak? write the dense one",
                (f"peak.{narrow}.tensor", f"peak.{wide}.tensor"),
            )
    yield from _noted_as_sparse(spec)


def _any_near(ratio: float, steps: Iterable[float]) -> bool:
    return any(near(ratio, step, ROUNDING) for step in steps)


def _noted_as_sparse(spec: DeviceSpec) -> Findings:
    for _, field, rate in rates(spec):
        text = f"{rate.source or ''} {rate.note or ''}"
        if SPARSE.search(text) and not DENSE.search(text):
            yield Finding(
                f"{field} is said to be with sparsity; write the dense peak, or what it was halved from", (field,)
            )


def tensor_below_vector(spec: DeviceSpec, catalogue: Catalogue) -> Findings:
    """Tensor units are not slower than vector units of the same precision."""
    for precision, peak in spec.peak.items():
        if peak.tensor and peak.vector and peak.tensor.value < peak.vector.value * (1 - SAME_CLOCK):
            tensor, vector = (f"peak.{precision}.{path}" for path in ("tensor", "vector"))
            yield Finding(
                f"{tensor} is {peak.tensor}, below {vector} with {peak.vector}; swap them or mend the wrong one",
                (tensor, vector),
            )


def clock_order(spec: DeviceSpec, catalogue: Catalogue) -> Findings:
    """The base clock and the clock of every peak are not above the boost clock."""
    boost = spec.boost_clock
    if boost is None:
        return
    base = [("base_clock", spec.base_clock.value)] if spec.base_clock else []
    clocks = [(field, rate.clock) for _, field, rate in rates(spec) if rate.clock]
    for field, clock in (*base, *clocks):
        if clock > boost.value * (1 + SAME_CLOCK):
            shown = units.show(clock, "Hz", 4)
            prefix = "" if field == "base_clock" else "the clock of "
            yield Finding(
                f"{prefix}{field} is {shown}, above boost_clock with {boost}; mend one", (field, "boost_clock")
            )
