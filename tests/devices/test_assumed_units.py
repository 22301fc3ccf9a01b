"""Units and clocks of GPUs whose files give none."""

import numpy as np
import pytest

from estimator.core.types import DeviceSpec
from estimator.devices import load_device
from estimator.devices.assumed_units import (
    UNCERTAINTY,
    UNKNOWN,
    USUAL_CLOCK,
    USUAL_FLOP,
    USUAL_UNITS,
    with_assumed_units,
)
from estimator.devices.specs.catalogue import all_devices
from estimator.model.gemm import DEFAULT_UNITS
from tests.conftest import make_device, without_clocks


@pytest.fixture(scope="module")
def gpus() -> list[DeviceSpec]:
    """GPUs of the catalogue that give units and clock."""
    return [each for each in all_devices() if each.is_gpu and each.compute_units and each.clock and not each.announced]


@pytest.mark.parametrize("name", ["h100-sxm5-80gb", "tpu-v4", "xeon-phi-7250", "max-1550"])
def test_what_a_file_gives_stays_and_other_devices_get_no_units(name: str) -> None:
    device = load_device(name)
    assert with_assumed_units(device) is device
    other = device.model_copy(update={"compute_units": None, "boost_clock": None, "peak": {}})
    assert device.is_gpu or with_assumed_units(other) is other


EXACT = {"value": "10 TFLOP/s", "clock": "1 GHz", "flop_per_clock": 100}


@pytest.mark.parametrize(
    ("fields", "units", "clock", "uncertainty"),
    [
        ({}, 10e12 / (256 * 1.7e9), 1.7e9, UNCERTAINTY),
        ({"boost_clock": "1 GHz"}, 10e12 / (256 * 1e9), 1e9, UNCERTAINTY),
        ({"peak": {"fp32": {"value": "10 TFLOP/s", "clock": "2 GHz"}}}, 10e12 / (256 * 2e9), 2e9, UNCERTAINTY),
        ({"peak": {"fp32": EXACT}}, 100, 1e9, None),
        ({"peak": {"fp32": EXACT, "bf16": {"value": "80 TFLOP/s", "clock": "2 GHz"}}}, 100, 2e9, None),
        ({"peak": {"fp32": EXACT}, "boost_clock": "2 GHz"}, 100, 2e9, None),
        ({"peak": {"bf16": {"value": "80 TFLOP/s", "clock": "2 GHz", "flop_per_clock": 4000}}}, 10, 2e9, None),
        ({"peak": {"bf16": "90 TFLOP/s"}}, USUAL_UNITS, 1.7e9, UNKNOWN),
        ({"peak": {"fp32": "0.1 TFLOP/s"}}, 1, 1.7e9, UNCERTAINTY),
        ({"boost_clock": "1 kHz"}, 4096, 1e3, UNCERTAINTY),
        ({"compute_units": 7}, 7, 1.7e9, None),
        ({"compute_units": 10, "peak": {"fp32": {"value": "2 TFLOP/s", "flop_per_clock": 100}}}, 10, 2e9, None),
    ],
)
def test_units_make_a_peak_at_a_clock(
    fields: dict[str, object], units: float, clock: float, uncertainty: float | None
) -> None:
    actual = with_assumed_units(make_device(**fields))
    assert actual.compute_units is not None
    assert actual.compute_units.value == round(units)
    assert actual.clock == clock
    assert actual.compute_units.relative_uncertainty == uncertainty


def test_what_is_assumed_says_so_and_from_what() -> None:
    device = with_assumed_units(make_device())
    assert device.compute_units is not None
    assert device.compute_units.status == "assumed"
    assert device.compute_units.source == "its file gives none: 10 TFLOP/s / (256 FLOP · 1.70 GHz)"
    assert device.boost_clock is not None
    assert device.boost_clock.source == "its file gives none: usual"


def test_usual_numbers_are_those_of_the_catalogue(gpus: list[DeviceSpec]) -> None:
    peaks = [(device, peak) for device in gpus if (peak := device.peak_of("fp32").vector)]
    assert np.median([device.clock for device, _ in peaks]) == pytest.approx(USUAL_CLOCK, rel=0.02)
    assert np.median([peak.flop_per_clock for _, peak in peaks if peak.flop_per_clock]) == USUAL_FLOP
    assert np.median([device.compute_units.value for device in gpus if device.compute_units]) == USUAL_UNITS
    assert USUAL_UNITS == DEFAULT_UNITS


def test_nine_in_ten_assumed_numbers_are_in_their_intervals(gpus: list[DeviceSpec]) -> None:
    held = []
    for device in gpus:
        actual = with_assumed_units(without_clocks(device).model_copy(update={"compute_units": None}))
        assert actual.compute_units is not None
        assert device.compute_units is not None
        ratio = actual.compute_units.value / device.compute_units.value
        held.append(abs(np.log(ratio)) <= np.log1p(actual.compute_units.relative_uncertainty or 0.0))
    assert 0.88 < np.mean(held) < 0.98
