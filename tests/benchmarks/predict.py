"""Predicting random shapes against a bare numpy roofline: python tests/benchmarks/predict.py [ROWS] [DRAWS]

Times ``predict_ops``, as ``estimator predict`` calls it, on rows of WORK, counted before, and max(W/P, Q/B) on the same
rows and draws, in parts of the same size, both in this process; prints the ratio for a mix of matrix products,
convolutions and memory-bound ops and for matrix products alone, and the time of a row over that with a tenth of the
rows. The roofline stops at its samples; what the 5 % and 95 % points of so many samples take beside is told.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator

os.environ["OMP_NUM_THREADS"] = "1"  # processor time counts threads that wait, too

import numpy as np
import pandas as pd

from estimator.core.interval import bounds, draw_sourced
from estimator.core.schema import MEASUREMENTS
from estimator.core.types import DeviceSpec, Floats, RunPlan, Workload
from estimator.devices import load_device
from estimator.model import TargetDevice
from estimator.model.prediction import predict_ops
from estimator.studies.shapes import SAMPLES_AT_ONCE
from estimator.work import count_work

ROWS = 10**5  # 10⁶ take minutes
RUNS = 3  # of which the best counts: other processes only lengthen them
DEVICE = "p100-sxm2-16gb"  # its file has no table of measurements: specifications alone
GOAL = 10.0
NONE = MEASUREMENTS.conform(pd.DataFrame(columns=["op_class", "precision", "time_s"]), "no measurements")
MIX = {"gemm": 0.4, "convolution": 0.2, "elementwise": 0.3, "reduction": 0.1}
PRODUCT = {"batch": (1, 64), "m": (1, 2**14), "n": (1, 2**14), "k": (1, 2**14)}
CONVOLUTION = {"conv_n": (1, 256), "conv_c": (1, 1024), "conv_h": (7, 256), "conv_w": (7, 256), "conv_k": (1, 1024)}
WINDOWS = (1, 3, 5, 7)


def random_work(rows: int, mix: dict[str, float]) -> pd.DataFrame:
    """WORK of so many random fp32 ops of these classes, sizes even over octaves."""
    rng = np.random.default_rng(0)
    op_class = pd.Series(rng.choice(list(mix), rows, p=list(mix.values())))

    def sizes(low: float, high: float) -> Floats:
        return np.asarray(np.exp2(rng.uniform(np.log2(low), np.log2(high), rows)).round())

    product, convolution = (op_class == name for name in ("gemm", "convolution"))
    window = pd.Series(rng.choice(WINDOWS, rows)).where(convolution)
    ops = pd.DataFrame({"op": op_class, "op_class": op_class, "precision": "fp32", "calls": 1.0, "time_s": 0.0})
    ops = ops.assign(
        **{name: pd.Series(sizes(*ends)).where(product) for name, ends in PRODUCT.items()},
        **{name: pd.Series(sizes(*ends)).where(convolution) for name, ends in CONVOLUTION.items()},
        conv_r=window, conv_s=window, pad_h=window // 2, pad_w=window // 2,
        bytes=pd.Series(sizes(2**10, 2**30)).where(~product & ~convolution),
    )  # fmt: skip
    return count_work(ops, Workload(name="benchmark", precision="fp32")).work


def parts(work: pd.DataFrame, plan: RunPlan) -> Iterator[pd.DataFrame]:
    size = max(1, SAMPLES_AT_ONCE // (1 + plan.draws))
    return (work.iloc[i : i + size].reset_index(drop=True) for i in range(0, len(work), size))


def roofline(part: pd.DataFrame, device: DeviceSpec, plan: RunPlan) -> Floats:
    """Samples (1 + draws × ops) of max(W/P, Q/B) [s]."""
    rates = (device.peak_of("fp32").vector, device.memory_bandwidth)
    assert all(rates)
    peak, bandwidth = (draw_sourced("rate", rate, plan.draws, plan.seed)[:, None] for rate in rates if rate)
    flop, bytes_ = (part[name].to_numpy(dtype=float) for name in ("flop", "bytes"))
    return np.asarray(np.maximum(flop / peak, bytes_ / bandwidth))


def summarised(part: pd.DataFrame, device: DeviceSpec, plan: RunPlan) -> Floats:
    return bounds(roofline(part, device, plan))[2]


def predicted(work: pd.DataFrame, plan: RunPlan) -> float:
    """Processor time of the prediction [s]."""
    start = time.process_time()
    target = TargetDevice(load_device(plan.target), NONE)
    predict_ops(work, target, plan, at_once=SAMPLES_AT_ONCE // (1 + plan.draws))
    return time.process_time() - start


def seconds(what: Callable[[pd.DataFrame, DeviceSpec, RunPlan], Floats], work: pd.DataFrame, plan: RunPlan) -> float:
    """Processor time of all parts [s], which other processes disturb less than what a clock shows."""
    device = load_device(plan.target)
    start = time.process_time()
    for part in parts(work, plan):
        what(part, device, plan)
    return time.process_time() - start


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    plan = RunPlan(DEVICE, draws=int(sys.argv[2])) if len(sys.argv) > 2 else RunPlan(DEVICE)
    print(f"{rows} rows, {plan.draws} draws")
    for name, mix in {"mix": MIX, "matrix products": {"gemm": 1.0}}.items():
        work = random_work(rows, mix)
        predicted(work.head(100), plan)  # what is imported and read once
        bare, whole = (min(seconds(what, work, plan) for _ in range(RUNS)) for what in (roofline, summarised))
        actual, tenth = (min(predicted(part, plan) for _ in range(RUNS)) for part in (work, work.head(rows // 10)))
        print(f"{name}: {actual / bare:.1f} x a roofline of {bare:.2f} s (goal {GOAL:g}),", end=" ")
        print(f"{actual / whole:.1f} x one with its interval; {1e6 * actual / rows:.0f} us a row,", end=" ")
        print(f"{actual / rows / (tenth / (rows // 10)):.2f} x that of a tenth of the rows")


if __name__ == "__main__":
    main()
