"""Which measured devices of an architecture correct a model, and how much."""

import numpy as np
import pytest

from estimator.core.types import MeasuredDevice
from estimator.model.siblings import MIN_WEIGHT, SAME, UNKNOWN, nearest_first, resemblance
from tests.conftest import make_device
from tests.model.toy import table

NUMBERS = {"peak": {"fp32": "10 TFLOP/s"}, "memory_bandwidth": "500 GB/s", "power_limit": "250 W"}


def test_devices_of_the_same_numbers_resemble_each_other_most() -> None:
    assert resemblance(make_device(**NUMBERS), make_device(**NUMBERS), "fp32") == SAME


@pytest.mark.parametrize(
    "other", [{"peak": {"fp32": "5 TFLOP/s"}}, {"memory_bandwidth": "1 TB/s"}, {"power_limit": "500 W"}]
)
def test_each_number_that_differs_by_half_halves_the_weight(other: dict[str, object]) -> None:
    one, two = make_device(**NUMBERS), make_device(**{**NUMBERS, **other})
    assert resemblance(one, two, "fp32") == pytest.approx(SAME / 2)
    assert resemblance(two, one, "fp32") == pytest.approx(SAME / 2)


def test_an_unknown_number_makes_devices_less_like() -> None:
    unknown = make_device(**{name: value for name, value in NUMBERS.items() if name != "power_limit"})
    assert resemblance(make_device(**NUMBERS), unknown, "fp32") == pytest.approx(SAME * np.exp(-UNKNOWN))


def test_the_nearest_comes_first_and_the_unlike_not_at_all() -> None:
    watts = {"far": 400, "near": 260, "unlike": 25}
    siblings = [
        MeasuredDevice(make_device(**{**NUMBERS, "name": name, "power_limit": f"{power} W"}), table())
        for name, power in watts.items()
    ]
    found = list(nearest_first(make_device(**NUMBERS), siblings, "fp32"))
    assert [sibling.device.name for _, sibling in found] == ["near", "far"]
    assert all(weight >= MIN_WEIGHT for weight, _ in found)
