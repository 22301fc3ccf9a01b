"""Laws of the memory-bound model, whatever its coefficients."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.model import coefficients
from estimator.model.hardware import Hardware
from estimator.model.memory_bound import StreamCalls, passes, stream_calls, stream_time, unit_time

COEFFICIENTS = coefficients.shipped().memory_bound
UNKNOWN = float("nan")
KERNEL = st.sampled_from(["stream", "softmax", "normalization"])
LENGTH, ROWS = st.integers(1, 20_000), st.integers(1, 100_000)


def device(scale: float = 1.0, units: float = 108.0, cache: float = 40e6) -> Hardware:
    peak, bandwidth, n, size, no = (np.array([v]) for v in (19.5e12 * scale, 1.555e12 * scale, units, cache, UNKNOWN))
    no_one, rate = np.array([False]), np.array([units * 1.41e9 * scale])
    return Hardware(peak, no_one, no_one, bandwidth, n, size, no, no, no_one, no_one, np.ones_like(peak), rate)


def calls(kernel: str, rows: int, length: float, elements: float = 0.0) -> StreamCalls:
    count = np.array([elements or rows * length])
    no = np.array([UNKNOWN])
    return StreamCalls(
        np.array([kernel]), 8 * count, count, np.array([length]), np.array([4.0]), np.array([False]), no, np.zeros(1)
    )


def time(kernel: str, rows: int, length: float, scale: float = 1.0) -> float:
    hardware = device(scale)
    bandwidth = hardware.attained_bandwidth(COEFFICIENTS.streaming)
    return float(stream_time(calls(kernel, rows, length), hardware, bandwidth, COEFFICIENTS)[0])


@given(KERNEL, ROWS, LENGTH)
def test_no_time_is_below_the_roofline(kernel: str, rows: int, length: int) -> None:
    wanted, hardware = calls(kernel, rows, length), device()
    assert time(kernel, rows, length) >= max(wanted.flop / hardware.peak, wanted.bytes / hardware.bandwidth)


@given(KERNEL, ROWS, LENGTH)
def test_doubling_peak_and_bandwidth_halves_the_time(kernel: str, rows: int, length: int) -> None:
    one, two = time(kernel, rows, length), time(kernel, rows, length, scale=2.0)
    assert two == pytest.approx(one / 2)


@given(KERNEL, ROWS, LENGTH, ROWS, LENGTH)
def test_time_never_falls_when_a_dimension_grows(kernel: str, rows: int, length: int, more: int, longer: int) -> None:
    one = time(kernel, rows, length)
    assert time(kernel, rows + more, length) >= one
    assert time(kernel, rows, length + longer) >= one * (1 - 1e-12)


@given(KERNEL, st.sampled_from([{"units": UNKNOWN}, {"cache": UNKNOWN}, {}]), st.sampled_from([UNKNOWN, 3000.0]))
def test_unknown_rows_units_or_cache_at_most_double_the_time(
    kernel: str, lacks: dict[str, float], length: float
) -> None:
    actual = passes(calls(kernel, 1000, length, elements=3e6), device(**lacks), COEFFICIENTS)
    assert 1.0 <= actual <= 2.0


def test_rows_that_outgrow_the_cache_are_read_again() -> None:
    for kernel, length, least, most in (
        ("normalization", 1024, 1.0, 1.5),
        ("softmax", 4096, COEFFICIENTS.softmax_long, 2.0),
    ):
        fits, outgrows = (passes(calls(kernel, 1000, length), device(cache=size), COEFFICIENTS) for size in (1e9, 1e5))
        overhead = 1 + COEFFICIENTS.row_overhead / length if kernel == "normalization" else 1.0
        assert np.allclose([fits / overhead, outgrows / overhead], [[least], [most]], rtol=1e-3)


def test_a_softmax_keeps_rows_of_1024_elements_in_registers() -> None:
    kept, longer = (passes(calls("softmax", 1000, n), device(cache=1e5), COEFFICIENTS) for n in (1024, 1025))
    assert kept == COEFFICIENTS.softmax_short
    assert longer > 1.9


def test_a_cache_half_full_of_rows_in_flight_misses_half_of_what_is_read_again() -> None:
    """Two rows of a softmax in each of 108 units, or 16 of a normalization."""
    row = 4 * 8192
    bare = COEFFICIENTS.model_copy(update={"softmax_short": 1.0, "softmax_long": 1.0, "row_overhead": 0.0})
    softmax, normal = (
        passes(calls(kernel, 1000, 8192), device(cache=2 * 108 * rows * row), bare)
        for kernel, rows in (("softmax", 2), ("normalization", 16))
    )
    assert softmax == pytest.approx(1.5)
    assert normal == pytest.approx(1.25)


def images(operator: str, channels: float, elements: float = 1e8) -> StreamCalls:
    """A batch normalization or a pool in fp32 that reads and writes tensors of so many elements."""
    op_class = "pooling" if "pool" in operator else "normalization"
    tensors = {"batch_norm": 2, "batch_norm_grad": 3}.get(operator, 2)
    row = {"op_class": op_class, "operator": operator, "precision": "fp32", "conv_n": None, "conv_c": channels}
    return stream_calls(pd.DataFrame([{**row, "bytes": 4.0 * tensors * elements, "flop": 0.0}]))


@pytest.mark.parametrize(("operator", "tensors"), [("batch_norm", 3), ("batch_norm_grad", 5)])
def test_a_batch_normalization_reads_its_images_twice_unless_they_stay_in_the_cache(
    operator: str, tensors: int
) -> None:
    """Forward it reads one tensor and writes one, backward it reads two."""
    compulsory = tensors // 2 + 1
    outgrow, stay = (passes(images(operator, 64), device(cache=size), COEFFICIENTS) for size in (1e5, 1e12))
    assert outgrow == pytest.approx(tensors / compulsory, rel=1e-3)
    assert stay == pytest.approx(1.0, rel=1e-3)


def test_fewer_channels_in_flight_stay_in_the_cache() -> None:
    """One of 1,000 channels is read at a time by each of 100 units."""
    cache = 2 * 0.1 * 4e8  # half of it is for what is read: a tenth of the image
    assert passes(images("batch_norm", 1000), device(units=100, cache=cache), COEFFICIENTS) == pytest.approx(1.25)


@pytest.mark.parametrize(
    ("operator", "channels", "busy"),
    [("batch_norm", 27.0, 27), ("batch_norm", 1e4, 108), ("batch_norm", UNKNOWN, 108), ("max_pool", 27.0, 108)],
)
def test_a_unit_takes_its_cycles_for_each_element(operator: str, channels: float, busy: int) -> None:
    """One unit runs a channel of a batch normalization; all units run a pool."""
    cycles = COEFFICIENTS.unit_elements.cycles
    actual = unit_time(images(operator, channels), device(units=108), cycles)
    assert actual == pytest.approx(2e8 * cycles / (busy * 1.41e9))
    endless = np.array([np.inf])
    assert stream_time(images(operator, channels), device(), endless, COEFFICIENTS) == pytest.approx(actual)


@pytest.mark.parametrize("operator", ["batch_norm", "max_pool"])
def test_a_device_that_is_no_gpu_is_limited_by_its_memory(operator: str) -> None:
    unknown = replace(device(), unit_rate=np.array([UNKNOWN]))
    bandwidth = unknown.bandwidth
    actual, wanted = images(operator, 64), passes(images(operator, 64), unknown, COEFFICIENTS) * 8e8 / bandwidth
    assert stream_time(actual, unknown, bandwidth, COEFFICIENTS) == pytest.approx(wanted)


def test_other_kernels_are_not_limited_by_units() -> None:
    assert stream_time(images("layer_norm", 64), device(), np.array([np.inf]), COEFFICIENTS) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("op_class", "operator", "kernel", "row_length"),
    [
        ("normalization", "softmax", "softmax", 64), ("normalization", "softmax_cross_entropy", "softmax", 64),
        ("normalization", "batch_norm", "normalization", None), ("normalization", "layer_norm", "normalization", 64),
        ("elementwise", "softmax", "stream", 64), ("reduction", "sum", "stream", None),
    ],
)  # fmt: skip
def test_rows_of_work_name_their_kernel_and_row_length(
    op_class: str, operator: str, kernel: str, row_length: int | None
) -> None:
    row = {
        "op_class": op_class,
        "operator": operator,
        "precision": "fp16",
        "row_length": row_length,
        "bytes": 8.0,
        "flop": 4.0,
    }
    actual = stream_calls(pd.DataFrame([row]), calls=2.0)
    assert actual.kernel.tolist() == [kernel]
    assert np.array_equal(actual.row_length, [row_length or np.nan], equal_nan=True)
    assert np.array_equal([actual.bytes, actual.flop, actual.itemsize], [[4.0], [2.0], [2.0]])


@pytest.mark.parametrize("lacks", [{"units": UNKNOWN}, {"cache": UNKNOWN}])
def test_of_an_unknown_device_half_of_what_is_read_again_comes_from_memory(lacks: dict[str, float]) -> None:
    bare = COEFFICIENTS.model_copy(update={"softmax_short": 1.0, "softmax_long": 1.0, "row_overhead": 0.0})
    actual = [
        passes(calls(kernel, 9, 8192), device(**lacks), bare) for kernel in ("softmax", "normalization", "stream")
    ]
    assert actual == pytest.approx([1.5, 1.25, 1.0])
