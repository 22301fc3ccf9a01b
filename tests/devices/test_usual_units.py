"""Units and clocks of GPUs whose files give none."""

import numpy as np
import pytest

from estimator.core.types import DeviceSpec, Sourced
from estimator.devices import load_device
from estimator.devices.specs.catalogue import all_devices
from estimator.devices.usual_units import USUAL_CLOCK, USUAL_FLOP, with_units
from tests.conftest import make_device


def units_and_clock(device: DeviceSpec) -> tuple[float | None, float | None]:
    found = with_units(device)
    return found.compute_units.value if found.compute_units else None, found.clock


@pytest.mark.parametrize("name", ["h100-sxm5-80gb", "tpu-v4", "xeon-phi-7250", "max-1550"])
def test_what_a_file_gives_stays_and_other_devices_have_no_usual_units(name: str) -> None:
    device = load_device(name)
    assert with_units(device) is device
    other = device.model_copy(update={"compute_units": None, "boost_clock": None, "peak": {}})
    assert device.is_gpu or with_units(other) is other


@pytest.mark.parametrize(
    ("fields", "units", "clock"),
    [
        ({}, 10e12 / (256 * 1.7e9), 1.7e9),
        ({"boost_clock": "1 GHz"}, 10e12 / (256 * 1e9), 1e9),
        (
            {"peak": {"fp32": {"value": "10 TFLOP/s", "clock": "2 GHz", "flop_per_clock": 128}}},
            10e12 / (128 * 2e9),
            2e9,
        ),
        ({"compute_units": 7}, 7, 1.7e9),
        ({"peak": {"fp32": "0.1 TFLOP/s"}}, 1, 1.7e9),
        ({"peak": {"bf16": "90 TFLOP/s"}}, None, 1.7e9),
    ],
)
def test_units_make_the_fp32_peak_at_the_clock(fields: dict[str, object], units: float | None, clock: float) -> None:
    found_units, found_clock = units_and_clock(make_device(**fields))
    assert found_units == (units and round(units))
    assert found_clock == clock


def test_usual_numbers_say_that_they_are_assumed() -> None:
    device = with_units(make_device())
    numbers = [device.compute_units, device.boost_clock]
    assert all(isinstance(number, Sourced) and number.status == "assumed" and number.source for number in numbers)
    assert "256 FLOP in a clock as make the fp32 peak at 1.70 GHz" in str(
        device.compute_units and device.compute_units.source
    )


def test_the_usual_numbers_are_those_of_the_catalogue() -> None:
    known = [device for device in all_devices() if device.is_gpu and device.compute_units and device.clock]
    peaks = [(device, peak) for device in known if (peak := device.peak_of("fp32").vector)]
    assert np.median([device.clock for device, _ in peaks]) == pytest.approx(USUAL_CLOCK, rel=0.02)
    assert np.median([peak.flop_per_clock for _, peak in peaks if peak.flop_per_clock]) == USUAL_FLOP
