"""Which measurements of other devices and formats correct a model, and how much."""

import numpy as np
import pytest

from estimator.core.types import MeasuredDevice
from estimator.model.resemblance import MIN_WEIGHT, SAME, UNKNOWN, nearest_first, resemblance
from tests.conftest import make_device
from tests.model.toy import table

NUMBERS = {"peak": {"fp32": "10 TFLOP/s"}, "memory_bandwidth": "500 GB/s", "power_limit": "250 W"}


def test_devices_of_the_same_numbers_resemble_each_other_most() -> None:
    one, two = (make_device(**{**NUMBERS, "name": name}) for name in ("one", "two"))
    assert resemblance(one, "fp32", two, "fp32") == SAME


@pytest.mark.parametrize(
    "other", [{"peak": {"fp32": "5 TFLOP/s"}}, {"memory_bandwidth": "1 TB/s"}, {"power_limit": "500 W"}]
)
def test_each_number_that_differs_by_half_halves_the_weight(other: dict[str, object]) -> None:
    one, two = make_device(**NUMBERS), make_device(**{**NUMBERS, **other, "name": "other"})
    assert resemblance(one, "fp32", two, "fp32") == pytest.approx(SAME / 2)
    assert resemblance(two, "fp32", one, "fp32") == pytest.approx(SAME / 2)


def test_an_unknown_number_makes_devices_less_like() -> None:
    unknown = make_device(**{**NUMBERS, "name": "unknown", "power_limit": None})
    assert resemblance(make_device(**NUMBERS), "fp32", unknown, "fp32") == pytest.approx(SAME * np.exp(-UNKNOWN))


def test_the_nearest_comes_first_and_the_unlike_not_at_all() -> None:
    watts = {"far": 400, "near": 260, "unlike": 25}
    siblings = [
        MeasuredDevice(make_device(**{**NUMBERS, "name": name, "power_limit": f"{power} W"}), table())
        for name, power in watts.items()
    ]
    actual = nearest_first(MeasuredDevice(make_device(**NUMBERS), table()), siblings, "fp32")
    assert [each.measured.device.name for each in actual] == ["near", "far"]
    assert all(each.weight >= MIN_WEIGHT for each in actual)


def test_the_other_16_bit_format_resembles_a_format_on_a_device_and_on_its_siblings() -> None:
    peaks = {"peak": {"fp16": "100 TFLOP/s", "bf16": "100 TFLOP/s"}}
    own, sibling = (MeasuredDevice(make_device(**{**NUMBERS, **peaks, "name": name}), table()) for name in ("a", "b"))
    actual = nearest_first(own, [sibling], "bf16")
    names = [(each.measured.device.name, each.precision, each.weight) for each in actual]
    assert names == [("a", "fp16", SAME), ("b", "bf16", SAME), ("b", "fp16", pytest.approx(SAME**2))]
    assert nearest_first(own, [], "fp32") == []
