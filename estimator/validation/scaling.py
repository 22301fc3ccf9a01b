"""Trainings on many devices against published rates: from the step of one device to that of many.

Of the model nothing is known but its step on one device and its parameters, from memory: gradients are spread evenly
over the backward pass, and sent while the rest of it is computed. How long devices wait for the slowest is taken from
the rows of other groups whose messages take little, as those of others tell more of messages. A group is a model on a
machine. Repeats of a published step are taken to differ as those of MLPerf do.

- ResNet-50 and BERT on 4 to 16 GPUs over three networks (HKBU-HPML/ddl-benchmarks), by nominal networks; and with two
  timed collectives for each network and number of GPUs. These are what the all-reduce of two models took there, as
  their runs without overlap tell, which are then not judged.
- TensorFlow's tables of May 2017 and NVIDIA's examples, from their own rate of one GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from estimator.core.interval import bounds
from estimator.core.parallel import read_split
from estimator.core.schema import OPS
from estimator.core.types import Floats, MeasuredLink, Network, Profile, RunPlan, StepTime, Workload
from estimator.devices.measurements.links import alpha_beta
from estimator.pipeline.alone import step_of_one
from estimator.pipeline.group_steps import step_of_group
from estimator.pipeline.predicted_step import PredictedStep
from estimator.pipeline.step import predict_step
from estimator.rollup.scaling import NO_SPREAD, Group, Spread, Spreads, expected_maximum, lengthened, slowest_device
from estimator.rollup.timed_steps import REPEATS
from estimator.validation.step_intervals import ENDS, OURS
from estimator.validation.tables import EVERY_DEVICE, PublishedRows, as_numbers, read_columns

if TYPE_CHECKING:
    import pandas as pd

DDL, TENSORFLOW, NVIDIA = FILES = (
    "scaling/ddl.csv", "scaling/tf_benchmarks.csv", "scaling/nvidia_examples.csv",
)  # fmt: skip
PROBLEMS = {
    "scaling": "many devices, from the rate of one",
    "scaling-networks": "several nodes, by nominal networks",
    "scaling-networks-kit": "several nodes, with two collectives",
}
OP_CLASSES = ("collective",)
LINEAR = "linear"  # no communication at all
PARTS = 16  # of the backward pass
DRAWS = 200
LEAST_SPREAD = 1e-4  # of devices
LITTLE = 0.1  # of a step, that messages take at most where the rest tells of waiting
DEVICES = {  # a table's name → device file
    "P100": "p100-sxm2-16gb", "K80": "k80-gpu", "V100": "v100-sxm2-16gb", "V100 16G": "v100-sxm2-16gb",
    "V100 32G": "v100-sxm2-32gb", "A100 40G": "a100-sxm4-40gb", "A100 80G": "a100-sxm4-80gb",
}  # fmt: skip
PCIE_CARD = "titan-x-pascal"  # in place of a card that is not named, whose bus alone counts
NODES = {  # a machine → devices of a node, and the network between nodes
    "DGX-1": (8, "InfiniBand", "50 GB/s"), "DGX-2": (16, "InfiniBand", "100 GB/s"),
    "DGX-2H": (16, "InfiniBand", "100 GB/s"), "DGX A100": (8, "InfiniBand", "200 GB/s"),
    "NVIDIA A100 8x A100 80GB": (8, "InfiniBand", "200 GB/s"),
    "10GbE with TCP/IP": (4, "10GbE with TCP/IP", "1.25 GB/s"),
    "100GbE with TCP/IP": (4, "100GbE with TCP/IP", "12.5 GB/s"),
    "100GbIB with RDMA": (4, "InfiniBand", "12.5 GB/s"),
    "Amazon EC2 p2.8xlarge, several": (8, "20GbE with TCP/IP", "2.5 GB/s"),
}  # fmt: skip
ONE_NODE = (8, "InfiniBand", "12.5 GB/s")
PARAMETERS = {  # the beginning of a model's name → parameters, from memory
    "ResNet-50": 25.6e6, "ResNet-152": 60.2e6, "VGG16": 138.4e6, "AlexNet": 61e6, "RN50": 25.6e6, "resnet50": 25.6e6,
    "resnext101": 44e6, "se-resnext101": 49e6, "efficientnet": 12e6, "Efficientdet": 4e6, "SSD": 24e6, "BERT": 336e6,
    "biobert": 110e6, "BART": 406e6, "Transformer-XL": 200e6, "ELECTRA": 110e6, "DLRM": 5e6, "NCF": 32e6,
    "MaskRCNN": 44e6, "nnUNet": 30e6, "QuartzNet": 19e6, "Jasper": 330e6, "wav2vec2": 200e6, "FastPitch": 46e6,
    "HiFiGAN": 85e6, "GNMT": 160e6, "Transformer": 210e6, "WideAndDeep": 5e6, "SIM": 5e6, "UNet_3D": 19e6,
    "UNet_Industrial": 2e6, "UNet_Medical": 31e6, "VNet": 45e6, "SE3Transformer": 2e6, "MoFlow": 8e6, "TFT": 1e6,
}  # fmt: skip
SAMPLES = ("img/s", "images/s", "sequences/s", "sentences/s", "molecules/s", "items/s", "samples/s", "")
NVIDIA_RUN = [  # that rows of one training share, whatever the number of its devices
    "framework", "model", "variant", "section", "device", "system", "batch_per_gpu", "seq_len", "precision", "xla",
    "unit", "column",
]  # fmt: skip
TENSORFLOW_RUN = ["device", "model", "data", "batch_per_gpu"]
TIMED = ("ResNet-50", "BERT-Base")  # models whose all-reduce, without overlap, is a timed collective
USUAL_STEP_S = 0.3  # where neither the batch nor the unit tells how long a step is


def read_rates(folder: str | Path) -> PublishedRows:
    """Read the published rates of several devices that have one of a single device beside them.

    Columns: ``one_s``, the step of one device; ``time_s``, that on ``gpus``; ``parameters`` of the model.
    Raises EstimatorError where a table lacks a column.
    """
    import pandas as pd

    tables = [reader(Path(folder) / name) for name, reader in READERS.items()]
    rows = pd.concat(tables, ignore_index=True)
    known = rows[rows["one_s"].notna()].reset_index(drop=True)
    without = len(rows) - len(known)
    note = (
        f"{without} of {len(rows)} published rates of several devices are left out, as none of one stands beside them"
    )
    return PublishedRows(known, (note,) if without else ())


def _ddl(path: Path) -> pd.DataFrame:
    columns = ("model", "parameters", "gpus", "nodes", "network", "architecture", "method", "iteration_ms")
    table = as_numbers(read_columns(path, columns), path, "parameters", "gpus", "nodes", "iteration_ms")
    one_s = table[table["gpus"] == 1].set_index("model")["iteration_ms"] * 1e-3
    several = table[table["gpus"] > 1]
    return several.assign(
        table=DDL, device=PCIE_CARD, system=several["network"], time_s=several["iteration_ms"] * 1e-3,
        one_s=several["model"].map(one_s), overlaps=several["method"] != "BSP",
        split=several["architecture"].map({"all-reduce": "data"}).fillna("parameter-server"),
    )  # fmt: skip


def _tensorflow(path: Path) -> pd.DataFrame:
    columns = ("system", "gpus", "nodes", "images_per_s", "variable_update", *TENSORFLOW_RUN)
    table = as_numbers(read_columns(path, columns), path, "gpus", "nodes", "images_per_s", "batch_per_gpu")
    table = table.assign(machine=table["system"].str.replace(", several", ""))
    alone = table[table["gpus"] == 1].groupby([*TENSORFLOW_RUN, "machine"])["images_per_s"].median().rename("one")
    several = table[table["gpus"] > 1].join(alone, on=[*TENSORFLOW_RUN, "machine"])
    servers = several["variable_update"].str.contains("parameter_server")
    return several.assign(
        table=TENSORFLOW, time_s=several["batch_per_gpu"] * several["gpus"] / several["images_per_s"],
        one_s=several["batch_per_gpu"] / several["one"], parameters=several["model"].map(_parameters),
        device=several["device"].map(DEVICES), split=np.where(servers, "parameter-server", "data"), overlaps=True,
    )  # fmt: skip


def _nvidia(path: Path) -> pd.DataFrame:
    """A step's time follows from batch and rate; where they do not tell it, rates alone count."""
    table = read_columns(path, ("gpus", "nodes", "throughput", "grad_accum", *NVIDIA_RUN)).fillna("")
    table = as_numbers(table, path, "gpus", "nodes", "throughput")
    alone = table[table["gpus"] == 1].groupby(NVIDIA_RUN)["throughput"].median().rename("one")
    several = table[table["gpus"] > 1].join(alone, on=NVIDIA_RUN)
    batch = several["batch_per_gpu"].where(several["unit"].isin(SAMPLES), "").replace("", np.nan).astype(float)
    one_s = (batch / several["one"]).fillna(USUAL_STEP_S).where(several["one"].notna())
    short_name = several["model"].str.rsplit("/", n=1).str[-1]
    return several.assign(
        table=NVIDIA, one_s=one_s, time_s=one_s * several["gpus"] * several["one"] / several["throughput"],
        parameters=short_name.map(_parameters), device=several["device"].map(DEVICES), split="data", overlaps=True,
    )  # fmt: skip


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {DDL: _ddl, TENSORFLOW: _tensorflow, NVIDIA: _nvidia}


def _parameters(model: str) -> float:
    """Parameters of a model by the beginning of its name; those of a usual one where it is not known."""
    return next((count for name, count in PARAMETERS.items() if model.startswith(name)), 25e6)


def judge(rates: PublishedRows) -> dict[str, pd.DataFrame]:
    """Judge every row. Columns: KEYS, with one group of all rows; ``target``, ``op`` in words, ``time_s`` of the
    published step, predicted times [s] of ours and without communication, ``low_s`` and ``high_s`` of ours.
    """
    import pandas as pd

    plain = rates.rows.assign(links=[()] * len(rates.rows))
    timed = _with_timed_links(plain[plain["table"] == DDL])
    predicted = _predicted(pd.concat([plain, timed], ignore_index=True))
    by_nodes, with_kit = predicted["table"] == DDL, predicted["links"].map(len) > 0
    chosen = {"scaling": ~by_nodes, "scaling-networks": by_nodes & ~with_kit, "scaling-networks-kit": with_kit}
    return {name: _describe(predicted[rows].reset_index(drop=True)) for name, rows in chosen.items()}


def _with_timed_links(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without those that tell the time of a collective, each with the links that these show in its network."""
    without_overlap = ~rows["overlaps"] & (rows["split"] == "data") & rows["model"].isin(TIMED)
    links = {key: _timed_link(group) for key, group in rows[without_overlap].groupby(["network", "gpus"])}
    judged = rows[~without_overlap]
    shown = [(links[key],) for key in zip(judged["network"], judged["gpus"], strict=True)]
    return judged.assign(links=shown)


def _timed_link(rows: pd.DataFrame) -> MeasuredLink:
    """α and β of an all-reduce, from what steps take longer than on one device."""
    size, time_s = 4.0 * rows["parameters"].to_numpy(float), (rows["time_s"] - rows["one_s"]).to_numpy(float)
    latency, per_byte = alpha_beta(size, time_s)
    ranks = int(rows["gpus"].iloc[0])
    return MeasuredLink(
        operator="all_reduce", ranks=ranks, latency_s=latency or None, seconds_per_byte=per_byte or None
    )


def _predicted(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with our steps and intervals [s]; each waits for the slowest device as those of other groups do."""
    steps = [_step_of_equal_devices(row) for row in rows.to_dict("records")]
    gpus = rows["gpus"].astype(int).tolist()
    maxima = np.array([expected_maximum(count) for count in gpus])
    equal_s, sent_s = np.array([(step.total[0], step.communication_exposed[0]) for step in steps]).T
    implied = np.log(rows["time_s"].to_numpy() / equal_s) / maxima
    group = (rows["system"].astype(str) + rows["model"]).to_numpy()
    has_few_messages = (rows["links"].map(len).to_numpy() == 0) & (sent_s <= LITTLE * equal_s)
    ends = []
    for step, count, name in zip(steps, gpus, group, strict=True):
        spread = _spread(implied[has_few_messages & (group != name)])
        slowest = slowest_device(count, count, Spreads(spread, loads=NO_SPREAD.loads), RunPlan("", draws=DRAWS))
        ends.append(bounds(_waiting(step, slowest)))
    low, mid_s, high = np.array(ends).T
    return rows.assign(**{OURS: mid_s, ENDS[0]: low, ENDS[1]: high, LINEAR: rows["one_s"]})


def _spread(implied: Floats) -> Spread:
    """The spread of devices that published steps of other groups imply: what most of them do, and nine in ten."""
    low, high = np.maximum(np.quantile(implied, [0.05, 0.95]), LEAST_SPREAD)
    mid = float(np.clip(_shorth(implied), low, high))
    return float(low), mid, float(high)


def _waiting(step: StepTime, slowest: Floats) -> Floats:
    """Samples of a step that waits for the slowest device [s]."""
    return step.total + (slowest - 1.0) * (step.total - step.communication_exposed)


def _shorth(values: Floats) -> float:
    """The mean of the shortest half of the values: their mode, more or less, whatever their tails.

    Source: Andrews et al., Robust Estimates of Location, 1972.
    """
    ordered, half = np.sort(values), len(values) // 2 + 1
    first = int(np.argmin(ordered[half - 1 :] - ordered[: len(ordered) - half + 1]))
    return float(ordered[first : first + half].mean())


def _step_of_equal_devices(row: dict[str, object]) -> StepTime:
    """The step on all devices, of which none is slower than the others; without overlap, messages follow it."""
    gpus, nodes, split = int(float(str(row["gpus"]))), int(float(str(row["nodes"]))), read_split(str(row["split"]))
    predicted, one = _one_device(float(str(row["one_s"])), str(row["device"]), int(float(str(row["parameters"]))))
    there = _built_in(predicted, str(row["system"]), row["links"])
    grouped = step_of_group(there, one, Group(gpus, nodes, None, None), split, NO_SPREAD)
    return grouped.step if row["overlaps"] else lengthened(one, one.total + grouped.communication_s, np.ones(1))


@cache
def _one_device(one_s: float, device: str, parameters: int) -> tuple[PredictedStep, StepTime]:
    """The step of one device, of which its time alone is known."""
    workload = Workload(name="published", parameters=parameters)
    profile = Profile(ops=_ops(one_s), workload=workload, device=device, format="rate", step_spread=REPEATS)
    step = predict_step(profile, RunPlan(device, draws=DRAWS))
    return step.without_measurements(), step_of_one(step)


def _built_in(step: PredictedStep, system: str, links: object) -> PredictedStep:
    """The step on a device of a machine, with the links that were timed there."""
    joined, name, rate = NODES.get(system, ONE_NODE)
    written = {"linked_devices": joined, "interconnect": name, "injection_bandwidth": rate}
    network = Network.model_validate(written).model_copy(update={"measured": links})
    return step.in_network(network)


def _ops(step_s: float) -> pd.DataFrame:
    """OPS of a step: a third of it the forward pass, the rest the backward pass in equal parts."""
    import pandas as pd

    rows: Iterator[tuple[str, float]] = iter([("forward", step_s / 3), *[("backward", 2 * step_s / 3 / PARTS)] * PARTS])
    table = pd.DataFrame([{"op": phase, "op_type": phase, "phase": phase, "time_s": time_s} for phase, time_s in rows])
    return OPS.conform(table.assign(precision="fp32", calls=1.0), "a published rate")


def _describe(rows: pd.DataFrame) -> pd.DataFrame:
    """The judged rows with KEYS and what they are in words."""
    words = rows["model"] + " on " + rows["gpus"].astype(int).astype(str) + " of " + rows["system"].astype(str)
    keys = {"data_set": "scaling", "device": EVERY_DEVICE, "op_class": rows["table"], "precision": "", "path": ""}
    return rows.assign(op=words, target=rows["system"].astype(str), family=rows["device"], **keys)
