"""The gradients of a step: which op makes how many, and the buckets that they are sent in."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.attributes import OF_PARAMETERS, has_attribute
from estimator.core.notes import Note
from estimator.core.parallel import Split
from estimator.core.schema import HOST_CLASSES, numbers
from estimator.core.types import Flags, Floats, Workload
from estimator.work.tensors import in_phase
from estimator.work.weights import form, takes_weights, updates, weights_of

BUCKET_BYTES, FIRST_BUCKET_BYTES = 25 * 2**20, 2**20
# elements that a message holds where copies divide the update, and for each of them: so that thousands of copies do not
# wait for the starts of messages; Megatron-LM, DistributedDataParallelConfig.bucket_size, from memory
DIVIDED_BUCKET, OF_EACH_COPY = 40_000_000, 1_000_000
MOST_BUCKETS = 256  # more of them are sent as fewer, larger ones
BACKWARD_SHARE = 2 / 3  # of a step whose backward pass is not known: two products for each of the forward pass
GRADIENT_PARTS = 16  # that gradients are sent in, where no op is known to make them


def gradients_made(work: pd.DataFrame, workload: Workload) -> tuple[Floats, tuple[Note, ...]]:
    """Elements of the gradients that each op makes, and a note where ops do not tell.

    All together they are those of the workload's parameters. What products and convolutions do not make is made last,
    as the gradients of embeddings are; where none is known to make any, ops of the backward pass do, as their times.
    Blocks that are known have their own gradients alone: the last ones are made behind them.
    """
    elements = gradient_elements(work)
    total = float(workload.parameters or 0) or float(elements.sum())
    if elements.sum() <= 0:
        return total * _spread(work), (_unknown_gradients(workload),)
    if elements.sum() > total:
        elements *= total / elements.sum()
    elements[_last_making(work, elements)] += max(total - elements.sum(), 0.0)
    return elements, ()


def _last_making(work: pd.DataFrame, elements: Floats) -> int:
    """The op that makes the last gradients: a product, or of a model of blocks the last op of what precedes them."""
    outside = in_phase(work, "backward") & work["block"].isna() & work["block"].notna().any()
    return int(np.flatnonzero((elements > 0) | outside)[-1])


def gradient_elements(work: pd.DataFrame) -> Floats:
    """Elements of the gradients of parameters that each product, convolution or recurrent layer makes."""
    stated = has_attribute(work, OF_PARAMETERS)
    if not stated.any():
        return np.where(_makes_gradients(work), weights_of(work), 0.0)
    return np.where(stated, np.nan_to_num(numbers(work, "batch") * numbers(work, "m") * numbers(work, "n")), 0.0)


def _makes_gradients(work: pd.DataFrame) -> Flags:
    """Products, convolutions and recurrent layers whose results are gradients of weights."""
    forward = work[takes_weights(work)]
    weights = {form(pair) for pair in forward[["k", "n"]].dropna().astype("int64").itertuples(index=False, name=None)}
    backward, single = in_phase(work, "backward"), ~(work["batch"] > 1).fillna(False)
    product = (work["op_class"] == "gemm") & backward & single & work[["m", "n"]].notna().all(axis=1)
    results = work.loc[product, ["m", "n"]].astype("int64").itertuples(index=False, name=None)
    product[product] = [form(pair) in weights for pair in results]
    layer = work["op_class"].isin(["convolution", "recurrent"]) & work["pass"].isin(["grad_weights", "backward"])
    return np.asarray(product | layer, dtype=bool)


def _spread(work: pd.DataFrame) -> Floats:
    """Shares of gradients by the time of the backward pass, in GRADIENT_PARTS; without phases, of the step's end."""
    time_s = np.where(work["op_class"].isin(HOST_CLASSES) | updates(work), 0.0, work["time_s"]).astype(float)
    backward = in_phase(work, "backward").to_numpy()
    backward_s = np.where(backward, time_s, 0.0) if backward.any() else time_s
    ended = np.cumsum(backward_s) / max(float(backward_s.sum()), np.finfo(float).tiny)
    begins = 0.0 if backward.any() else 1.0 - BACKWARD_SHARE
    part = np.floor(GRADIENT_PARTS * np.round(np.clip((ended - begins) / (1.0 - begins), 0.0, 1.0), 9))
    return np.diff(np.maximum.accumulate(part), prepend=0.0) / GRADIENT_PARTS


def bucket_bytes(gradients: float) -> float:
    """What all buckets but the first hold of so many bytes of gradients [B]."""
    return max(BUCKET_BYTES, gradients / MOST_BUCKETS)


def divided_bucket(split: Split, copies: int) -> int | None:
    """Elements of gradients in a message where so many copies divide the update, but not the weights; else None.

    max(DIVIDED_BUCKET, OF_EACH_COPY · D), with D devices that hold the same weights.
    """
    if not split.divides_update or split.gathers_weights:
        return None
    return max(DIVIDED_BUCKET, OF_EACH_COPY * split.weight_holders(copies))


def _unknown_gradients(workload: Workload) -> Note:
    text = (
        "no op is known to compute the gradients of weights: they are sent evenly over the backward pass; the interval "
        "includes gradients as early and as late as in the shipped profiles"
    )
    return Note("gradients-unknown", text, subject=workload.name)
