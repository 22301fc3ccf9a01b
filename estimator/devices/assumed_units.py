"""The compute units and the clock of a GPU whose file gives none: from its peaks, else assumed."""

from __future__ import annotations

from estimator.core import units
from estimator.core.types import DeviceSpec, Sourced

USUAL_CLOCK = 1.7e9  # [Hz] median of the 70 GPUs of the catalogue that state theirs
USUAL_FLOP = 256  # of a unit in one clock, in fp32 on vector units; their median: most have 128 or 256
USUAL_UNITS = 80  # where nothing tells; the median of the catalogue's GPUs
MOST_UNITS = 4096  # of one device
UNCERTAINTY = 1.5  # of assumed units: for nine in ten GPUs of the catalogue they are 1 / 2.5 to 2.5 times the true ones
UNKNOWN = 4.0  # where nothing tells: nine in ten have 15 to 240
CLOCK_UNCERTAINTY = 0.6  # nine in ten of those 70 have 1.0 to 2.5 GHz


def with_assumed_units(device: DeviceSpec) -> DeviceSpec:
    """The device with compute units and a clock, derived or assumed where the file of a GPU gives none.

    Units U make a peak P at a clock f: U = P / (F · f), with the FLOP F of a unit in one clock. That is exact where a
    peak states F and f; else the fp32 peak of the vector units is taken, with USUAL_FLOP and USUAL_CLOCK for what is
    not stated; else USUAL_UNITS. Devices that are no GPUs stay as they are.
    """
    if not device.is_gpu:
        return device
    counted = device if device.compute_units else device.model_copy(update={"compute_units": _units(device)})
    return counted if counted.clock else counted.model_copy(update={"boost_clock": _clock(counted)})


def _units(device: DeviceSpec) -> Sourced:
    fp32 = device.peak_of("fp32")
    for rate in (rate for peak in (fp32, *device.peak.values()) for rate in peak.rates):
        if rate.flop_per_clock and rate.clock:
            return _count(rate.value / (rate.flop_per_clock * rate.clock), f"{rate} / (FLOP in a clock · clock)")
    if fp32.vector is None:
        return _count(USUAL_UNITS, "usual", UNKNOWN)
    flop = fp32.vector.flop_per_clock or USUAL_FLOP
    clock = fp32.vector.clock or device.clock or USUAL_CLOCK
    origin = f"{fp32.vector} / ({flop:g} FLOP · {units.show(clock, 'Hz', 3)})"
    return _count(fp32.vector.value / (flop * clock), origin, UNCERTAINTY)


def _count(value: float, origin: str, uncertainty: float | None = None) -> Sourced:
    return _number(float(min(max(1, round(value)), MOST_UNITS)), "1", origin, uncertainty)


def _clock(device: DeviceSpec) -> Sourced:
    """The clock at which the units of a device make its fp32 peak; else USUAL_CLOCK."""
    peak, count = device.peak_of("fp32").vector, device.compute_units
    if peak and peak.flop_per_clock and count:
        return _number(peak.value / (peak.flop_per_clock * count.value), "Hz", f"{peak} / (FLOP in a clock · units)")
    return _number(USUAL_CLOCK, "Hz", "usual", CLOCK_UNCERTAINTY)


def _number(value: float, unit: str, origin: str, uncertainty: float | None = None) -> Sourced:
    return Sourced(
        value=value,
        unit=unit,
        status="assumed" if uncertainty else "derived",
        relative_uncertainty=uncertainty,
        source=f"its file gives none: {origin}" if uncertainty else origin,
    )
