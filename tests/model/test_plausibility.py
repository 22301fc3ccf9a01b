"""Counted work that the source could not have done in its own time is not believed."""

from collections.abc import Mapping

import pytest

from estimator.core.types import DeviceSpec, Workload
from estimator.model.plausibility import excess, is_believed, notes
from estimator.work import count_work
from tests.conftest import make_device, make_ops

GPU: dict[str, object] = {"compute_unit": "SM", "last_level_cache": "40 MB"}
PRODUCT = {"op_type": "MatMul", "m": 4096, "n": 4096, "k": 4096}  # 137 GFLOP: 13.7 ms at 10 TFLOP/s
STREAM = {"op_type": "Relu", "shapes": "10000x10000"}  # 800 MB: 1.6 ms at 500 GB/s
SMALL = {"op_type": "Relu", "shapes": "1000x4000"}  # 32 MB: 64 us, from the cache 16 us
CONVOLUTION = {
    "op_type": "Conv2D", "shapes": "64x56x56x64;3x3x64x64", "output_shapes": "64x56x56x64",
    "attributes": "strides=1x1;padding=SAME;layout=NHWC",
}  # fmt: skip


def believed(op: Mapping[str, object], time_s: float, device: DeviceSpec | None) -> bool:
    work = count_work(make_ops({**op, "time_s": time_s}), Workload(name="toy")).work
    assert work["flop"].notna().all()
    return bool(is_believed(excess(work, device)).item())


@pytest.mark.parametrize(("op", "least_s"), [(PRODUCT, 13.7e-3), (STREAM, 1.52e-3), (SMALL, 16e-6)])
def test_an_op_may_be_as_fast_as_peak_bandwidth_and_cache_allow(op: Mapping[str, object], least_s: float) -> None:
    device = make_device(**GPU)
    assert believed(op, 0.95 * least_s, device)
    assert not believed(op, 0.8 * least_s, device)


def test_products_of_fp32_may_run_in_tf32() -> None:
    device = make_device(**GPU, peak={"fp32": "10 TFLOP/s", "tf32": "80 TFLOP/s"})
    assert believed(PRODUCT, 2e-3, device)
    assert not believed({**PRODUCT, "precision": "fp64"}, 2e-3, make_device(peak={"fp64": "10 TFLOP/s"}))


def test_products_of_fp16_may_sum_in_fp16() -> None:
    device = make_device(**GPU, peak={"fp32": "10 TFLOP/s", "fp16": {"value": "80 TFLOP/s", "path": "vector"}})
    assert believed({**PRODUCT, "precision": "fp16"}, 2e-3, device)


def test_transforms_may_spare_most_of_a_convolution_but_not_on_cores() -> None:
    direct_s = 2 * 64 * 56 * 56 * 64 * 64 * 9 / 10e12
    assert believed(CONVOLUTION, direct_s / 3, make_device(**GPU, memory_bandwidth="5 TB/s"))
    assert not believed(CONVOLUTION, direct_s / 3, make_device(compute_unit="core", memory_bandwidth="5 TB/s"))


def test_a_measured_rate_is_no_limit() -> None:
    bandwidth = {"value": "500 GB/s", "status": "measured", "source": "x"}
    assert believed(STREAM, 1e-3, make_device(memory_bandwidth=bandwidth))
    assert not believed(STREAM, 1e-3, make_device(**GPU))


def test_an_unknown_cache_may_hold_every_operand() -> None:
    assert believed(STREAM, 0.5e-3, make_device(compute_unit="SM"))
    assert not believed(STREAM, 0.3e-3, make_device(compute_unit="SM"))


@pytest.mark.parametrize("device", [None, make_device(specifications="unknown")])
def test_nothing_is_doubted_without_the_sources_specifications(device: DeviceSpec | None) -> None:
    assert believed(PRODUCT, 1e-9, device)


def test_what_the_host_of_an_accelerator_ran_is_not_compared_with_it() -> None:
    assert believed({**PRODUCT, "placement": "/host:CPU"}, 1e-4, make_device(**GPU))
    assert not believed({**PRODUCT, "placement": "/device:GPU:0"}, 1e-4, make_device(**GPU))


def test_an_op_that_took_no_time_is_not_compared() -> None:
    assert believed(PRODUCT, 0.0, make_device())


def test_the_note_names_the_longest_op_and_the_share_of_the_step() -> None:
    rows = [{**PRODUCT, "time_s": 1e-4}, {**PRODUCT, "time_s": 3e-4}, {**PRODUCT, "time_s": 1.96e-2}]
    work = count_work(make_ops(*rows), Workload(name="toy")).work
    (note,) = notes(work, excess(work, make_device()))
    assert (note.code, note.subject) == ("work-unbelievable", "op1")
    assert note.share == pytest.approx(0.02)
    assert "op1: 45.7 ×, 1.5 % of the step; op0" in note.text
    assert notes(work.iloc[2:], excess(work.iloc[2:], make_device())) == ()
