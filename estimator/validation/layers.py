"""Training of BERT, given as layers, against published rates of one device: nothing of it was profiled.

The truth is NVIDIA's examples of BERT-Large in three frameworks: pre-training on sequences of 128 or 512 tokens, and
fine-tuning on SQuAD, whose sequences have 384. Each row is predicted from its layers, its batch and its precision, by
the device file, with the default options. Where the table accumulates gradients, one update is shared by as many
batches. The coefficients are fitted without the target's family, and no measurement of the target is used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimator.core.interval import bounds
from estimator.core.schema import STREAMING
from estimator.core.types import Profile, RunPlan, Workload
from estimator.pipeline.memory import memory
from estimator.pipeline.step import estimate
from estimator.profiles.layers import Layers, profile_of
from estimator.validation.left_out import by_family, unmeasured
from estimator.validation.networks import DEVICES, published_rates, step_of_methods
from estimator.validation.protocol import Method
from estimator.validation.tables import PublishedRows, as_numbers, read_columns

if TYPE_CHECKING:
    import pandas as pd

(FILE,) = FILES = ("scaling/nvidia_examples.csv",)
PROBLEMS = {"layers": "BERT given as layers against published rates"}
OP_CLASSES = ("gemm", *STREAMING)
MODEL = "LanguageModeling/BERT"
PRECISIONS = {"fp32": "fp32", "tf32": "tf32", "amp": "fp16"}  # a table's word → precision of the layers
FINE_TUNING, SQUAD_LENGTH = "Fine-tuning", 384  # where a table names no length: of SQuAD, by its examples' scripts
PREDICTIONS = {128: 20, 512: 80}  # of masked tokens, by length; README of google-research/bert
ACCUMULATED = ("PaddlePaddle",)  # frameworks whose tables list the batch of an update in place of a step's
BERT_LARGE: dict[str, Any] = {  # Devlin et al., BERT, 2019; the vocabulary is padded to a multiple of 8 there
    "kind": "bert", "blocks": 24, "hidden_size": 1024, "heads": 16, "vocabulary": 30528, "max_positions": 512,
}  # fmt: skip
NUMBERS = ("batch_per_gpu", "grad_accum", "seq_len", "throughput")


def read_rates(folder: str | Path) -> PublishedRows:
    """Read the rates of one device, without misprints, with ``time_s`` of one batch.

    Left out are figures that one table prints for several settings, and batches that a device cannot hold, which the
    table must have accumulated. Raises EstimatorError where the table lacks a column.
    """
    columns = ("framework", "model", "section", "device", "gpus", "precision", "unit", *NUMBERS)
    path = Path(folder) / FILE
    table = read_columns(path, columns)
    one = table[(table["model"] == MODEL) & (table["gpus"] == "1") & table["device"].isin(DEVICES)]
    rows = _as_steps(as_numbers(one[one["precision"].isin(PRECISIONS)], path, *NUMBERS))
    repeated = _printed_for_several(rows)
    fits = [_fits(row) for row in rows.to_dict("records")]
    reasons = {"whose figure stands for several settings": repeated, "whose batch no memory holds": ~_flags(fits, rows)}
    notes = tuple(
        f"{int(left.sum())} of {len(rows)} rates of BERT {why} are left out"
        for why, left in reasons.items()
        if left.any()
    )
    return PublishedRows(rows[~repeated & _flags(fits, rows)].reset_index(drop=True), notes)


def _flags(values: list[bool], rows: pd.DataFrame) -> pd.Series:
    import pandas as pd

    return pd.Series(values, index=rows.index, dtype=bool)


def _as_steps(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with ``batch`` of one step, ``accumulated`` steps of an update, length, and ``time_s`` of the step."""
    accumulated = rows["grad_accum"].fillna(1.0)
    batch = rows["batch_per_gpu"].mask(rows["framework"].isin(ACCUMULATED), rows["batch_per_gpu"] / accumulated)
    tuned = rows["section"].str.contains(FINE_TUNING)
    batch = batch.mask(tuned, rows["batch_per_gpu"])
    length = rows["seq_len"].mask(tuned & rows["seq_len"].isna(), SQUAD_LENGTH)
    described = rows.assign(
        batch=batch, accumulated=accumulated, length=length, tuned=tuned, device=rows["device"].map(DEVICES),
        time_s=batch / rows["throughput"],
    )  # fmt: skip
    return described[described[["batch", "length", "time_s"]].notna().all(axis=1)].reset_index(drop=True)


def _printed_for_several(rows: pd.DataFrame) -> pd.Series:
    """Whether a table prints the same figure for another setting too: one of them is a misprint."""
    return rows.duplicated(["framework", "device", "throughput"], keep=False)


def _fits(row: Mapping[str, Any]) -> bool:
    """Whether the device may hold the step."""
    use = memory(profile_of_row(row), RunPlan(str(row["device"])))
    return use.capacity is None or float(bounds(use.total)[0]) <= use.capacity


def profile_of_row(row: Mapping[str, Any]) -> Profile:
    """The step of a row, with its share of the update."""
    length, tuned = int(row["length"]), bool(row["tuned"])
    head = {"head": "span", "pooler": False, "optimizer": "adam"} if tuned else {"optimizer": "lamb"}
    predictions = {} if tuned else {"predictions": PREDICTIONS.get(length)}
    precision = PRECISIONS[str(row["precision"])]
    profile = _profile(
        str(row["framework"]), length, int(row["batch"]), precision, (*head.items(), *predictions.items())
    )
    updates = (profile.ops["phase"] == "optimizer").to_numpy(dtype=bool)
    calls = profile.ops["calls"].astype(float).fillna(1.0).mask(updates, 1.0 / float(row["accumulated"]))
    return dataclasses.replace(profile, ops=profile.ops.assign(calls=calls))


@cache
def _profile(framework: str, length: int, batch: int, precision: str, head: tuple[tuple[str, object], ...]) -> Profile:
    sizes = {"sequence_length": length, "micro_batch": batch, "precision": precision}
    layers = Layers.model_validate({**BERT_LARGE, **sizes, **dict(head)})
    return profile_of(layers, Workload(name="bert-large", framework=framework))


def judge(truth: pd.DataFrame, rates: PublishedRows, method: Method) -> dict[str, pd.DataFrame]:
    """Judge every published row by coefficients fitted without its device's family.

    Columns: KEYS, with the network as op class and one group of all rows; ``target``, ``op`` in words, ``time_s`` of
    the published step, a column of predicted times [s] per method, ``low_s`` and ``high_s`` of ours.
    """
    predicted = by_family(truth, rates.rows, method, lambda rows: unmeasured(rows, _predict_step))
    return {"layers": _describe(predicted)}


def _predict_step(row: Mapping[str, Any], measurements: str) -> dict[str, float]:
    plan = RunPlan(target=str(row["device"]), measurements=measurements)
    return step_of_methods(estimate(profile_of_row(row), plan))


def _describe(rows: pd.DataFrame) -> pd.DataFrame:
    """The judged rows with KEYS and what they are in words, as scores and reports take them."""
    words = [
        f"BERT-Large, {row['length']:.0f} tokens, batch {row['batch']:.0f}, {row['precision']}, on {row['device']} "
        f"({row['framework']})"
        for row in rows.to_dict("records")
    ]
    return published_rates(rows, words).assign(op_class="bert-large")
