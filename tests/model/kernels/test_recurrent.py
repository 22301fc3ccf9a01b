"""What one call of a recurrent layer takes."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.schema import WORK
from estimator.core.types import DeviceSpec
from estimator.devices import load_device
from estimator.devices.measurements import load_measurements
from estimator.model.coefficients import shipped
from estimator.model.kernels.kernel_model import BusyTime, KernelInputs
from estimator.model.kernels.registry import KERNEL_MODELS
from tests.conftest import make_device, make_measurements
from tests.model.toy import predict_on

H100 = load_device("h100")
START_S = shipped().kernel_priors.recurrent.start_s
LAYER = {
    "op_class": "recurrent", "operator": "recurrent", "precision": "bf16", "pass": "forward", "cell": "lstm",
    "hidden": 1024, "input_width": 1024, "sequences": 64, "timesteps": 128,
}  # fmt: skip

OF_HOST = pd.DataFrame([{"op_class": "host", "operator": "host", "precision": "fp32"}])


def busy(device: DeviceSpec = H100, **fields: object) -> BusyTime:
    rows = pd.DataFrame([LAYER | fields])
    return KERNEL_MODELS["recurrent"].busy_time(KernelInputs.on_device(rows, device, shipped()))


def product_s(m: int, n: int, k: int) -> float:
    rows = pd.DataFrame([{"op_class": "gemm", "precision": "bf16", "batch": 1, "m": m, "n": n, "k": k}])
    return KERNEL_MODELS["gemm"].busy_time(KernelInputs.on_device(rows, H100, shipped())).time_s.item()


def test_each_step_takes_its_product_and_a_start() -> None:
    step = product_s(4096, 64, 1024) + START_S
    assert busy().time_s.item() == pytest.approx(128 * step + product_s(4096, 64 * 128, 1024))
    assert busy(timesteps=256, input_width=0).time_s.item() == pytest.approx(256 * step)


def test_backward_is_both_gradients() -> None:
    both, *each = (busy(H100, **{"pass": name}) for name in ("backward", "grad_input", "grad_weights"))
    for name in ("time_s", "serial_s", "lower_bound_s"):
        assert getattr(both, name) == pytest.approx(sum(getattr(one, name) for one in each))


def test_a_processor_starts_no_kernels() -> None:
    device = load_device("epyc-7763")
    times = [busy(device, precision="fp32", timesteps=count, input_width=0).time_s.item() for count in (1, 1000)]
    assert times[1] == pytest.approx(1000 * times[0])
    unknown = make_device(peak={"fp32": "10 TFLOP/s"})
    assert unknown.compute_unit is None
    assert busy(unknown, precision="fp32", hidden=16).time_s > 128 * START_S
    own, gpu = (busy(each, precision="fp32", timesteps=1, sequences=1, hidden=16) for each in (device, H100))
    assert own.time_s < START_S < gpu.time_s
    assert busy(device, precision="fp32").time_s > busy(device, precision="fp32").lower_bound_s


def test_passes_are_kinds_of_their_own() -> None:
    passes = ("forward", "grad_input", "backward", "grad_weights", None)
    rows = pd.DataFrame([LAYER | {"pass": name} for name in passes])
    model, inputs = KERNEL_MODELS["recurrent"], KernelInputs.on_device(rows, H100, shipped())
    actual = model.features(inputs, model.busy_time(inputs))
    assert actual.kind.tolist() == [0, 1, 1, 2, 0]
    assert actual.coordinates[0] == pytest.approx([*np.log2([4, 1024, 2, 64, 128]), 0, 0])


def test_a_measured_layer_takes_its_time_and_corrects_others() -> None:
    rows = pd.DataFrame([LAYER, LAYER | {"timesteps": 120}, LAYER | {"input_width": 512}])
    work = WORK.conform(rows.assign(op="layer", calls=1.0, time_s=1e-3), "toy")
    measured = make_measurements(rows.iloc[:1].assign(time_s=1.0, device="h100"))
    without, actual = (predict_on(work, H100, table).ops for table in (measured.iloc[:0], measured))
    assert actual["method"].tolist() == ["measured", "interpolated", "interpolated"]
    assert actual["target_time_s"].iloc[0] == pytest.approx(1.0)
    assert (actual["target_time_s"] > 5 * without["target_time_s"]).all()


def test_layers_of_known_amounts_alone_have_no_model() -> None:
    """Their steps are not known, which most of their time may be."""
    rows = pd.DataFrame([{"op_class": "recurrent", "operator": "recurrent", "precision": "bf16", "flop": 1e12,
                          "bytes": 1e9, "op": "layer", "calls": 1.0, "time_s": 1e-3}])  # fmt: skip
    actual = predict_on(WORK.conform(rows, "toy"), H100, make_measurements(rows.iloc[:0])).ops
    assert actual["method"].tolist() == ["proportional"]


def test_steps_that_wait_are_bound_by_latency() -> None:
    rows = pd.DataFrame([LAYER | {"hidden": width, "precision": "fp32"} for width in (64, 8192)])
    work = WORK.conform(pd.concat([rows, OF_HOST]).assign(op="layer", calls=1.0, time_s=1e-3), "toy")
    actual = predict_on(work, H100, make_measurements(rows.iloc[:0].assign(time_s=1.0)))
    assert actual.ops["bound"].fillna("").tolist() == ["latency", "memory", ""]
    assert actual.launch[0, 2] == 0
    start_s = 128 * START_S
    assert actual.launch[0, 0] == pytest.approx(start_s, rel=0.01)
    assert actual.samples[0, 0] - actual.launch[0, 0] < 0.5 * start_s


@pytest.mark.parametrize("name", ["p100-pcie-16gb", "v100-sxm2-16gb"])
def test_every_shipped_layer_is_measured(name: str) -> None:
    device = load_device(name)
    measured = load_measurements(device, named=name)
    layers = measured[measured["op_class"] == "recurrent"].reset_index(drop=True)
    untimed = layers.drop(columns=["time_s", "time_low_s", "time_high_s"])
    work = WORK.conform(untimed.assign(op="layer", calls=1.0, time_s=1e-3), "toy")
    actual = predict_on(work, device, measured).ops
    assert set(actual["method"]) == {"measured"}
    assert actual["target_time_s"].to_numpy() == pytest.approx(layers["time_s"].to_numpy(), rel=0.2)
