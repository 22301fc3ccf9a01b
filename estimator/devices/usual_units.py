"""The compute units and the clock of a GPU whose file gives none."""

from __future__ import annotations

from estimator.core import units
from estimator.core.types import DeviceSpec, Sourced

USUAL_CLOCK = 1.7e9  # [Hz] median of the 70 GPUs of the catalogue that state theirs; nine in ten have 0.9 to 2.5 GHz
USUAL_FLOP = 256  # of a unit in one clock, in fp32 on vector units: 128 lanes, as in most GPUs of the catalogue


def with_units(device: DeviceSpec) -> DeviceSpec:
    """The device with its compute units and their clock; where its file gives none, usual ones are assumed.

    A usual clock is USUAL_CLOCK. Units U make the fp32 peak P of the vector units at a clock f: U = P / (F · f), with
    the FLOP F of a unit in one clock. Devices that are no GPUs stay as they are; so do units without a known fp32 peak.
    """
    if not device.is_gpu:
        return device
    clock = Sourced(value=USUAL_CLOCK, unit="Hz", status="assumed", source="usual; its file gives none")
    with_clock = device if device.clock else device.model_copy(update={"boost_clock": clock})
    count = None if device.compute_units else _usual_count(with_clock)
    return with_clock if count is None else with_clock.model_copy(update={"compute_units": count})


def _usual_count(device: DeviceSpec) -> Sourced | None:
    """As many units as make the fp32 peak of a device with a clock; None where that peak is unknown."""
    peak, clock = device.peak_of("fp32").vector, device.clock
    if peak is None or clock is None:
        return None
    flop = peak.flop_per_clock or USUAL_FLOP
    source = f"as many of {flop:g} FLOP in a clock as make the fp32 peak at {units.show(clock, 'Hz', 3)}"
    return Sourced(value=max(1.0, round(peak.value / (flop * clock))), unit="1", status="assumed", source=source)
