import numpy as np
import pandas as pd
import pytest

from estimator.core.schema import MEASUREMENTS
from estimator.devices.measurements import bounds
from tests.conftest import make_device

PEAKS = {
    "fp32": "10 TFLOP/s",
    "fp16": {"vector": "20 TFLOP/s", "tensor": {"value": "100 TFLOP/s", "accumulate": "fp32"}},
    "int8": {"value": "200 TOP/s"},
    "fp8": "unsupported",
    "tf32": "unsupported",
    "fp64": "unsupported",
}
SLOW_HALF = {"fp32": "10 TFLOP/s", "fp16": {"value": "1 TFLOP/s", "path": "vector"}}
MATRIX = {"fp32": {"vector": "10 TFLOP/s", "tensor": "40 TFLOP/s"}, "fp16": {"vector": "20 TFLOP/s"}}
PASCAL = {"fp32": "10 TFLOP/s", "fp16": {"value": "20 TFLOP/s", "path": "vector"}}


def rows(*given: dict[str, object]) -> pd.DataFrame:
    frame = pd.DataFrame([{"op_class": "gemm", "precision": "fp32", "time_s": 1.0, **row} for row in given])
    return MEASUREMENTS.conform(frame, "rows")


@pytest.mark.parametrize(
    ("peak", "precision", "accumulate", "expected"),
    [
        (PEAKS, "fp32", None, 10e12),
        (PEAKS, "fp16", None, 100e12),
        (PEAKS, "fp16", "fp32", 100e12),
        (PEAKS, "fp16", "fp16", np.inf),  # tensor units may sum faster in fp16 than the data sheet says of fp32
        (PEAKS, "int8", None, 200e12),
        (PEAKS, "bf16", None, np.inf),
        (PEAKS, "fp8", None, 100e12),  # widened to fp16: fp8 has no path
        (PEAKS, "fp8", "fp16", 100e12),
        (PEAKS, "tf32", None, 10e12),  # as fp32
        (PEAKS, "fp64", None, 200e12),  # of which nothing is wider
        (PASCAL, "fp16", None, 20e12),
        (SLOW_HALF, "fp16", None, 10e12),  # widened, as nothing says what it sums in
        (SLOW_HALF, "fp16", "fp16", 1e12),
        (PEAKS, "bf16", "fp32", np.inf),  # unknown, whatever it sums in
        (MATRIX, "fp16", "fp32", 40e12),
        (PASCAL, "fp16", "fp16", 20e12),
        (PASCAL, "fp16", "fp32", 10e12),  # fp16 operands on fp32 units, not the fp16 path of the vector units
    ],
)
def test_peaks_depend_on_the_accumulator(
    peak: dict[str, object], precision: str, accumulate: str | None, expected: float
) -> None:
    values = bounds.peaks(rows({"precision": precision, "accumulate": accumulate}), make_device(peak=peak))
    assert values.tolist() == [expected]


def test_least_times_of_each_op_class() -> None:
    device = make_device(peak={"fp32": "1 TFLOP/s"}, memory_bandwidth="100 GB/s")
    values = bounds.least_times(
        rows(
            {"m": 1000, "n": 1000, "k": 1000},  # 2 GFLOP bind
            {"m": 1, "n": 1000, "k": 1000},  # a matrix of 4 MB does
            {"m": 1000, "n": 1000, "k": 1000, "sparsity": 0.9},  # of which nothing is known
            {"op_class": "elementwise", "bytes": 1e9},
            {"op_class": "recurrent"},
            {"op_class": "recurrent", "cell": "gru", "hidden": 100, "sequences": 2, "timesteps": 5},
            {"op_class": "recurrent", "cell": "gru", "hidden": 100, "sequences": 500, "timesteps": 9,
             "input_width": 50, "pass": "backward"},
            {"op_class": "convolution", "conv_n": 1, "conv_c": 4, "conv_h": 9, "conv_w": 7, "conv_k": 8, "conv_r": 3,
             "conv_s": 3, "stride_h": 2},
            {"op_class": "convolution", "conv_n": 1, "conv_c": 4, "conv_h": 9, "conv_w": 7, "conv_k": 8, "conv_r": 3,
             "conv_s": 3, "conv_d": 9, "conv_t": 3},
        ),
        device,
    )  # fmt: skip
    matrix = 4 * (1000 + 1000 + 1e6) / 100e9
    flat = max(2 * 8 * 4 * 5 * 4 * 9 / 1e12, 4 * (4 * 63 + 8 * 36 + 8 * 4 * 5) / 100e9)
    deep = max(2 * 8 * 7 * 7 * 5 * 4 * 27 / 1e12, 4 * (4 * 9 * 63 + 8 * 4 * 27 + 8 * 7 * 7 * 5) / 100e9)
    few, many = 4 * (3 * 100 * 100 + 10 * 100) / 100e9, 2 * 2 * 4500 * 3 * 100 * 150 / 1e12  # sequences in all steps
    assert values.tolist() == pytest.approx([2e-3, matrix, 0, 1e-2, 0, few, many, flat, deep])


def test_rates_are_of_dense_products_alone() -> None:
    given = rows({"m": 10, "n": 10, "k": 10}, {"m": 10, "n": 10, "k": 10, "sparsity": 0.5}, {"op_class": "elementwise"})
    assert np.isnan(bounds.product_rates(given)).tolist() == [False, True, True]
    assert bounds.product_rates(given)[0] == 2000


SMALL: dict[str, object] = {"op_class": "convolution", "conv_n": 2, "conv_c": 4, "conv_h": 9, "conv_w": 7, "conv_k": 8,
                            "conv_r": 3, "conv_s": 3}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "times"),
    [({"groups": 2}, 1 / 2), ({"pass": "backward"}, 2), ({"conv_p": 14}, 2), ({"conv_q": 15}, 3)],
)
def test_rates_of_scaled_convolutions(more: dict[str, object], times: float) -> None:
    plain, scaled = bounds.rates(rows(SMALL, {**SMALL, **more}))
    assert scaled / plain == pytest.approx(times)


def test_measured_rates_are_no_limit() -> None:
    measured = {"value": "10 TFLOP/s", "status": "measured"}
    bandwidth = {"value": "1 GB/s", "status": "measured"}
    device = make_device(peak={"fp32": measured, "fp16": "20 TFLOP/s"}, memory_bandwidth=bandwidth)
    limits, given = bounds.physical(device), rows({"m": 9, "n": 9, "k": 9}, {"precision": "fp16", "accumulate": "fp16"})
    assert bounds.peaks(given, limits).tolist() == [np.inf, 20e12]
    assert bounds.least_times(given, limits).tolist() == [0, 0]
    assert bounds.peaks(given, device)[0] == 10e12
