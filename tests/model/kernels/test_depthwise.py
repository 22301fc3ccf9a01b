"""What one call of a depthwise convolution takes."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.conv_shape import ConvShape
from estimator.core.schema import WORK
from estimator.core.types import DeviceSpec, itemsizes
from estimator.devices import load_device
from estimator.model.coefficients import shipped
from estimator.model.kernels.kernel_model import BusyTime, KernelInputs
from estimator.model.kernels.registry import KERNEL_MODELS
from tests.conftest import make_measurements
from tests.model.test_depthwise import LAYER
from tests.model.toy import predict_on

H100 = load_device("h100")


def busy(device: DeviceSpec = H100, **fields: object) -> BusyTime:
    rows = pd.DataFrame([LAYER | {"conv_n": 64, "conv_h": 56, "conv_w": 56, "stride_h": 1, "stride_w": 1} | fields])
    return KERNEL_MODELS["depthwise"].busy_time(KernelInputs.on_device(with_amounts(rows), device, shipped()))


def with_amounts(rows: pd.DataFrame) -> pd.DataFrame:
    shape = ConvShape.from_table(rows)
    passes = np.where(rows["pass"] == "backward", 2.0, 1.0)
    return rows.assign(flop=passes * shape.flop(), bytes=passes * shape.bytes(itemsizes(rows["precision"])))


def test_units_limit_a_gpu_whatever_the_format() -> None:
    one, narrow = busy(), busy(precision="bf16")
    assert one.time_s == pytest.approx(narrow.time_s)
    assert one.time_s > one.lower_bound_s
    assert one.compute_share > 0.5


def test_a_large_window_in_wide_numbers_is_bound_by_arithmetic() -> None:
    actual = busy(load_device("rtx-4090"), precision="fp64", conv_r=31, conv_s=31, pad_h=15, pad_w=15)
    assert actual.time_s == pytest.approx(actual.lower_bound_s)
    assert actual.serial_s > actual.time_s
    assert actual.compute_share > 0.9


@pytest.mark.parametrize("step_pass", ["forward", "backward"])
def test_measured_rows_may_lack_amounts(step_pass: str) -> None:
    rows = pd.DataFrame([LAYER | {"pass": step_pass}])
    both = [rows, with_amounts(rows)]
    one, other = (KernelInputs.on_device(each, H100, shipped()) for each in both)
    model = KERNEL_MODELS["depthwise"]
    times = [model.busy_time(inputs) for inputs in (one, other)]
    assert times[0].time_s == pytest.approx(times[1].time_s)
    features = [model.features(inputs, time) for inputs, time in zip((one, other), times, strict=True)]
    assert features[0].coordinates == pytest.approx(features[1].coordinates)
    assert features[0].compute_share == pytest.approx(features[1].compute_share)


def test_passes_are_kinds_of_their_own() -> None:
    rows = pd.DataFrame(
        [LAYER | {"pass": name} for name in ("forward", "grad_input", "backward", "grad_weights", None)]
    )
    model, inputs = KERNEL_MODELS["depthwise"], KernelInputs.on_device(rows, H100, shipped())
    actual = model.features(inputs, model.busy_time(inputs))
    assert actual.kind.tolist() == [0, 1, 1, 2, 0]
    assert actual.coordinates[:, 1] == pytest.approx(np.log2(9))


def test_a_measured_depthwise_convolution_corrects_others_alone() -> None:
    """A row without amounts, as benchmarks write it."""
    plain = LAYER | {"groups": 1, "conv_n": 64, "conv_h": 56, "conv_w": 56}
    rows = with_amounts(pd.DataFrame([LAYER | {"conv_n": 64, "conv_h": 56, "conv_w": 56}, plain]))
    work = WORK.conform(rows.assign(op="layer", calls=1.0, time_s=1e-3, operator="convolution"), "toy")
    depthwise = rows.drop(columns=["flop", "bytes"]).iloc[:1].assign(time_s=1e-3, operator="convolution", device="h100")
    measured = make_measurements(depthwise)
    without, actual = (predict_on(work, H100, table).ops["target_time_s"] for table in (measured.iloc[:0], measured))
    assert actual[0] > 2 * without[0]
    assert actual[1] == pytest.approx(without[1])


def test_a_measured_format_corrects_another_by_its_own_traffic() -> None:
    """A call that memory limits, measured in fp32 as it is modelled, moves no call in bf16."""
    device = load_device("rtx-4090")
    large = LAYER | {"conv_n": 64, "conv_c": 128, "conv_k": 128, "groups": 128, "conv_h": 112, "conv_w": 112}
    rows, both = pd.DataFrame([large]), with_amounts(pd.DataFrame([large, large | {"precision": "bf16"}]))
    work = WORK.conform(both.assign(op="layer", calls=1.0, time_s=1e-3, operator="convolution"), "toy")
    model = KERNEL_MODELS["depthwise"].busy_time(KernelInputs.on_device(with_amounts(rows), device, shipped()))
    assert model.compute_share < 0.5
    measured = make_measurements(rows.assign(time_s=model.time_s + 2e-6, operator="convolution", device="rtx-4090"))
    without, actual = (predict_on(work, device, table).ops["target_time_s"] for table in (measured.iloc[:0], measured))
    assert actual.tolist() == pytest.approx(without.tolist(), rel=0.1)
