"""MLPerf's trainings between scales of one machine: from the rate at the smallest to the rates at larger ones.

A row is a machine with more accelerators, where the batch of each is smaller as a rule. It is predicted from a shipped
profile at each local batch, in the machine's network, given what a step took at the smallest scale. The coefficients
are fitted without the family of the accelerator.

Rows are of the closed division (mlcommons/training_results, Apache-2.0), without resubmissions, and without logs whose
blocks close before the work is done.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from estimator.core.parallel import Split
from estimator.core.types import Floats, Network, Profile, RunPlan, StepTime
from estimator.model import coefficients
from estimator.pipeline.alone import step_of_one
from estimator.pipeline.group_steps import step_of_group
from estimator.pipeline.predicted_step import PredictedStep
from estimator.pipeline.step import predict_step
from estimator.profiles import read_profile
from estimator.profiles.layers import profile_of
from estimator.profiles.layers.shards import layers_of
from estimator.rollup.scaling import Group
from estimator.rollup.timed_steps import conditioned
from estimator.validation.left_out import by_family
from estimator.validation.protocol import Method
from estimator.validation.step_intervals import our_columns
from estimator.validation.tables import EVERY_DEVICE, PublishedRows, as_numbers, read_columns

if TYPE_CHECKING:
    import pandas as pd

(FILE,) = FILES = ("scaling/mlperf.csv",)
PROBLEMS = {"clusters": "MLPerf between scales"}
OP_CLASSES = ("gemm", "convolution", "elementwise", "collective")
LINEAR = "linear"  # the rate of the smallest scale
PROFILES = {"resnet": "resnet50", "bert": "bert-large"}  # benchmark → shipped profile
OPTIMIZER = "lamb"  # of models given as layers; of its BERT by the rules of MLPerf; from memory
DRAWS = 400
MACHINE = ["round", "submitter", "family", "benchmark"]
COLUMNS = (
    *MACHINE, "division", "accelerator", "acc_per_node", "accelerators", "inter_node", "local_batch",
    "throughput_per_acc", "interval_ratio", "same_as",
)  # fmt: skip
MOST_RATIO = 1.5  # of the slowest to the fastest block, beyond which a log closes its blocks early
DEVICES = (  # what the accelerator's name holds → device file; the first that matches
    (r"(?i)tpu.?v3", "tpu-v3"), (r"(?i)tpu.?v4", "tpu-v4"), (r"(?i)v100.*pcie", "v100-pcie-32gb"),
    (r"(?i)v100", "v100-sxm2-32gb"), (r"(?i)a100.*pci.*40", "a100-pcie-40gb"), (r"(?i)a100.*pci", "a100-pcie-80gb"),
    (r"(?i)a100.*40", "a100-sxm4-40gb"), (r"(?i)a100", "a100-sxm4-80gb"),
)  # fmt: skip
PORT = re.compile(r"(?i)(?:(\d+)\s*x\s)?(?:(?!\d+\s*x\s)[^,;])*?(\d+)\s*gb(?:/sec|it|e|\s|$)")
ASIDE = re.compile(r"(?i)management|storage")  # ports that no gradient passes
LEAST_GBPS, USUAL_GBPS = 10.0, 200.0  # slower ports are for management; what nodes have as a rule


def read_runs(folder: str | Path) -> PublishedRows:
    """Read the runs of shipped profiles on shipped devices: ``device``, ``devices``, and ``rate`` of one of them.

    Each machine is there at two scales and more. Raises EstimatorError where the table lacks a column.
    """
    numbers = ("accelerators", "acc_per_node", "local_batch", "throughput_per_acc", "interval_ratio")
    path = Path(folder) / FILE
    table = as_numbers(read_columns(path, COLUMNS), path, *numbers)
    trusted = (table["division"] == "closed") & ~(table["interval_ratio"] > MOST_RATIO) & table["same_as"].isna()
    known = table[trusted & table["benchmark"].isin(PROFILES) & (table["local_batch"] >= 1)]
    rows = known.assign(
        device=known["accelerator"].map(_device), devices=known["accelerators"].astype(int),
        batch=known["local_batch"].round().astype(int), rate=known["throughput_per_acc"],
    )  # fmt: skip
    rows = rows[rows["device"].notna() & rows["rate"].notna()]
    several = rows.groupby(MACHINE)["devices"].transform("nunique") > 1
    note = f"{int((~several).sum())} of {len(rows)} runs are left out, as their machine is there at one scale alone"
    return PublishedRows(rows[several].reset_index(drop=True), (note,))


def _device(accelerator: object) -> str | None:
    """The device file of an accelerator's name; None where none is shipped."""
    return next((name for pattern, name in DEVICES if re.search(pattern, str(accelerator))), None)


def injection_gbps(ports: object) -> float:
    """What a node's ports send in all [Gbit/s], from their description: count × rate of the fastest kind.

    What is usual, where none is described that gradients could pass.
    """
    parts = [part for part in re.split(r"[,;+]", str(ports)) if not ASIDE.search(part) or "ompute" in part]
    rates = [float(count or 1) * float(rate) for part in parts for count, rate in PORT.findall(part)]
    return max((rate for rate in rates if rate >= LEAST_GBPS), default=USUAL_GBPS)


def judge(truth: pd.DataFrame, runs: PublishedRows, method: Method) -> dict[str, pd.DataFrame]:
    """Judge every scale of a machine but its smallest. Columns as :func:`networks.judge` gives them; ``time_s`` is the
    time of one sample on one device.
    """
    return {"clusters": _describe(by_family(truth, runs.rows, method, _machines))}


def _machines(rows: pd.DataFrame) -> pd.DataFrame:
    """The larger scales of every machine."""
    import pandas as pd

    return pd.concat([_machine(of_machine) for _, of_machine in rows.groupby(MACHINE)], ignore_index=True)


def _machine(rows: pd.DataFrame) -> pd.DataFrame:
    """The larger scales of one machine, with the time of a sample measured and predicted [s]."""
    ordered = rows.sort_values("devices", kind="stable")
    samples_s = np.stack([_sample_time(row) for row in ordered.to_dict("records")], axis=1)
    first, larger = ordered.iloc[0], (ordered["devices"] > ordered["devices"].iloc[0]).to_numpy()
    names = [f"run {place}" for place in range(len(ordered))]
    predicted_s = conditioned(samples_s, names, [0], [1.0 / first["rate"]])[:, larger]
    methods = {**our_columns(predicted_s), LINEAR: 1.0 / first["rate"]}
    return ordered[larger].assign(time_s=1.0 / ordered["rate"][larger], **methods)


def _sample_time(row: dict[str, object]) -> Floats:
    """Samples of the predicted time of one sample on one device [s] in its machine."""
    device, batch, devices = str(row["device"]), int(str(row["batch"])), int(str(row["devices"]))
    step, one = _alone(str(row["benchmark"]), device, batch, id(coefficients.shipped()))
    per_node = 8 if np.isnan(float(str(row["acc_per_node"]))) else int(float(str(row["acc_per_node"])))
    joined = 10**6 if device.startswith("tpu") else per_node  # a pod's links join all chips
    rate = f"{injection_gbps(row['inter_node']) / 8:g} GB/s"
    links = {"linked_devices": joined, "devices_per_node": per_node}
    network = Network.model_validate({**links, "interconnect": "InfiniBand", "injection_bandwidth": rate})
    group = Group(devices, -(-devices // per_node), batch, batch * devices)
    return step_of_group(step.in_network(network), one, group, Split()).step.total / batch


@cache
def _alone(benchmark: str, device: str, batch: int, fit: int) -> tuple[PredictedStep, StepTime]:
    """The step of one device, as MLPerf's submitters train: half precision, fused; ``fit`` tells fits apart."""
    precision = "bf16" if device.startswith("tpu") else "fp16"
    plan = RunPlan(device, precision=precision, fusion="elementwise", batch=batch, draws=DRAWS)
    step = predict_step(_profile(benchmark), plan)
    return step.without_measurements(), step_of_one(step)


def _profile(benchmark: str) -> Profile:
    """One step of a benchmark."""
    profile = read_profile(PROFILES[benchmark])
    if profile.format != "layers":
        return profile
    return profile_of(layers_of(profile).model_copy(update={"optimizer": OPTIMIZER}), profile.workload)


def _describe(rows: pd.DataFrame) -> pd.DataFrame:
    """The judged rows with KEYS and what they are in words."""
    words = rows["benchmark"] + ", " + rows["devices"].astype(str) + " x " + rows["device"] + " of " + rows["submitter"]
    keys = {"data_set": "mlperf", "op_class": rows["benchmark"], "precision": "", "path": ""}
    return rows.assign(op=words, target=rows["device"], **keys).assign(device=EVERY_DEVICE)
