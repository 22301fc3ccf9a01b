"""What one call of a depthwise convolution takes."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.conv_shape import ConvShape
from estimator.core.types import DeviceSpec
from estimator.devices import load_device
from estimator.model.coefficients import shipped
from estimator.model.kernels.kernel_model import BusyTime, KernelInputs
from estimator.model.kernels.registry import KERNEL_MODELS
from tests.conftest import make_device
from tests.model.test_depthwise import LAYER

H100 = load_device("h100")


def busy(device: DeviceSpec = H100, **fields: object) -> BusyTime:
    rows = pd.DataFrame([LAYER | {"conv_n": 64, "conv_h": 56, "conv_w": 56, "stride_h": 1, "stride_w": 1} | fields])
    shape = ConvShape.from_table(rows)
    amounts = rows.assign(flop=shape.flop(), bytes=shape.bytes(4.0))
    return KERNEL_MODELS["depthwise"].busy_time(KernelInputs.on_device(amounts, device, shipped()))


def test_units_limit_a_gpu_whatever_the_format() -> None:
    one, narrow = busy(), busy(precision="bf16")
    assert one.time_s == pytest.approx(narrow.time_s)
    assert one.time_s > one.lower_bound_s
    assert one.compute_share > 0.5


def test_memory_limits_a_gpu_of_unknown_units() -> None:
    device = make_device(compute_unit="SM")
    found = busy(device)
    assert found.compute_share == 0
    assert found.time_s == pytest.approx(found.lower_bound_s / shipped().memory_bound.streaming)


def test_a_processor_convolves_as_ever() -> None:
    rows = pd.DataFrame([LAYER | {"flop": 1e9, "bytes": 1e6}])
    inputs = KernelInputs.on_device(rows, load_device("epyc-7763"), shipped())
    own, other = (KERNEL_MODELS[name].busy_time(inputs).time_s for name in ("depthwise", "convolution"))
    assert own == pytest.approx(other)


def test_passes_are_kinds_of_their_own() -> None:
    rows = pd.DataFrame([LAYER | {"pass": name, "flop": 1e9, "bytes": 1e6} for name in ("forward", "grad_input", None)])
    model, inputs = KERNEL_MODELS["depthwise"], KernelInputs.on_device(rows, H100, shipped())
    found = model.features(inputs, model.busy_time(inputs))
    assert found.kind.tolist() == [0, 1, 0]
    assert found.coordinates[:, 1] == pytest.approx(np.log2(9))
