"""The time of a kernel by itself: as modelled, corrected by what was measured on the device."""

from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from estimator.core.interval import log_spread
from estimator.core.types import MeasuredDevice, RunPlan, Workload
from estimator.devices import load_device
from estimator.devices.measurements.tables import load_measurements
from estimator.model import SourceRun, TargetDevice, predict
from estimator.model.coefficients import shipped
from estimator.model.isolated import DeviceOps, estimate_kernels, residuals
from estimator.model.kernels.kernel_model import KernelInputs, launch_latency
from estimator.model.kernels.registry import KERNEL_MODELS
from estimator.model.measured_rows import applicable_rows, one_row_per_shape
from estimator.work import count_work
from tests.conftest import make_device, make_ops
from tests.model.toy import ROW, SHAPE, SLOW, predict_on, predict_products, streams, table

DEVICES = ("p100-pcie-16gb", "v100-sxm2-16gb", "xeon-phi-7250")


def test_measurements_correct_near_shapes_more_than_far_ones() -> None:
    """Twice as slow as modelled: a near shape is nearly so, a batch of products less, a far shape hardly."""
    near: dict[str, object] = {**SHAPE, "k": 2112}
    far: dict[str, object] = {"m": 64, "n": 64, "k": 64}
    batched: dict[str, object] = {**SHAPE, "batch": 64}
    modelled, measured = (predict_products(rows, near, far, batched) for rows in (table(), table(SLOW)))
    slower_near, slower_far, slower_batched = np.log(measured["target_time_s"] / modelled["target_time_s"])
    assert slower_near > 0.5 * np.log(2)
    assert 10 * slower_far < slower_batched < slower_near / 1.5
    assert list(measured["method"]) == ["interpolated", "scaled", "scaled"]
    assert list(modelled["method"]) == ["roofline"] * 3


def test_a_measured_neighbour_narrows_the_interval() -> None:
    modelled, measured = (predict_products(rows, {**SHAPE, "m": 1032}).iloc[0] for rows in (table(), table(SLOW)))
    assert measured["high_s"] / measured["low_s"] < modelled["high_s"] / modelled["low_s"]


def test_an_op_that_took_little_beyond_its_launch_corrects_no_other() -> None:
    small: dict[str, object] = {"m": 16, "n": 16, "k": 16}
    actual = predict_products(table((16, 16, 16, "n", "n", 1e-3)), {**small, "m": 32})
    assert actual["method"].iloc[0] == "roofline"


def test_interpolated_times_never_beat_the_roofline() -> None:
    cheating = (1024, 512, 2048, "n", "n", 2e-5)
    actual = predict_products(table(cheating), {"m": 1028, "n": 512, "k": 2048}).iloc[0]
    assert actual["method"] == "interpolated"
    assert actual["target_time_s"] == pytest.approx(5e-6 + 2 * 1028 * 512 * 2048 / 10e12)


PEAKS = dict.fromkeys(("fp32", "fp16", "bf16"), "10 TFLOP/s")
SIBLING = make_device(name="sibling", peak=dict.fromkeys(PEAKS, "12 TFLOP/s"))


def predict_beside(sibling: pd.DataFrame, own: pd.DataFrame, precision: str = "fp32") -> pd.Series:
    """PREDICTION of a product, where a device of the architecture measured these rows."""
    work = count_work(make_ops({"op_type": "MatMul", **SHAPE}), Workload(name="toy")).work.assign(precision=precision)
    target = TargetDevice(make_device(peak=PEAKS), own, lambda: [MeasuredDevice(SIBLING, sibling)])
    return predict(work, SourceRun(), target, RunPlan("toy", draws=10)).ops.iloc[0]


def test_measured_products_of_a_sibling_correct_the_model_in_part() -> None:
    """Twice as slow as modelled there: slower here too, less sure than where it was measured here."""
    modelled, sibling, own = (
        predict_beside(table(), table()),
        predict_beside(table(SLOW), table()),
        predict_products(table(SLOW), {**SHAPE, "m": 1025}).iloc[0],
    )
    assert 1.2 < sibling["target_time_s"] / modelled["target_time_s"] < 1.9
    assert sibling["method"] == "scaled"
    assert own["high_s"] / own["low_s"] < sibling["high_s"] / sibling["low_s"] < modelled["high_s"] / modelled["low_s"]


def test_a_sibling_that_does_what_its_own_model_predicts_corrects_nothing() -> None:
    work = count_work(make_ops({"op_type": "MatMul", **SHAPE}), Workload(name="toy")).work
    as_modelled = predict_on(work, SIBLING, table()).ops["target_time_s"].item()
    modelled, sibling = (predict_beside(rows, table()) for rows in (table(), table((*SLOW[:-1], as_modelled))))
    assert sibling["target_time_s"] == pytest.approx(modelled["target_time_s"], rel=1e-3)
    assert sibling["resembling"] == "sibling in fp32, with a weight of 36 %"


def test_own_products_come_before_those_of_a_sibling() -> None:
    assert predict_beside(table(SLOW), table(ROW)).equals(predict_beside(table(), table(ROW)))


def test_products_of_a_sibling_in_a_wider_format_correct_nothing() -> None:
    assert predict_beside(table(SLOW), table(), "fp16").equals(predict_beside(table(), table(), "fp16"))


def test_products_in_the_other_16_bit_format_correct_the_model_in_part() -> None:
    """Twice as slow as modelled in bf16: slower in fp16 too, on this device and on a sibling."""
    slow = table(SLOW).assign(precision="bf16")
    modelled, own, sibling = (
        predict_beside(*rows, "fp16") for rows in ((table(), table()), (table(), slow), (slow, table()))
    )
    assert modelled["target_time_s"] < sibling["target_time_s"] < own["target_time_s"] < 2 * modelled["target_time_s"]
    assert (modelled["method"], sibling["method"], own["method"]) == ("roofline", "roofline", "scaled")


def test_the_order_of_the_measured_rows_does_not_matter() -> None:
    device = load_device("v100")
    rows = load_measurements(device)
    dims = [
        {"op_type": "MatMul", "m": m, "n": n, "k": k} for m in (64, 1000, 4096) for n in (32, 700) for k in (512, 3000)
    ]
    work = count_work(make_ops(*dims), Workload(name="toy")).work
    shuffled = rows.sample(frac=1, random_state=1).reset_index(drop=True)
    a, b = (predict_on(work, device, each, RunPlan("v100", draws=0)).samples for each in (rows, shuffled))
    assert np.allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("name", DEVICES)
def test_small_products_take_at_least_a_launch_and_grow_no_faster_than_their_rows(name: str) -> None:
    device = load_device(name)
    dims = [{"op_type": "MatMul", "m": m, "n": 16, "k": 64} for m in (64, 96, 128, 192, 256, 384, 512)]
    work = count_work(make_ops(*dims), Workload(name="toy")).work
    actual = predict_on(work, device, load_measurements(device), RunPlan(name, draws=0)).samples[0]
    longer = actual[1:] / actual[:-1]
    assert actual.min() >= launch_latency(device, shipped())
    assert (longer > 0.99).all()
    assert (longer < 1.01 * work["m"].to_numpy(dtype=float)[1:] / work["m"].to_numpy(dtype=float)[:-1]).all()


def test_a_residual_leaves_the_launch_out_and_is_as_sure_as_the_ends_of_its_time() -> None:
    """A row that takes what is modelled, and one of nine in ten within a tenth, up and down."""
    device, latency, coefficients, tenth = make_device(), 20e-6, shipped(), 0.1 * NormalDist().inv_cdf(0.95)
    rows = table(ROW, SLOW)
    model = KERNEL_MODELS["gemm"]
    time = latency + model.busy_time(KernelInputs.on_device(rows, device, coefficients)).time_s
    sides = np.array([np.nan, tenth])
    rows = rows.assign(time_s=time, time_low_s=time * np.exp(-sides), time_high_s=time * np.exp(sides))
    actual = residuals(model, KernelInputs.on_device(rows, device, coefficients), latency)
    assert actual.log_residual == pytest.approx([0, 0], abs=1e-12)
    part = time / (time - latency)
    beyond_launch = np.sqrt(part**2 - 1.0)  # by which a measurement's noise is more of what is left of it
    noise = beyond_launch * coefficients.gemm.hyperparameters.noise
    assert actual.residual_std == pytest.approx(np.hypot([0, 0.1] * part, noise))


def test_a_small_stream_counts_where_one_library_timed_it_on_both_devices() -> None:
    """Half as long as a launch beside it; by one device alone its time may be the launch's."""
    rows = streams(1e-6 + 0.5e-6)
    work = count_work(
        make_ops({"op_type": "AddV2", "shapes": "1000;1000", "time_s": 1.5e-6}), Workload(name="toy")
    ).work
    device = make_device(launch_latency="1 us", memory_bandwidth="24 GB/s")
    named = device.model_copy(update={"name": "source"})
    slow = rows.assign(time_s=1e-6 + 1.5e-6)
    one, both = (predict_on(work, device, slow, source=named, at_source=there).ops for there in (None, rows))
    assert one["method"].item() != "interpolated"
    assert both["target_time_s"].item() == pytest.approx(2.5e-6, rel=0.15)


def test_an_op_that_moves_nothing_takes_its_launch() -> None:
    work = count_work(make_ops({"op_type": "Relu", "bytes": 0.0, "flop": 0.0}), Workload(name="toy")).work
    actual = predict_on(work, make_device(launch_latency="5 us"), table()).ops.iloc[0]
    assert (actual["bound"], actual["target_time_s"]) == ("latency", pytest.approx(5e-6))


def test_measurements_lengthen_arithmetic_and_traffic_in_turn_as_they_do_the_time() -> None:
    work = count_work(make_ops({"op_type": "MatMul", **SHAPE, "k": 2112}), Workload(name="toy")).work
    actual = [
        estimate_kernels(DeviceOps(work, make_device(), {"warm": one_row_per_shape(applicable_rows(rows))}), "warm")
        for rows in (table(), table(SLOW))
    ]
    modelled, measured = ((each.serial_s.item(), each.time_s.item()) for each in actual)
    longer = measured[1] / modelled[1]
    assert longer > 1.4
    assert measured[0] / modelled[0] == pytest.approx(longer)


def test_assumed_units_count_as_far_as_they_limit_an_op() -> None:
    """A small product leaves units idle, the more the more there are at a given peak; a large one fills all."""
    work = count_work(
        make_ops(
            {"op_type": "MatMul", "shapes": "128x4096;4096x128"}, {"op_type": "MatMul", "shapes": "8192x8192;8192x8192"}
        ),
        Workload(name="toy", precision="fp32"),
    ).work
    known = make_device(compute_units=80)
    assumed = make_device(compute_units={"value": 80, "uncertainty": "400 %"})
    certain, uncertain = (estimate_kernels(DeviceOps(work, device, {"warm": table()})) for device in (known, assumed))
    assert (certain.unit_slopes == 0).all()
    small, large = uncertain.unit_slopes[:, 0]
    assert 0.1 < small <= 1.0
    assert abs(large) < 0.05
    assert (uncertain.time_s == certain.time_s).all()
    spreads = [
        log_spread(ops["low_s"], ops["high_s"])
        for ops in (predict_on(work, device, table()).ops for device in (known, assumed))
    ]
    assert spreads[1][0] > 1.1 * spreads[0][0]
    assert spreads[1][1] == pytest.approx(spreads[0][1], rel=0.02)
