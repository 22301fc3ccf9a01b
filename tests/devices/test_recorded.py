"""Which device of the catalogue a profiler recorded."""

import math
from dataclasses import replace

import pytest

from estimator.core.types import DeviceNumbers, Profile
from estimator.devices.recorded import recorded_devices

GIB = 2.0**30
MI300X = DeviceNumbers(304, 192 * GIB, 2.1e9, 2.66e12, "AMD")
A100 = DeviceNumbers(108, 79.2 * GIB, 1.41e9, 2.039e12)


def names(profile: Profile, numbers: DeviceNumbers, recorded: str | None = None) -> list[str]:
    stated = replace(profile, device=None, device_numbers=numbers, device_recorded=recorded)
    return [device.name for device in recorded_devices(stated)]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (MI300X, ["mi300x"]),
        (replace(MI300X, memory=256 * GIB), ["mi325x"]),
        (replace(MI300X, vendor="NVIDIA"), []),
        (replace(MI300X, clock=1.7e9), []),
        (A100, ["a100-sxm4-80gb"]),
        (replace(A100, bandwidth=1.935e12), ["a100-pcie-80gb"]),
        (replace(A100, bandwidth=math.nan), ["a100-pcie-80gb", "a100-sxm4-80gb"]),
        (DeviceNumbers(80, 15.8 * GIB, 1.53e9), ["v100-sxm2-16gb"]),
        (DeviceNumbers(64, 206e9), []),  # as many cores as a processor has
    ],
)
def test_units_memory_clock_and_bandwidth_tell_the_device(
    p1b3: Profile, numbers: DeviceNumbers, expected: list[str]
) -> None:
    assert names(p1b3, numbers) == expected


def test_a_name_counts_before_numbers(p1b3: Profile) -> None:
    assert names(p1b3, MI300X, "NVIDIA H100 80GB HBM3") == ["h100-sxm5-80gb"]
    assert names(p1b3, MI300X, "AMD Radeon Graphics") == ["mi300x"]
    stated = replace(p1b3, device="my own machine", device_numbers=MI300X)
    assert recorded_devices(stated) == ()


def test_without_name_and_numbers_no_device_is_known(p1b3: Profile) -> None:
    assert recorded_devices(replace(p1b3, device=None)) == ()
