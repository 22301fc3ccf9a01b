"""Training steps of PyTorch that the project measured on an H100 and an H200 (tests/data/pytorch_steps)."""

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.core.interval import Z, bounds
from estimator.core.types import Estimate, RunPlan, itemsizes
from estimator.devices import load_device
from estimator.model.coefficients import shipped
from estimator.model.hardware import number
from estimator.model.proportional import binding_rate, ratio_of_step, ratios_by_class
from estimator.pipeline.memory import memory
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from tests.conftest import ROOT

DATA = ROOT / "tests" / "data" / "pytorch_steps"
FOLDERS = {"h100-sxm5-80gb": "h100", "h200-sxm-141gb": "h200"}
PRECISION = {"default": "auto"}  # others by their own name
PASSES = {"max_pool": 1.0, "max_pool_grad": 1.0, "batch_norm": 3 / 2, "batch_norm_grad": 5 / 3}  # over the traffic
BOUND = ("compute", "memory")
FARTHEST_MEDIAN, FARTHEST_ON_GPU, FARTHEST_MEMORY = 0.3, 0.25, 0.15

with (DATA / "steps.csv").open() as file:
    STEPS = list(csv.DictReader(file))
OF_GPUS = [
    step for step in STEPS if (DATA / FOLDERS[step["device"]] / f"{step['model']}.{step['format']}.json.gz").exists()
]
ON_PROCESSOR = {
    "resnet50": ROOT / "profiles" / "resnet50" / "processor.kineto" / "trace.json.gz",
    **{path.name.split(".")[0]: path for path in sorted((DATA / "processor").glob("*.json.gz"))},
}  # traces by model
FROM_PROCESSOR = [step for step in STEPS if step["device"] == "h100-sxm5-80gb" and step["model"] in ON_PROCESSOR]


def name(step: dict[str, str]) -> str:
    return "-".join(step[key] for key in ("device", "model", "format", "mode"))


def trace(step: dict[str, str], device: str) -> Path:
    return DATA / FOLDERS[device] / f"{step['model']}.{step['format']}.json.gz"


@pytest.fixture(scope="module")
def from_processor(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[float, Estimate]]:
    """The measured time of each step [s], and its estimate from the trace of a processor."""
    return list(_from_processor(tmp_path_factory.mktemp("processor")))


def _from_processor(folder: Path) -> Iterator[tuple[float, Estimate]]:
    for step in FROM_PROCESSOR:
        plan = RunPlan(
            step["device"],
            precision=PRECISION.get(step["format"], step["format"]),
            batch=int(step["batch"]),
            mode=step["mode"],  # type: ignore[arg-type]
        )
        yield float(step["step_s"]), estimate(read_profile(from_trace(step, folder)), plan)


def from_trace(step: dict[str, str], folder: Path) -> Path:
    """A folder with the trace of a step on a processor, and its batch."""
    here = folder / step["model"]
    here.mkdir(exist_ok=True)
    (here / "trace.json.gz").write_bytes(ON_PROCESSOR[step["model"]].read_bytes())
    (here / "workload.yaml").write_text(f"batch_size: {step['processor_batch']}\n")
    return here


@pytest.mark.slow
def test_steps_from_traces_of_a_processor(from_processor: list[tuple[float, Estimate]]) -> None:
    measured = np.array([step_s for step_s, _ in from_processor])
    low, mid, high = np.array([bounds(actual.step.total) for _, actual in from_processor]).T
    errors = np.abs(mid / measured - 1.0)
    print(f"{len(errors)} steps: {np.median(errors):.1%} median, {np.mean(errors):.1%} mean; ", end="")
    print(f"{np.mean((low <= measured) & (measured <= high)):.0%} of the intervals hold")
    assert np.median(errors) < FARTHEST_MEDIAN
    assert np.mean((low <= measured) & (measured <= high)) > 0.75


def shares_of_class(path: Path) -> list[float]:
    """Of the modelled ops that each rate binds, the share of time that holds, those of one name unknown in turn."""
    ops = estimate(read_profile(path), RunPlan("h100-sxm5-80gb")).prediction.ops
    ops = ops[ops["method"].eq("roofline") & (ops["time_s"] > 0)]
    source_s, target_s = (ops[column].to_numpy(dtype=float) for column in ("time_s", "target_time_s"))
    binding, of_step = binding_rate(ops["op_class"]), ratio_of_step(source_s, target_s)
    actual = np.zeros((3, len(ops)))
    for name_of_op in ops["op"].unique():
        unknown = ops["op"].eq(name_of_op).to_numpy(dtype=bool)
        others_s = np.where(unknown, np.nan, target_s)
        actual[:, unknown] = ratios_by_class(of_step, source_s, others_s, binding)[:, unknown]
    low, _, high = actual
    holds = (low <= target_s / source_s) & (target_s / source_s <= high)
    return [float(np.average(holds[binding == bound], weights=source_s[binding == bound])) for bound in BOUND]


@pytest.mark.slow
def test_an_unknown_op_goes_as_the_modelled_ones_of_its_class() -> None:
    """Nine tenths of the processor's time hold in the mean over traces, against our own model of each op."""
    shares = {model: shares_of_class(path) for model, path in ON_PROCESSOR.items()}
    for model, actual in shares.items():
        print(model, ", ".join(f"{bound} {share:.0%}" for bound, share in zip(BOUND, actual, strict=True)))
    assert np.mean(list(shares.values()), axis=0).min() >= 0.9


@cache
def from_own_trace(path: Path, device: str) -> Estimate:
    """The estimate of a step from the trace of it on the same GPU."""
    return estimate(read_profile(path), RunPlan(device))


@pytest.mark.slow
@pytest.mark.parametrize("step", OF_GPUS, ids=name)
def test_the_step_of_a_gpus_own_trace(step: dict[str, str]) -> None:
    """These wait for the device, so that the profiler slows them little."""
    actual = from_own_trace(trace(step, step["device"]), step["device"])
    assert actual.step.total[0] == pytest.approx(float(step["step_s"]), rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("step", OF_GPUS, ids=name)
def test_a_step_from_the_other_gpus_trace(step: dict[str, str]) -> None:
    (other,) = set(FOLDERS) - {step["device"]}
    actual = estimate(read_profile(trace(step, other)), RunPlan(step["device"], source=other))
    low, mid, high = bounds(actual.step.total)
    assert low < float(step["step_s"]) < high
    assert mid == pytest.approx(float(step["step_s"]), rel=FARTHEST_ON_GPU)
    assert all(note.code != "precision-by-default" for note in actual.notes)  # these ran in PyTorch's own formats


@pytest.mark.parametrize("step", OF_GPUS, ids=name)
def test_the_memory_of_a_gpus_own_trace(step: dict[str, str]) -> None:
    actual = from_own_trace(trace(step, step["device"]), step["device"]).memory
    assert actual is not None
    held = sum(samples[0] for part, samples in actual.parts.items() if part not in ("reserve", "allocator"))
    assert held == pytest.approx(float(step["memory_allocated_bytes"]), rel=FARTHEST_MEMORY)


def test_units_of_a_gpu_limit_pools_and_batch_normalizations() -> None:
    """The cycles of a unit for an element, in the calls that take longer than their traffic."""
    ops = pd.read_csv(DATA / "unit_ops.csv")
    devices = {name: load_device(name) for name in ops["device"].unique()}
    units, clock, bandwidth = (ops["device"].map({name: number(getattr(devices[name], field)) for name in devices})
                               for field in ("compute_units", "boost_clock", "memory_bandwidth"))  # fmt: skip
    busy = np.fmin(units, ops["channels"].fillna(np.inf))
    passes = ops["operator"].map(PASSES)
    is_slow = ops["time_s"] > 1.5 * passes * ops["elements"] * itemsizes(ops["precision"]) / bandwidth
    cycles = ops.assign(cycles=ops["time_s"] * busy * clock / ops["elements"])[is_slow]
    of_kernel = cycles.groupby(["device", "operator", "precision"])["cycles"].agg(["count", "median"])
    print(of_kernel.round(2).to_string(), of_kernel["median"].median())
    assert of_kernel["median"].median() == pytest.approx(shipped().memory_bound.unit_elements.cycles, rel=0.2)


def test_units_of_a_gpu_limit_depthwise_convolutions() -> None:
    """The cycles of a unit for a pixel and a point on the window's side, by pass."""
    ops = pd.read_csv(DATA / "depthwise_ops.csv")
    devices = {name: load_device(name) for name in ops["device"].unique()}
    units, clock = (ops["device"].map({name: number(getattr(devices[name], field)) for name in devices})
                    for field in ("compute_units", "boost_clock"))  # fmt: skip
    pixels = ops["output"].where(ops["pass"] != "grad_weights", ops["image"])
    cycles = ops.assign(cycles=ops["time_s"] * units * clock / pixels / np.sqrt(ops["taps"]))
    of_kernel = cycles.groupby(["pass", "device", "taps", "precision"])["cycles"].agg(["count", "median"])
    of_pass = of_kernel["median"].groupby(level="pass").median()
    print(of_kernel.round(2).to_string(), of_pass)
    prior = shipped().kernel_priors.depthwise
    shipped_cycles = prior.cycles.model_dump()
    assert of_pass.to_dict() == pytest.approx(shipped_cycles, rel=0.1)
    parts = np.broadcast_arrays(prior.kind, prior.shape, prior.compute)
    std = dict(zip(shipped_cycles, np.sqrt(np.square(parts).sum(axis=0)), strict=True))
    off = np.log(cycles["cycles"] / ops["pass"].map(shipped_cycles)).abs()
    held = (off < Z * ops["pass"].map(std)).groupby(ops["pass"]).mean()
    print(held.round(2).to_string())
    assert held.min() > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("model", ["mlp", "vit_b_16"])
def test_the_largest_batch_hardly_depends_on_that_of_the_trace(model: str, tmp_path: Path) -> None:
    """At a small batch, tensors of unlike use are of one size."""
    step = next(step for step in FROM_PROCESSOR if step["model"] == model)
    traced, batch = read_profile(from_trace(step, tmp_path)), int(step["processor_batch"])
    own, larger = (memory(traced, RunPlan(step["device"], batch=size)).largest_batch for size in (batch, 32 * batch))
    assert larger is not None
    assert own == pytest.approx(larger, rel=0.02)
