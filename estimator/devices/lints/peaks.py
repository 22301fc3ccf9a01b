"""Lints of peaks: sparse for dense, fp64 for fp32, module for die."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from statistics import median

from estimator.core import units
from estimator.core.types import DeviceSpec, PeakRate
from estimator.devices.lints.finding import Finding, Findings, Rest, near

SLACK = 0.03  # between a printed peak and units × FLOP/clock × clock
ALIKE = 0.2  # clocks of vector and tensor units of one device
ROUNDING = 0.06  # of a printed ratio of two peaks: 362 and 733 TFLOP/s
SAME_CLOCK = 0.02  # 1530 and 1.5 GHz are one clock, printed twice
BORROWED = (0.8, 1.12)  # of a peak to that at a sibling's FLOP/clock: its clock may differ from the one given
MISTAKES = {  # what a ratio of printed to computed peak tells
    2.0: "twice that: is it the sparse peak, fp32 for fp64, or the module of two dies?",
    0.5: "half of that: is it fp64 for fp32, one die of two, or a path at half rate?",
    4.0: "four times that: is it the sparse peak of a narrower precision?",
    1e3: "a thousand times that: check the prefix of the unit",
    1e-3: "a thousandth of that: check the prefix of the unit",
}
STEPS: dict[tuple[str, str], tuple[float, ...]] = {  # (wider, narrower) → the ratios of dense tensor peaks
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
COMPUTED_STEPS = (1, 4)  # also, of two peaks that are units × FLOP/clock × clock: formats that share a path or halve it
SPARSE = re.compile(r"\b(?:with|incl\w*|using|structured|2:4)[\s-]+(?:\w+[\s-]+)?spars", re.IGNORECASE)
DENSE = re.compile(r"dense|hal[fv]|headline|without|twice|2x", re.IGNORECASE)


def rates(spec: DeviceSpec, *paths: str) -> Iterator[tuple[str, str, PeakRate]]:
    """Every peak of the paths (both unless said): precision, dotted name, rate."""
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


def peak_arithmetic(spec: DeviceSpec, rest: Rest) -> Findings:
    """A peak is compute units × FLOP per clock × clock, within 3 %."""
    for _, field, rate in rates(spec):
        product = computed(spec, rate)
        if product is None or near(rate.value, product, SLACK):
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
    yield from _alike(spec)
    yield from _borrowed(spec, rest)


def _borrowed(spec: DeviceSpec, rest: Rest) -> Findings:
    """Where FLOP per clock is not given, it is that of a device of the same architecture on the same path."""
    lent = [
        (field, rate.flop_per_clock, other.name)
        for other in rest.siblings(spec)
        if spec.compute_unit in (None, other.compute_unit)
        for _, field, rate in rates(other)
        if rate.flop_per_clock
    ]
    count = spec.compute_units.value if spec.compute_units else 0
    for _, field, rate in rates(spec):
        clocks = [rate.clock] if rate.clock else [c.value for c in (spec.boost_clock, spec.base_clock) if c]
        shares = [
            (rate.value / (count * clock * per_clock), f"the {per_clock:g} FLOP/clock of {name}")
            for lent_to, per_clock, name in lent
            for clock in clocks
            if lent_to == field and count and not rate.flop_per_clock
        ]
        share, lender = min(shares, key=lambda found: abs(math.log(found[0])), default=(1.0, ""))
        if not BORROWED[0] <= share <= BORROWED[1]:
            yield Finding(
                f"{field} is {units.show(rate.value, 'FLOP/s', 4)}, {share:.3g} x compute_units x clock x {lender}; "
                "is it sparse, a module's or another path's? mend it, or give flop_per_clock",
                (field, "compute_units"),
            )


def _alike(spec: DeviceSpec) -> Findings:
    """Where units or clock are not known, peaks over their FLOP per clock still agree on them."""
    untold = [(f, r, r.flop_per_clock) for _, f, r in rates(spec) if r.flop_per_clock and computed(spec, r) is None]
    for clocked in (True, False):
        paces = {f: r.value / (per_clock * (r.clock or 1)) for f, r, per_clock in untold if bool(r.clock) is clocked}
        usual = median(paces.values()) if paces else 1
        for field, pace in paces.items():
            if not near(pace, usual, ALIKE):
                yield Finding(
                    f"{field} over its flop_per_clock is {pace / usual:.3g} x that of most other peaks; expected the "
                    "same units and clock for all; mend the one that is wrong",
                    (field,),
                )


def sparse_or_dense(spec: DeviceSpec, rest: Rest) -> Findings:
    """No tensor peak is twice or half what its neighbour in precision leads to expect, or said to be with sparsity."""
    for (wide, narrow), steps in STEPS.items():
        first, second = spec.peak_of(wide).tensor, spec.peak_of(narrow).tensor
        if not (first and second):
            continue
        known = None not in (computed(spec, first), computed(spec, second))
        allowed = {*steps, *(COMPUTED_STEPS if known and max(steps) > 1 else ())}
        ratio = second.value / first.value
        slips = [step * slip for step in steps for slip in (2, 0.5)]  # other ratios are cuts of a path, not sparsity
        if _any_near(ratio, slips) and not _any_near(ratio, allowed):
            expected = " or ".join(f"{step:g}" for step in sorted(allowed))
            yield Finding(
                f"peak.{narrow}.tensor is {ratio:.3g} x that of {wide}; expected {expected} x; is one of them the "
                "sparse peak? write the dense one",
                (f"peak.{narrow}.tensor", f"peak.{wide}.tensor"),
            )
    yield from _said_to_be_sparse(spec)


def _any_near(ratio: float, steps: Iterable[float]) -> bool:
    return any(near(ratio, step, ROUNDING) for step in steps)


def _said_to_be_sparse(spec: DeviceSpec) -> Findings:
    for _, field, rate in rates(spec):
        said = f"{rate.source or ''} {rate.note or ''}"
        if SPARSE.search(said) and not DENSE.search(said):
            yield Finding(
                f"{field} is said to be with sparsity; write the dense peak, or what it was halved from", (field,)
            )


def tensor_below_vector(spec: DeviceSpec, rest: Rest) -> Findings:
    """Tensor units are not slower than vector units of the same precision."""
    for precision, peak in spec.peak.items():
        if peak.tensor and peak.vector and peak.tensor.value < peak.vector.value * (1 - SAME_CLOCK):
            tensor, vector = (f"peak.{precision}.{path}" for path in ("tensor", "vector"))
            yield Finding(
                f"{tensor} is {peak.tensor}, below {vector} with {peak.vector}; swap them or mend the wrong one",
                (tensor, vector),
            )


def clock_order(spec: DeviceSpec, rest: Rest) -> Findings:
    """The base clock and the clock of every peak are not above the boost clock."""
    boost = spec.boost_clock
    if boost is None:
        return
    base = [("base_clock", spec.base_clock.value)] if spec.base_clock else []
    clocks = [(field, rate.clock) for _, field, rate in rates(spec) if rate.clock]
    for field, clock in (*base, *clocks):
        if clock > boost.value * (1 + SAME_CLOCK):
            shown = units.show(clock, "Hz", 4)
            of = "" if field == "base_clock" else "the clock of "
            yield Finding(f"{of}{field} is {shown}, above boost_clock with {boost}; mend one", (field, "boost_clock"))
