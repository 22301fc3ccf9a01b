"""TRUTH rows as arguments of kernel models: what a call takes, and the hardware of each row's device."""

import pandas as pd
import pytest

from estimator.devices import load_device
from estimator.validation import arguments
from tests.validation.public import truth

V100, P4 = "v100-pcie-32gb", "p4"
PRODUCT = {"device": V100, "data_set": "neusight-linear", "m": 512, "n": 512, "k": 512}


def test_groups_are_named_by_data_set_and_device() -> None:
    rows = pd.DataFrame({"data_set": ["a", "a", "b"], "device": ["x", "y", "x"]})
    assert arguments.groups(rows).tolist() == ["a x", "a y", "b x"]


@pytest.mark.parametrize(
    ("stack", "op_class", "expected_us"),
    [
        ("neusight", "gemm", 30), ("neusight", "convolution", 75), ("neusight", "elementwise", 18),
        ("neusight", "normalization", 18), ("deepbench", "gemm", 4), ("deepbench", "convolution", 4),
        ("vidur", "elementwise", 4),
    ],
)  # fmt: skip
def test_a_call_of_an_eager_framework_takes_longer_than_a_launch(stack: str, op_class: str, expected_us: float) -> None:
    actual = arguments.latencies(pd.DataFrame({"stack": [stack], "op_class": [op_class]}))
    assert actual.tolist() == pytest.approx([1e-6 * expected_us])


def test_each_row_has_the_hardware_of_its_device() -> None:
    rows = truth(PRODUCT, PRODUCT | {"device": P4}, PRODUCT)
    actual = arguments.hardware(rows.iloc[[0, 1, 2]])
    by_row = rows["device"].tolist()
    for name in ("bandwidth", "year", "power"):
        each = {device: getattr(arguments.hardware(rows[rows["device"] == device]), name)[0] for device in (V100, P4)}
        assert getattr(actual, name).tolist() == [each[device] for device in by_row]
        assert each[V100] != each[P4]


def test_the_peak_is_that_of_the_row_where_it_has_one() -> None:
    rows = truth(PRODUCT, PRODUCT)
    spec = load_device(V100).peak_of("fp32").matrix
    assert spec is not None
    actual = arguments.hardware(rows.assign(peak=[3e12, None], path=["tensor", "vector"]))
    assert actual.peak.tolist() == pytest.approx([3e12, spec.value])
    assert actual.tensor.tolist() == [True, False]
