"""Steps of Keras networks on GPUs never seen: from a capture on a processor to published training rates.

The truth is images per second of one GPU: TensorFlow's tables of May 2017, on synthetic data, and NVIDIA's examples.
Each row is predicted as a user would: the shipped capture at the published batch size, by the device file, with the
default options but for what the row says of precision and compiler. The coefficients are fitted without the target's
family, and no measurement of the target is used.

NVIDIA trains version 1.5 of ResNet-50, which has 6 % more multiply-adds than the version 1 that is captured.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from estimator.core import physics
from estimator.core.schema import MATRIX, STREAMING
from estimator.core.types import Estimate, Profile, RunPlan
from estimator.devices import load_device
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from estimator.validation.left_out import by_family, unmeasured
from estimator.validation.protocol import Method
from estimator.validation.step_intervals import our_columns
from estimator.validation.tables import EVERY_DEVICE, PublishedRows, as_numbers, read_columns

if TYPE_CHECKING:
    import pandas as pd

TENSORFLOW, NVIDIA = FILES = ("scaling/tf_benchmarks.csv", "scaling/nvidia_examples.csv")
PROBLEMS = {"networks": "Keras networks against published rates"}
OP_CLASSES = ("gemm", "convolution", *STREAMING)
RATIO_OF_PEAKS = "ratio of peaks"
DATA_SET = "published-rates"
NETWORKS = {  # a table's name → profile
    "ResNet-50": "resnet50", "InceptionV3": "inception-v3", "VGG16": "vgg16",
    "Classification/ConvNets/resnet50v1.5": "resnet50", "Classification/RN50v1.5": "resnet50",
}  # fmt: skip
DEVICES = {  # a table's name → device file; the machines are DGX-1, DGX-2, DGX A100 and clouds with K80
    "P100": "p100-sxm2-16gb", "K80": "k80-gpu", "V100 16G": "v100-sxm2-16gb", "V100 32G": "v100-sxm2-32gb",
    "A100 40G": "a100-sxm4-40gb", "A100 80G": "a100-sxm4-80gb",
}  # fmt: skip
PRECISIONS = {"fp32": None, "tf32": "tf32", "amp": "fp16"}  # a table's word → precision of a plan
SOURCE_PEAK = 2 * 64 * 2.7e9  # of the captures [FLOP/s]: two cores of a Zen 5 (family 26) at the clock it names


def read_rates(folder: str | Path) -> PublishedRows:
    """Read the rates of one GPU on synthetic data, of networks and devices that are shipped, with ``time_s`` of a step.

    Raises EstimatorError where a table lacks a column.
    """
    import pandas as pd

    readers = {TENSORFLOW: _tensorflow, NVIDIA: _nvidia}
    paths = {name: Path(folder) / name for name in FILES}
    table = pd.concat([readers[name](path) for name, path in paths.items() if path.is_file()], ignore_index=True)
    known = table[table["model"].isin(NETWORKS) & table["device"].isin(DEVICES) & table["precision"].isin(PRECISIONS)]
    rows = known[known["batch"].notna()]
    step_s = rows["batch"] / rows["images_per_s"]
    judged = rows.assign(profile=rows["model"].map(NETWORKS), device=rows["device"].map(DEVICES), time_s=step_s)
    without = len(known) - len(rows)
    note = f"{without} of {len(known)} published rates of networks are left out, as they name no batch size"
    return PublishedRows(judged.reset_index(drop=True), (note,) if without else ())


def _tensorflow(path: Path) -> pd.DataFrame:
    """The rows of TensorFlow's tables: no compiler fuses."""
    table = _single_gpu(path, ("model", "device", "batch_per_gpu", "precision", "images_per_s", "data", "system"))
    return table[table["data"] == "synthetic"].assign(fusion="none", framework="TensorFlow 1")


def _nvidia(path: Path) -> pd.DataFrame:
    """The rows of NVIDIA's tables: XLA fuses where they say so."""
    columns = ("model", "device", "batch_per_gpu", "precision", "throughput", "xla", "framework", "column")
    table = _single_gpu(path, columns).rename(columns={"throughput": "images_per_s", "framework": "system"})
    pruned = table["column"].str.contains("ASP", regex=False)
    fusion = table["xla"].eq("True").map({True: "elementwise", False: "none"})
    return table[~pruned].assign(fusion=fusion, framework="NVIDIA's examples")


def _single_gpu(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """The rows of one GPU with some columns, the batch and the rate as numbers."""
    table = read_columns(path, (*columns, "gpus"))
    rows = table.loc[table["gpus"] == "1", [*columns]].rename(columns={"batch_per_gpu": "batch"})
    return as_numbers(rows, path, *(name for name in ("batch", "images_per_s", "throughput") if name in rows))


def judge(truth: pd.DataFrame, rates: PublishedRows, method: Method) -> dict[str, pd.DataFrame]:
    """Judge every published row by coefficients fitted without its device's family.

    Columns: KEYS, with the network as op class and one group of all rows; ``target``, ``images`` of a step, ``op`` in
    words, ``time_s`` of the published step, a column of predicted times [s] per method, ``low_s`` and ``high_s`` of
    ours.
    """
    predicted = by_family(truth, rates.rows, method, lambda rows: unmeasured(rows, _predict_step))
    return {"networks": _describe(predicted)}


def _predict_step(row: Mapping[str, Any], measurements: str) -> dict[str, float]:
    profile = _profile(str(row["profile"]))
    plan = RunPlan(
        target=str(row["device"]),
        precision=PRECISIONS[str(row["precision"])],
        fusion="elementwise" if row["fusion"] == "elementwise" else "none",
        measurements=measurements,
        batch=int(float(str(row["batch"]))),
    )
    estimated = estimate(profile, plan)
    return {**step_of_methods(estimated), RATIO_OF_PEAKS: ratio_of_peaks(profile, estimated)}


def step_of_methods(estimated: Estimate) -> dict[str, float]:
    """Our step with the ends of its interval, and that of the bare roofline [s]."""
    ours = {name: float(value) for name, value in our_columns(estimated.step.total).items()}
    return {**ours, "roofline": bare_roofline(estimated)}


@cache
def _profile(name: str) -> Profile:
    return read_profile(name)


def bare_roofline(estimated: Estimate) -> float:
    """Sum over ops of max(W/P, Q/B) on the target [s]; only products and convolutions are bound by arithmetic."""
    ops, bandwidth = estimated.prediction.ops, estimated.target.memory_bandwidth
    flop = ops["flop"].where(ops["op_class"].isin(MATRIX), 0.0).fillna(0.0).to_numpy(dtype=float)
    bytes_ = ops["bytes"].fillna(0.0).to_numpy(dtype=float)
    peaks = ops["precision"].fillna("").map(partial(_peak, estimated.target.name)).to_numpy(dtype=float)
    return float(physics.ideal_time(flop, bytes_, peaks, bandwidth.value if bandwidth else np.inf).sum())


def ratio_of_peaks(profile: Profile, estimated: Estimate) -> float:
    """The source's step at the wanted batch × the ratio of the two peaks [s]."""
    per_sample = (profile.wall_step_s or 0.0) / (profile.workload.batch_size or 1)
    return per_sample * (estimated.plan.batch or 0) * SOURCE_PEAK / _peak(estimated.target.name, estimated.precision)


@cache
def _peak(device: str, precision: str) -> float:
    """Peak of matrix products [FLOP/s]; unlimited where there is none of this precision."""
    peak = load_device(device).peak_of(precision).matrix if precision else None
    return peak.value if peak else np.inf


def _describe(rows: pd.DataFrame) -> pd.DataFrame:
    """The judged rows with KEYS and what they are in words, as scores and reports take them."""
    words = [
        f"{row['profile']}, batch {row['batch']:.0f}, on {row['device']} ({row['system']})"
        for row in rows.to_dict("records")
    ]
    return published_rates(rows, words).rename(columns={"batch": "images", "profile": "op_class"})


def published_rates(rows: pd.DataFrame, words: list[str]) -> pd.DataFrame:
    """The judged rows as one group, with their words, and the path by which products of their precision go."""
    path = rows["precision"].map({"fp32": "vector"}).fillna("tensor")
    named = rows.rename(columns={"device": "target"})
    return named.assign(op=words, path=path, data_set=DATA_SET, device=EVERY_DEVICE)
