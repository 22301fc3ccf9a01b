"""Numbers as files write them: their forms, and the ends beyond which they are slips."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core import quantities
from estimator.core.quantities import amount, dollars, pue, read_peaks, seconds, share, spread
from tests.conftest import make_device


def bandwidth(written: object) -> Any:
    """The memory bandwidth of a device whose file writes it so."""
    return make_device(memory_bandwidth=written).memory_bandwidth


def test_a_number_is_text_with_a_unit_or_a_mapping_with_details() -> None:
    plain, detailed = bandwidth("900 GB/s"), bandwidth({"value": "0.9 TB/s", "uncertainty": "3 %", "source": "sheet"})
    assert (plain.value, plain.unit, plain.relative_uncertainty) == (900e9, "B/s", None)
    assert (detailed.value, detailed.unit, detailed.relative_uncertainty) == (900e9, "B/s", 0.03)
    assert detailed.source == "sheet"


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"source": "sheet"}, "has no 'value'; write value: 900 GB/s"),
        ({"value": "9 GB/s", "unit": "B/s"}, "has the key 'unit'; write the unit into 'value'"),
        ({"value": "9 GB/s", "relative_uncertainty": 0.1}, "has the key 'relative_uncertainty'"),
        ("9e31 GB/s", "which no machine has"),
        ("1e-40 GB/s", "which no machine has"),
        ({"value": "9 GB/s", "uncertainty": "1100 %"}, "has the uncertainty '1100 %'"),
        ({"value": "9 GB/s", "uncertainty": 1.5}, "has the uncertainty 1.5; write a share above zero such as '3 %'"),
    ],
)
def test_a_number_of_another_form_is_refused(written: object, words: str) -> None:
    with pytest.raises(ValueError, match="memory_bandwidth") as caught:
        bandwidth(written)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("read", "written", "value"),
    [
        (seconds, "60 h", 216_000.0), (seconds, "1 ps", 1e-12), (seconds, "1e12 s", 1e12),
        (dollars, "3 USD", 3.0), (pue, 1, 1.0), (pue, "5", 5.0),
        (share, "95 %", 0.95), (share, 1, 1.0), (spread, 0, 0.0), (spread, "50 %", 0.5), (amount, "2.5", 2.5),
        (amount, 1e-29, 1e-29), (amount, 1e30, 1e30),
    ],
)  # fmt: skip
def test_quantities_are_read_as_si(read: Callable[[object], float], written: object, value: float) -> None:
    assert read(written) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("read", "written"),
    [
        (seconds, "0 s"), (seconds, "1e-13 s"), (seconds, "2e12 s"), (seconds, 60), (seconds, "3 GB"),
        (dollars, 3), (dollars, "0 USD"), (dollars, "1e31 USD"), (dollars, "1e-31 USD"),
        (pue, 0.99), (pue, 5.1), (pue, True), (share, 0), (share, "101 %"), (share, True), (share, "3 s"),
        (spread, -0.1), (spread, 0.51), (spread, "nan"),
        (amount, 0), (amount, 1e-31), (amount, "inf"), (amount, 1e31), (amount, "1 GB"),
    ],
)  # fmt: skip
def test_what_no_such_quantity_is_is_refused(read: Callable[[object], float], written: object) -> None:
    with pytest.raises(ValueError, match="is "):
        read(written)


@pytest.mark.parametrize("written", [True, False])
def test_yes_and_no_of_yaml_count_as_no_number(written: bool) -> None:
    with pytest.raises(ValueError, match="as YAML reads yes and no"):
        quantities.no_flag(written)
    assert quantities.no_flag(1) == 1


@pytest.mark.parametrize("names", [("half", "fp16"), ("fp16", "half"), ("half", "float16")])
def test_two_names_of_one_format_are_refused(names: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match=f"gives {names[0]} and {names[1]}, which are one format; keep one"):
        read_peaks(dict.fromkeys(names, "1 TFLOP/s"))


@pytest.mark.parametrize(
    ("written", "words"),
    [("60 TFLOP/s", "write one line per precision"), ({"fp32": {"value": "1 TFLOP/s", "path": "matrix"}}, "the path")],
)
def test_peaks_of_another_form_are_refused(written: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_peaks(written)


def test_the_forms_of_a_peak_are_read() -> None:
    device = make_device(
        peak={
            "fp32": "60 TFLOP/s",
            "bf16": {"value": "900 TFLOP/s", "accumulate": "fp32", "clock": "1.8 GHz", "status": "read", "source": "x"},
            "fp16": {"vector": "120 TFLOP/s", "tensor": {"value": "900 TFLOP/s", "uncertainty": "3 %"}},
            "int8": {"value": "62 TOP/s", "path": "vector"},
            "fp8": "unsupported",
        }
    )
    bf16, fp16 = device.peak_of("bf16").matrix, device.peak_of("fp16")
    assert bf16 is not None
    assert (bf16.value, bf16.clock, bf16.accumulate, bf16.unverified) == (900e12, 1.8e9, "fp32", False)
    assert device.peak_of("bf16").vector is None
    assert fp16.matrix is fp16.tensor
    assert fp16.tensor is not None
    assert fp16.tensor.relative_uncertainty == 0.03
    assert device.peak_of("int8").vector is not None
    assert not device.peak_of("fp8").supported
    assert device.peak_of("fp64").supported  # unknown is not unsupported


@given(st.sampled_from(["900 GB", "fast", "-1 GB/s", "0 GB/s", "1e999 GB/s", 900, [], {}]))
def test_a_wrong_bandwidth_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="memory_bandwidth"):
        make_device(memory_bandwidth=wrong)
