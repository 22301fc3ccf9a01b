"""The numbers of a device that each op meets."""

import numpy as np
import pandas as pd
import pytest

from estimator.model.hardware import TYPICAL_YEAR, hardware_of, peak_of_op
from tests.conftest import make_device

DEVICE = make_device(
    peak={"fp32": "10 TFLOP/s", "fp64": "5 TFLOP/s", "tf32": "50 TFLOP/s", "bf16": "100 TFLOP/s"}, compute_units="80"
)
OPS = pd.DataFrame({"op_class": ["gemm", "gemm", "elementwise", "elementwise"], "precision": ["tf32", "fp32"] * 2})


@pytest.mark.parametrize(
    ("op_class", "precision", "field"),
    [
        ("gemm", "bf16", "peak.bf16.tensor"), ("convolution", "bf16", "peak.bf16.tensor"),
        ("gemm", "fp32", "peak.fp32.vector"), ("elementwise", "bf16", "peak.fp32.vector"),
        ("elementwise", "fp64", "peak.fp64.vector"),
    ],
)  # fmt: skip
def test_matrix_work_takes_tensor_units_and_other_work_the_vector_units(
    op_class: str, precision: str, field: str
) -> None:
    name, peak = peak_of_op(DEVICE, op_class, precision)
    assert name == field
    assert peak


@pytest.mark.parametrize(
    ("op_class", "fp16", "taken"),
    [
        ("gemm", {"value": "20 TFLOP/s", "path": "vector"}, 10e12),
        ("convolution", {"value": "1 TFLOP/s", "path": "vector"}, 10e12),
        ("gemm", {"value": "20 TFLOP/s", "path": "vector", "accumulate": "fp32"}, 20e12),
        ("gemm", "80 TFLOP/s", 80e12),
        ("elementwise", {"value": "20 TFLOP/s", "path": "vector"}, 20e12),
    ],
)
def test_products_of_fp16_on_vector_units_sum_in_fp32(op_class: str, fp16: object, taken: float) -> None:
    _, peak = peak_of_op(make_device(peak={"fp32": "10 TFLOP/s", "fp16": fp16}), op_class, "fp16")
    assert peak is not None
    assert peak.value == taken


def test_each_op_meets_the_peak_of_its_class_and_precision() -> None:
    actual = hardware_of(DEVICE, OPS["op_class"], OPS["precision"])
    assert actual.peak.tolist() == [50e12, 10e12, 10e12, 10e12]
    assert actual.tensor.tolist() == [True, False, False, False]
    assert actual.factor_bytes.tolist() == [2, 4, 2, 4]  # a multiplier takes of tf32 what it takes of fp16
    assert actual.units.tolist() == [80] * 4
    assert actual.at(np.array([True, False, False, True])).peak.tolist() == [50e12, 10e12]


def test_missing_numbers_are_nan_except_peak_of_streams_and_year() -> None:
    bare = make_device(peak={"bf16": "100 TFLOP/s"})
    actual = hardware_of(bare, OPS["op_class"], OPS["precision"])
    assert np.isnan(actual.peak[:2]).all()
    assert np.isinf(actual.peak[2:]).all()
    assert np.isnan([actual.units, actual.cache, actual.power]).all()
    assert (actual.year == TYPICAL_YEAR).all()


def test_a_measured_bandwidth_is_attained_as_it_is() -> None:
    quoted = make_device(memory_bandwidth={"value": "1 TB/s", "status": "read", "source": "x"})
    measured = make_device(memory_bandwidth={"value": "1 TB/s", "status": "measured", "source": "x"})
    one, other = (hardware_of(d, OPS["op_class"], OPS["precision"]) for d in (quoted, measured))
    assert (one.attained_bandwidth(0.8) == 0.8e12).all()
    assert (other.attained_bandwidth(0.8) == 1e12).all()


@pytest.mark.parametrize(("lanes", "filled"), [(64, 1.0), (128, 1.0), (192, 128 / 0.9 / 192)])
def test_schedulers_fill_at_most_so_many_lanes_of_a_unit(lanes: int, filled: float) -> None:
    device = make_device(
        peak={"fp32": {"value": "4 TFLOP/s", "flop_per_clock": 2 * lanes}, "fp64": "1 TFLOP/s"}, compute_units=10
    )
    actual = hardware_of(device, pd.Series(["gemm", "gemm"]), pd.Series(["fp32", "fp64"]))
    assert actual.filled.tolist() == pytest.approx([filled, 1.0])


def test_without_flop_per_clock_all_lanes_are_filled() -> None:
    assert hardware_of(DEVICE, OPS["op_class"], OPS["precision"]).filled.tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("fields", "rate"),
    [
        ({"boost_clock": "1.8 GHz"}, 100 * 1.8e9),
        ({}, 100 * 1.5e9),
        ({"compute_units": None}, np.nan),
        ({"peak": {"fp32": "10 TFLOP/s"}}, np.nan),
        ({"compute_unit": "core", "boost_clock": "3 GHz"}, np.nan),
    ],
)
def test_units_of_a_gpu_run_at_the_boost_clock_else_at_that_of_a_peak(fields: dict[str, object], rate: float) -> None:
    peak = {"fp32": {"value": "10 TFLOP/s", "clock": "1.5 GHz"}}
    device = make_device(**{"compute_unit": "SM", "compute_units": 100, "peak": peak, **fields})
    assert hardware_of(device, *_kinds()).unit_rate[0] == pytest.approx(rate, nan_ok=True)


def _kinds() -> tuple[pd.Series, pd.Series]:
    return OPS["op_class"], OPS["precision"]
