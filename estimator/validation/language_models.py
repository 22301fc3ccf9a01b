"""Language models given as layers, trained on many devices, against published steps: nothing of them was profiled.

- MPT of 125 million to 70 billion parameters on 8 to 128 A100, their weights divided (mosaicml/llm-foundry,
  Apache-2.0).
- GPT by Megatron on 2 to 8 A100 and on 64 and 256, with products, blocks and batches divided in many ways
  (VIA-Research/vTrain, MIT). The tables do not name the vocabulary, the network or recomputation: the first two are
  from memory; that blocks are recomputed is what steps without pipeline or divided products show.

The coefficients are fitted without the family of the device, and no measurement of it is used. Each table is judged
again given ten timed steps of its own, drawn at random and not judged, by twenty seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from estimator.core.parallel import Split
from estimator.core.types import Floats, Network, RunPlan, StepTime, Workload
from estimator.pipeline.alone import step_of_one
from estimator.pipeline.group_steps import steps_of_groups
from estimator.pipeline.predicted_step import PredictedStep
from estimator.pipeline.step import predict_step
from estimator.profiles.layers import Layers, profile_of
from estimator.profiles.layers.shards import divided_layers
from estimator.rollup.scaling import group_of
from estimator.rollup.timed_steps import conditioned
from estimator.validation.left_out import by_family
from estimator.validation.protocol import Method
from estimator.validation.step_intervals import our_columns
from estimator.validation.tables import EVERY_DEVICE, PublishedRows, as_numbers, read_columns

if TYPE_CHECKING:
    import pandas as pd

MPT, MEGATRON, MEGATRON_NODES = FILES = (
    "scaling/llm_foundry.csv", "vtrain/megatron_a100_single.csv", "vtrain/megatron_a100_multi.csv",
)  # fmt: skip
PROBLEMS = {
    "language-models": "MPT given as layers, weights divided",
    "megatron": "GPT of divided products and blocks, one node",
    "megatron-nodes": "GPT of divided products and blocks, many nodes",
}
OF_TABLE = dict(zip(FILES, PROBLEMS, strict=True))
GIVEN = "-timed"  # how the name of a problem ends that is judged given timed steps
PROBLEMS |= {f"{name}{GIVEN}": f"{title}; 10 timed" for name, title in PROBLEMS.items()}
TIMED, SEEDS = 10, range(20)
OP_CLASSES = ("gemm", "elementwise", "collective")
PLAIN = "compute alone"  # without messages, and without waiting for other devices
DRAWS = 400
PER_NODE = 8
SIZES = {  # of MPT: blocks, hidden size, heads; mosaicml/llm-foundry, scripts/train/yamls/pretrain
    "mpt-125m": (12, 768, 12), "mpt-350m": (24, 1024, 16), "mpt-760m": (24, 1536, 12), "mpt-1b": (24, 2048, 16),
    "mpt-3b": (32, 2560, 20), "mpt-7b": (32, 4096, 32), "mpt-13b": (40, 5120, 40), "mpt-30b": (48, 7168, 56),
    "mpt-70b": (80, 8192, 64),
}  # fmt: skip
OF_MPT: dict[str, Any] = {
    "kind": "gpt", "vocabulary": 50368, "dropout": 0.0, "precision": "bf16", "optimizer": "adamw",
}  # fmt: skip
OF_MEGATRON: dict[str, Any] = {
    "kind": "gpt", "vocabulary": 51200, "precision": "fp16", "attention": "unfused", "recompute": "full",
}  # fmt: skip
DEVICES = {"a100_80gb": "a100-sxm4-80gb", "a100_40gb": "a100-sxm4-40gb"}
MPT_NETWORK, MEGATRON_NETWORK = "200 GB/s", "100 GB/s"  # of a node
MEGATRON_COLUMNS = {  # the tables' words → ours
    "# GPUs": "gpus", "global batch": "batch", "micro batch": "micro", "hidden size": "hidden_size",
    "attention heads": "heads", "# layers": "blocks", "sequence length": "sequence_length",
    "tensor parallelism": "tensor", "pipeline parallelism": "pipeline", "iteration time (ms)": "time_ms",
}  # fmt: skip


@dataclass(frozen=True)
class Training:
    """A training on many devices: its layers, device, network of a node, split, number of devices and whole batch."""

    layers: Layers
    device: str
    network: str
    split: Split
    devices: int
    batch: int

    @property
    def of_one(self) -> tuple[str, str, str, int]:
        """What the step of one device goes by."""
        return (self.layers.model_dump_json(), self.device, self.network, self.split.tensor)


def read_steps(folder: str | Path) -> PublishedRows:
    """Read the published steps, with their ``training`` and ``time_s``.

    Raises EstimatorError where a table lacks a column.
    """
    import pandas as pd

    tables = [reader(Path(folder) / name).assign(table=name) for name, reader in READERS.items()]
    rows = pd.concat(tables, ignore_index=True)
    return PublishedRows(rows.assign(device=[training.device for training in rows["training"]]))


def _mpt(path: Path) -> pd.DataFrame:
    import pandas as pd

    numbers = ("gpus", "seq_len", "micro_batch", "global_batch", "iteration_s")
    table = as_numbers(read_columns(path, ("model", "device", "checkpointing", *numbers)), path, *numbers)
    trainings = [_mpt_training(row) for row in table.to_dict("records")]
    return pd.DataFrame({"model": table["model"], "training": trainings, "time_s": table["iteration_s"]})


def _mpt_training(row: Mapping[str, Any]) -> Training:
    blocks, hidden_size, heads = SIZES[row["model"]]
    layers = Layers.model_validate({
        **OF_MPT, "blocks": blocks, "hidden_size": hidden_size, "heads": heads, "sequence_length": int(row["seq_len"]),
        "micro_batch": int(row["micro_batch"]), "recompute": "full" if row["checkpointing"] == "True" else "none",
    })  # fmt: skip
    split = Split("zero3", micro_batch=layers.micro_batch)
    return Training(layers, DEVICES[row["device"]], MPT_NETWORK, split, int(row["gpus"]), int(row["global_batch"]))


def _megatron(path: Path) -> pd.DataFrame:
    import pandas as pd

    table = read_columns(path, tuple(MEGATRON_COLUMNS)).rename(columns=MEGATRON_COLUMNS).apply(pd.to_numeric)
    trainings = [_megatron_training(row) for row in table.to_dict("records")]
    return pd.DataFrame({"model": "gpt", "training": trainings, "time_s": table["time_ms"] * 1e-3})


def _megatron_training(row: Mapping[str, Any]) -> Training:
    sizes = {name: int(row[name]) for name in ("blocks", "hidden_size", "heads", "sequence_length")}
    layers = Layers.model_validate({**OF_MEGATRON, **sizes, "micro_batch": int(row["micro"])})
    split = Split("data", int(row["tensor"]), int(row["pipeline"]), int(row["micro"]))
    return Training(layers, DEVICES["a100_80gb"], MEGATRON_NETWORK, split, int(row["gpus"]), int(row["batch"]))


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {MPT: _mpt, MEGATRON: _megatron, MEGATRON_NODES: _megatron}


def judge(truth: pd.DataFrame, steps: PublishedRows, method: Method) -> dict[str, pd.DataFrame]:
    """Judge every published step. Columns as :func:`networks.judge` gives them."""
    described = _describe(by_family(truth, steps.rows, method, _predicted))
    judged: dict[str, pd.DataFrame] = {}
    for table, of_table in described.groupby("table"):
        rows, name = of_table.reset_index(drop=True), OF_TABLE[table]
        judged |= {name: _with_ends(rows, _samples(rows)), f"{name}{GIVEN}": _given_timed(rows)}
    return {name: rows for name, rows in judged.items() if len(rows)}


def _samples(rows: pd.DataFrame) -> Floats:
    """Samples of our steps (1 + draws × rows) [s]."""
    return np.stack(rows["samples_s"].to_list(), axis=1)


def _with_ends(rows: pd.DataFrame, samples_s: Floats) -> pd.DataFrame:
    """The rows with our steps and their intervals [s] in place of samples."""
    return rows.drop(columns="samples_s").assign(**our_columns(samples_s))


def _given_timed(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table given TIMED of them, once for each seed, without these."""
    import pandas as pd

    samples_s, names, judged = _samples(rows), [f"row {place}" for place in range(len(rows))], []
    for seed in SEEDS:
        timed = np.random.default_rng(seed).permutation(len(rows))[:TIMED]
        steps_s = conditioned(samples_s, names, timed.tolist(), rows["time_s"].to_numpy()[timed].tolist())
        judged.append(_with_ends(rows, steps_s).drop(index=timed))
    return pd.concat(judged, ignore_index=True)


def _predicted(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with samples of our steps, and with their computation alone [s]."""
    import pandas as pd

    predicted: dict[object, tuple[Floats, float]] = {}
    keys = [f"{training.of_one} {training.split}" for training in rows["training"]]
    for _, same in rows.groupby(pd.Series(keys, index=rows.index)):
        predicted.update(zip(same.index, _of_one_step(list(same["training"])), strict=True))
    _one_device.cache_clear()
    return rows.join(pd.DataFrame.from_dict(predicted, orient="index", columns=["samples_s", PLAIN]))


def _of_one_step(trainings: list[Training]) -> Iterator[tuple[Floats, float]]:
    """Samples and computation alone of trainings that differ in number of devices and batch [s]."""
    first = trainings[0]
    predicted, one = _one_device(*first.of_one)
    groups = [group_of(each.devices, PER_NODE, "strong", each.batch, each.split) for each in trainings]
    for group in steps_of_groups(predicted, one, groups, first.split):
        total = group.step.total
        yield total, float(total[0] - group.step.communication_exposed[0])


@cache
def _one_device(layers: str, device: str, network: str, tensor: int) -> tuple[PredictedStep, StepTime]:
    """The step of one micro-batch on one device of a machine."""
    whole = Layers.model_validate_json(layers)
    profile = profile_of(whole, Workload(name="published", framework="pytorch"))
    part = divided_layers(profile, whole, Split(tensor=tensor))
    step = predict_step(part, RunPlan(device, draws=DRAWS))
    written = {"linked_devices": PER_NODE, "interconnect": "InfiniBand", "injection_bandwidth": network}
    return step.in_network(Network.model_validate(written)).without_measurements(), step_of_one(step)


def _describe(rows: pd.DataFrame) -> pd.DataFrame:
    """The judged rows with KEYS and what they are in words."""
    trainings = rows["training"]
    words = [f"{name} on {each.devices}, {each.split}" for name, each in zip(rows["model"], trainings, strict=True)]
    keys = {"data_set": "language-models", "op_class": rows["table"], "precision": "", "path": ""}
    return rows.assign(op=words, target=[each.device for each in trainings], device=EVERY_DEVICE, **keys)
