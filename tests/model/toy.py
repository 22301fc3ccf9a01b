"""Toy devices, their measurements, and what is predicted by them."""

from collections.abc import Collection, Mapping

import pandas as pd

from estimator.core.types import DeviceSpec, Prediction, RunPlan, Sourced, Workload
from estimator.devices.measurements.tables import check_rows
from estimator.model import SourceRun, TargetDevice, predict
from estimator.work import convert_precision, count_work
from tests.conftest import make_device, make_measurements, make_ops

PLAN = RunPlan("toy", draws=10)
ROW = (1024, 512, 2048, "n", "t", 3e-4)
SLOW = (1024, 512, 2048, "n", "t", 6e-4)
SHAPE: dict[str, object] = {"m": 1024, "n": 512, "k": 2048}
NEAR: dict[str, object] = {**SHAPE, "m": 1032}
RATES = ("vector", "tensor", "memory_bandwidth", "power_limit")


def faster(device: DeviceSpec, factor: float, rates: Collection[str] = RATES) -> DeviceSpec:
    """The device with these rates times a factor: all of them, and the power that feeds them, where none are named."""

    def scaled(value: Sourced | None, rate: str) -> Sourced | None:
        return value.model_copy(update={"value": factor * value.value}) if value and rate in rates else value

    peaks = {
        precision: peak.model_copy(update={rate: scaled(getattr(peak, rate), rate) for rate in ("vector", "tensor")})
        for precision, peak in device.peak.items()
    }
    rest = {rate: scaled(getattr(device, rate), rate) for rate in ("memory_bandwidth", "power_limit")}
    return device.model_copy(update={"peak": peaks, **rest})


def table(*rows: tuple[int, int, int, str, str, float]) -> pd.DataFrame:
    """Measured fp32 products: m, n, k, transposes and time [s]."""
    columns = ("m", "n", "k", "trans_a", "trans_b", "time_s")
    frame = pd.DataFrame(rows, columns=columns).assign(op_class="gemm", precision="fp32", batch=1)
    return make_measurements(frame)


def predict_on(
    work: pd.DataFrame, target: DeviceSpec, measurements: pd.DataFrame, plan: RunPlan = PLAN, *,
    source: DeviceSpec | None = None, at_source: pd.DataFrame | None = None, profiled: pd.DataFrame | None = None,
    step_spread: float = 0.0, as_large: pd.DataFrame | None = None,
) -> Prediction:  # fmt: skip
    """What is predicted of WORK on a target, by its measurements and a source's run and measurements."""
    run = SourceRun(source, at_source, profiled, step_spread, as_large=as_large)
    return predict(work, run, TargetDevice(target, measurements), plan)


def predict_products(measured: pd.DataFrame, *wanted: Mapping[str, object]) -> pd.DataFrame:
    """PREDICTION of products on a toy device that measured these rows."""
    ops = make_ops(*({"op_type": "MatMul", **row} for row in wanted))
    work = count_work(ops, Workload(name="toy")).work
    return predict_on(work, make_device(), measured).ops


def predict_in_step(
    at_source: pd.DataFrame, at_target: pd.DataFrame, own: float, *wanted: Mapping[str, object]
) -> pd.DataFrame:
    """PREDICTION of products that took so long on a source, where both devices were measured by one library."""
    ops = make_ops(*({"op_type": "MatMul", "time_s": own, **row} for row in wanted))
    work = count_work(ops, Workload(name="toy")).work
    there, here = (rows.assign(library="toy 1") for rows in (at_source, at_target))
    source, target = (make_device(name=name, launch_latency="1 ns") for name in ("source", "target"))
    return predict_on(work, target, here, source=source, at_source=there).ops


def streams(*times: float, kernel: str = "add", op_class: str = "elementwise", **row: object) -> pd.DataFrame:
    """Measured streams of 12, 24, 48 … kB; a device of 800 GB/s needs 15 ns for the first."""
    sizes = [12e3 * 2**place for place in range(len(times))]
    rows = pd.DataFrame({"bytes": sizes, "time_s": times, "flop": [size / 12 for size in sizes]})
    known = rows.assign(op_class=op_class, kernel=kernel, precision="fp32", cache="warm", library="toy 1", **row)
    return check_rows(make_measurements(known), make_device(), "streams")


def pool(time_s: float, what: str) -> dict[str, object]:
    sizes = {
        "conv_n": 8,
        "conv_c": 64,
        "conv_h": 32,
        "conv_w": 32,
        "conv_r": 2,
        "conv_s": 2,
        "conv_p": 16,
        "conv_q": 16,
    }
    both = 2 if what == "grad_input" else 1  # image and output, and of a gradient theirs too
    moved = {"bytes": both * 4.0 * 800 * 64 * (32 * 32 + 16 * 16), "flop": 800.0 * 64 * 32 * 32}
    about = {"op_class": "pooling", "kernel": "max_pool", "precision": "fp32", "library": "toy 1", "pass": what}
    return {**about, **sizes, **moved, "time_s": time_s}


def activation_tables(*sigmoid_s: float | None) -> list[pd.DataFrame]:
    """Tables of an addition, and of a sigmoid of the same bytes where it has a time."""
    amounts = {"op_class": "elementwise", "precision": "fp32", "library": "toy 1", "bytes": 3e8, "flop": 1e8}
    add, sigmoid = ({**amounts, "kernel": name, "time_s": 1e-3} for name in ("add", "sigmoid"))
    rows = ([add, {**sigmoid, "time_s": time_s}] if time_s else [add] for time_s in sigmoid_s)
    return [make_measurements(actual) for actual in rows]


def activated(there: pd.DataFrame, here: pd.DataFrame, precision: str = "fp32") -> list[float]:
    """Time of a sigmoid that took 4 ms and of a Relu that took 1 ms on a source."""
    rows = [{"op_type": name, "shapes": "37500x1000", "time_s": t} for name, t in (("Sigmoid", 4e-3), ("Relu", 1e-3))]
    work = count_work(make_ops(*rows), Workload(name="toy")).work
    crossed = convert_precision(work, Workload(name="toy"), precision).work
    crossed = crossed[crossed["op_type"].isin(["Sigmoid", "Relu"])].reset_index(drop=True)
    source, target = make_device(name="source"), make_device()
    actual = predict_on(crossed, target, here, source=source, profiled=work, at_source=there).ops
    return [float(time) for time in actual["target_time_s"]]
