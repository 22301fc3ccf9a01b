"""Trainings in PyTorch on one card each, against published rates of many cards.

The truth is Lambda's table of training rates, by two software stacks of different years. ResNet-50 is predicted from
the shipped trace of a processor, and BERT, fine-tuned on SQuAD, from its layers; both at the published batch and
format, by the device file, with the default options. The coefficients are fitted without the target's family, and no
measurement of the target is used.

Lambda's scripts are NVIDIA's examples in NVIDIA's containers, where fp32 products run in TF32 on devices that have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimator.core.schema import STREAMING
from estimator.core.types import Profile, RunPlan, Workload
from estimator.devices import load_device
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from estimator.profiles.layers import Layers, profile_of
from estimator.validation.left_out import by_family, unmeasured
from estimator.validation.networks import published_rates, step_of_methods
from estimator.validation.protocol import Method
from estimator.validation.tables import PublishedRows, as_numbers, read_columns

if TYPE_CHECKING:
    import pandas as pd

(FILE,) = FILES = ("scaling/lambda.csv",)
PROBLEMS = {
    "cards": "ResNet-50 in PyTorch, from a processor, against rates of cards",
    "cards-layers": "BERT given as layers against rates of cards",
}
OP_CLASSES = ("gemm", "convolution", *STREAMING)
RESNET, TRACE = "resnet50", "resnet50/processor.kineto"
SQUAD: dict[str, Any] = {
    "kind": "bert", "head": "span", "pooler": False, "vocabulary": 30522, "sequence_length": 384, "max_positions": 512,
}  # fmt: skip
BERT = {  # Devlin et al., BERT, 2019
    "bert_base_squad": {"blocks": 12, "hidden_size": 768, "heads": 12},
    "bert_large_squad": {"blocks": 24, "hidden_size": 1024, "heads": 16},
}
DEVICES = {  # the table's name → device file
    "A100 40GB PCIe": "a100-pcie-40gb", "A100 PCIe": "a100-pcie-40gb", "A100 40GB SXM4": "a100-sxm4-40gb",
    "A100 SXM4": "a100-sxm4-40gb", "A100 80GB PCIe": "a100-pcie-80gb", "A100 80GB SXM4": "a100-sxm4-80gb",
    "A40": "a40", "GTX 1080 Ti": "gtx-1080-ti", "Quadro RTX 6000": "quadro-rtx-6000", "RTX 2080 Ti": "rtx-2080-ti",
    "RTX 3080": "rtx-3080", "RTX 3090": "rtx-3090", "RTX 4090": "rtx-4090", "RTX 6000 Ada": "rtx-6000-ada",
    "RTX A6000": "rtx-a6000", "TITAN RTX": "titan-rtx", "V100 16GB SXM2": "v100-sxm2-16gb",
}  # fmt: skip
# the table's word → formats of products, of which a device runs the first that it has
FORMATS = {"fp32": ("tf32", "fp32"), "fp16": ("fp16",), "amp": ("fp16",)}


def read_rates(folder: str | Path) -> PublishedRows:
    """Read the rates of one card, of shipped devices, with ``time_s`` of a step and the ``precision`` of its products.

    Left out are formats that no product of the device's file has. Raises EstimatorError where the table lacks a column.
    """
    columns = ("device", "gpus", "suite", "model", "precision", "batch_per_gpu", "throughput")
    path = Path(folder) / FILE
    table = read_columns(path, columns)
    named = table["model"].isin([RESNET, *BERT]) & table["device"].isin(DEVICES) & table["precision"].isin(FORMATS)
    one = as_numbers(table[named & (table["gpus"] == "1")], path, "batch_per_gpu", "throughput")
    rows = one[one["batch_per_gpu"].notna()].rename(columns={"batch_per_gpu": "batch"})
    rows = rows.assign(device=rows["device"].map(DEVICES), time_s=rows["batch"] / rows["throughput"])
    formats = [_format(*pair) for pair in rows[["device", "precision"]].itertuples(index=False)]
    rows = rows.assign(precision=formats)
    known = rows[rows["precision"] != ""].reset_index(drop=True)
    lacking = len(rows) - len(known)
    note = f"{lacking} of {len(rows)} rates of cards are left out, as the device's file gives no peak in their format"
    return PublishedRows(known, (note,) if lacking else ())


@cache
def _format(device: str, word: str) -> str:
    """The format of products on a device; empty where its file gives no peak."""
    spec = load_device(device)
    return next((name for name in FORMATS[word] if spec.peak_of(name).matrix), "")


def judge(truth: pd.DataFrame, rates: PublishedRows, method: Method) -> dict[str, pd.DataFrame]:
    """Judge every published row by coefficients fitted without its device's family.

    Columns: KEYS, with the model as op class and one group of all rows; ``target``, ``op`` in words, ``time_s`` of the
    published step, a column of predicted times [s] per method, ``low_s`` and ``high_s`` of ours.
    """
    predicted = by_family(truth, rates.rows, method, lambda rows: unmeasured(rows, _predict_step))
    described, of_trace = _describe(predicted), (predicted["model"] == RESNET).to_numpy()
    return {"cards": described[of_trace], "cards-layers": described[~of_trace]}


def _predict_step(row: Mapping[str, Any], measurements: str) -> dict[str, float]:
    batch, precision = int(row["batch"]), str(row["precision"])
    plan = RunPlan(str(row["device"]), precision=precision, measurements=measurements, batch=batch)
    return step_of_methods(estimate(profile_of_model(str(row["model"]), batch, precision), plan))


def profile_of_model(model: str, batch: int, precision: str) -> Profile:
    """The shipped trace of ResNet-50, or BERT from its layers with this batch and format."""
    if model == RESNET:
        return _resnet()
    layers = Layers.model_validate({**SQUAD, **BERT[model], "micro_batch": batch, "precision": precision})
    return profile_of(layers, Workload(name=model, framework="PyTorch"))


@cache
def _resnet() -> Profile:
    return read_profile(TRACE)


def _describe(rows: pd.DataFrame) -> pd.DataFrame:
    words = [
        f"{row['model']}, batch {row['batch']:.0f}, {row['precision']}, on {row['device']} (stack {row['suite']})"
        for row in rows.to_dict("records")
    ]
    return published_rates(rows, words).rename(columns={"batch": "samples", "model": "op_class"})
