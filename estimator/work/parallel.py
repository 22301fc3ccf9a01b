"""A step on several devices: the messages that they exchange, WORK × split → MESSAGES.

A message can be sent once the op that makes its gradient has ended, and some op waits for it. Gradients share a message
up to a *bucket*, in the order in which the backward pass makes them, as PyTorch's DistributedDataParallel sends them
(torch.nn.parallel, ``bucket_cap_mb``: 25 MiB, the first 1 MiB). Where copies divide the update, but not the weights,
buckets are Megatron-LM's, which are larger the more copies there are. Weights that are gathered for each pass travel by
the blocks of the model, as PyTorch's FSDP wraps them; a model of unknown blocks has buckets in their place.

Where each device has the whole model, gradients travel in fp32, in which frameworks keep them beside narrower formats
of products. Where states or weights are divided, they travel in the format of the products (Rajbhandari et al., ZeRO,
2020, section 7; PyTorch's FSDP with mixed precision).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from estimator.core.attributes import (
    AROUND,
    AROUND_GRADIENTS,
    EXCHANGED,
    EXCHANGED_BEFORE,
    EXPERTS_LOAD,
    EXPERTS_WEIGHTS,
    GATHERED,
    GATHERED_BESIDE,
    GATHERED_DURING,
    SCATTERED,
    SCATTERED_DURING,
    SUMMED,
    has_attribute,
)
from estimator.core.errors import EstimatorError
from estimator.core.notes import Note
from estimator.core.parallel import DataWord, Split
from estimator.core.schema import MATRIX, MESSAGES, WORK, among_copies, numbers
from estimator.core.types import Flags, Floats, Workload, stored_itemsizes
from estimator.work.buckets import Buckets, buckets_of, knows_blocks, units_of
from estimator.work.compression import Compression, compression
from estimator.work.gradients import divided_bucket, gradients_made
from estimator.work.operators.rule import ATTENDED
from estimator.work.shapes import parse_ops
from estimator.work.variables import kept_itemsize
from estimator.work.weights import updates, weights_taken

Updates = tuple[int | None, int | None]  # the first and the last op that updates weights


class Ranks(NamedTuple):
    """Who sends messages of one kind."""

    ranks: int  # devices that send a message to each other
    per_node: int  # of these, devices of one node
    groups_at_once: int  # such groups of one node that do so at once


@dataclass(frozen=True)
class Exchange:
    """MESSAGES of one step, how its gradients travel, and notes on what is not known of them.

    ``assumed_places``: the share of the gradients that each bucket ends with, where they are taken to be made evenly
    during the backward pass as no op tells when; None where ops do.
    """

    messages: pd.DataFrame
    compression: Compression
    notes: tuple[Note, ...] = ()
    assumed_places: Floats | None = None


def exchange(work: pd.DataFrame, workload: Workload, split: Split, copies: int = 1) -> Exchange:
    """The messages of one step of so many copies of the model. Raises EstimatorError where no parameter is known."""
    made, notes = gradients_made(work, workload)
    if not made.any():
        raise EstimatorError(
            f"{workload.name}: neither the profile nor a workload file tells how many parameters it has; expected "
            "'parameters: 25000000' in its workload.yaml, as their gradients are what devices exchange"
        )
    width, elements = _width(work, workload, split), divided_bucket(split, copies)
    size = None if elements is None else elements * width
    taken = weights_taken(work)
    holders = taken if taken.any() else made
    frozen = width * float(workload.frozen_parameters or 0) * holders / holders.sum()
    weights = _Weights(width * made, taken, frozen)
    of_experts, by_experts = has_attribute(work, EXPERTS_WEIGHTS), has_attribute(work, EXPERTS_LOAD)
    among = {
        "data": weights.of_ops(makes=~of_experts, takes=~by_experts),
        "like_experts": weights.of_ops(makes=of_experts, takes=by_experts),
    }
    tables = [
        _exchange_among(name, _parts(work, own, size, split), work, split)
        for name, own in among.items() if own.made.any()
    ]  # fmt: skip
    table = pd.concat(tables, ignore_index=True)
    gradients = table["operator"] != "all_gather"
    how = compression(table[gradients], width, split)
    compressed = _compressed(table.assign(holds=np.where(gradients, "gradients", "weights")), how)
    parts = [MESSAGES.conform(part, "messages") for part in (messages_among_parts(work), compressed)]
    whole = pd.concat(parts, ignore_index=True)  # of equal types, as pandas 2 warns of empty columns of unlike ones
    by_bucket = table.loc[gradients, "bytes"].to_numpy(dtype=float)
    places = np.cumsum(by_bucket) / by_bucket.sum() if notes else None
    return Exchange(whole, how, notes, places)


class _Weights(NamedTuple):
    """Of each op the bytes of gradients that it makes, the weights that it takes, and bytes of frozen ones of these."""

    made: Floats
    taken: Floats
    frozen: Floats

    def of_ops(self, makes: Flags, takes: Flags) -> _Weights:
        """Those of the ops that make the gradients of some weights, and of the ops that take these."""
        return _Weights(self.made * makes, self.taken * takes, self.frozen * takes)


def _parts(work: pd.DataFrame, weights: _Weights, size: float | None, split: Split) -> Buckets:
    """The parts of the weights that travel at once: where they are gathered for each pass, the blocks of the model."""
    made, taken, frozen = weights
    if not split.gathers_weights:
        return buckets_of(work, made, taken, size)
    return units_of(work, made, frozen) if knows_blocks(work) else buckets_of(work, made, taken, size, frozen)


def _exchange_among(name: str, buckets: Buckets, work: pd.DataFrame, split: Split) -> pd.DataFrame:
    """The messages of gradients and weights among these copies of the model.

    Where some of all copies share the states, those with the same share add up its gradients too.
    """
    messages = MESSAGES_OF[split.data](buckets, _updates_after(work, int(buckets.made.max())))
    if split.shard is None:
        return messages.assign(among=name)
    own = messages[messages["operator"] == "reduce_scatter"].assign(operator="all_reduce", among="like_shards")
    own["bytes"] /= split.shard
    return pd.concat([messages.assign(among="shards"), own]).sort_index(kind="stable").reset_index(drop=True)


def _compressed(messages: pd.DataFrame, how: Compression) -> pd.DataFrame:
    """Messages whose gradients travel so: of the largest of them, each copy of the model gathers those of all."""
    gradients = messages["holds"] == "gradients"
    smaller = messages.assign(bytes=messages["bytes"].where(~gradients, how.share * messages["bytes"]))
    return smaller if how.top is None else smaller.assign(operator="all_gather", holds="chosen")


AMONG_PARTS = {  # attribute of an op → its message, as large as which tensor, ready and needed so many ops later
    GATHERED: ("all_gather", "tensor", "operand", -1, 0),
    GATHERED_BESIDE: ("all_gather", "tensor", "result", -1, 1),
    SCATTERED: ("reduce_scatter", "tensor", "result", 0, 1),
    GATHERED_DURING: ("all_gather", "tensor", "operand", -1, 1),
    SCATTERED_DURING: ("reduce_scatter", "tensor", "result", -1, 1),
    SUMMED: ("all_reduce", "tensor", "result", 0, 1),
    AROUND: ("all_gather", "context", "keys and values", -1, 1),
    AROUND_GRADIENTS: ("reduce_scatter", "context", "keys and values", -1, 1),
    EXCHANGED: ("all_to_all", "experts", "result", 0, 1),
    EXCHANGED_BEFORE: ("all_to_all", "experts", "result", -1, 0),
}
_SENDS = "|".join(f"={among}" for among in dict.fromkeys(among for _, among, *_ in AMONG_PARTS.values()))


def messages_among_parts(work: pd.DataFrame) -> pd.DataFrame:
    """The MESSAGES of devices that have parts of the same products, tokens or experts.

    What is no product, such as the embedding of tokens, has a message as large as that of the last product whose
    message goes the same way.
    """
    attributes, last = work["attributes"].fillna(""), len(work) - 1
    messages = [
        {"operator": operator, "among": among, "like": like, "row": row, "ready": row + ready,
         "needed": min(row + needed, last)}
        for row in np.flatnonzero(attributes.str.contains(_SENDS, regex=True))
        for mark, (operator, among, like, ready, needed) in AMONG_PARTS.items()
        if mark in attributes.iloc[row].split(";")
    ]  # fmt: skip
    table = pd.DataFrame(messages, columns=["operator", "among", "like", "row", "ready", "needed"])
    size, ready = _message_bytes(work.iloc[table["row"]], table["like"]), table["ready"].where(table["ready"] >= 0)
    size = size.groupby(table["among"]).ffill().groupby(table["among"]).bfill()
    table = table.assign(bytes=size, ready=ready, holds="results").drop(columns=["like", "row"])
    return MESSAGES.conform(table, "messages")


def _message_bytes(rows: pd.DataFrame, like: pd.Series) -> pd.Series:
    """Bytes of the tensors of ops that messages are as large as; NaN where the op has no such tensor."""
    size = np.where(like == "operand", _bytes(rows, "m", "k"), _bytes(rows, "m", "n"))
    attention = (like == "keys and values").to_numpy(dtype=bool)
    size[attention] = _key_value_bytes(rows[attention])
    return pd.Series(size)


def _key_value_bytes(attention: pd.DataFrame) -> Floats:
    """Bytes of the keys and values of attention: their share of all that it moves, which gradients move twice.

    Results are as large as queries. The share does not depend on the batch.
    """
    parsed = parse_ops(attention, 1)
    queries, keys, values = ([math.prod(op.operand(role) or ()) for op in parsed.ops] for role in ATTENDED)
    both = np.add(keys, values)
    share = both / (2 * np.array(queries) + both)
    often = np.where(attention["operator"] == "attention", 1, 2)
    return np.asarray(share[parsed.codes] * numbers(attention, "bytes") / often)


def passed_on(work: pd.DataFrame, split: Split) -> pd.DataFrame:
    """MESSAGES from one stage of a pipeline to the next in one pass; none without stages.

    A block hands on as much as its first product takes: all tokens once, however many experts each of them goes to.
    Devices that have parts of a product send a part of it each, which those of the next stage gather, but where they
    share the tokens anyway (Narayanan et al., 2021, section 4.1).
    """
    if split.pipeline == 1:
        return MESSAGES.empty()
    first = work[(work["block"] == 0) & (work["phase"] == "forward") & (work["op_class"] == "gemm")].iloc[:1]
    size = float(_bytes(first, "m", "k")[0])
    rows = [{"operator": "send_recv", "bytes": size / split.tensor, "among": "stages"}]
    if split.tensor > 1 and not split.sequence:
        rows.append({"operator": "all_gather", "bytes": size, "among": "tensor"})
    return MESSAGES.conform(pd.DataFrame(rows).assign(holds="results"), "messages")


def tied_gradients(work: pd.DataFrame, workload: Workload, elements: float, split: Split) -> pd.DataFrame:
    """MESSAGES in which both ends of a pipeline add up the gradients of a table of so many elements.

    Source: Megatron-LM, finalize_model_grads.py, from memory.
    """
    row = {
        "operator": "all_reduce",
        "bytes": elements * _width(work, workload, split),
        "among": "stages",
        "holds": "gradients",
    }
    return MESSAGES.conform(pd.DataFrame([row]), "messages")


def _bytes(products: pd.DataFrame, rows: str, columns: str) -> Floats:
    """Bytes of matrices of products; NaN for other ops."""
    elements = numbers(products, rows) * numbers(products, columns) * np.nan_to_num(numbers(products, "batch"), nan=1.0)
    return np.asarray(elements * stored_itemsizes(products["precision"]))


def messages_as_work(messages: pd.DataFrame, groups: Mapping[str, Ranks]) -> pd.DataFrame:
    """WORK of MESSAGES; ``groups``: who sends each kind."""
    ranks, per_node, at_once = ([groups[kind][i] for kind in messages["among"]] for i in range(3))
    numbered = [f"{operator} {number}" for number, operator in enumerate(messages["operator"], start=1)]
    columns = {
        "op": numbered,
        "op_class": "collective",
        "ranks": ranks,
        "ranks_per_node": per_node,
        "groups_at_once": at_once,
        "among": np.where(among_copies(messages), "data", "model"),
        "precision": "fp32",
        "calls": 1.0,
        "time_s": 0.0,
    }
    size = messages["bytes"] * np.where(messages["holds"] == "chosen", ranks, 1)
    return WORK.conform(messages[["operator"]].assign(bytes=size, **columns), "messages")


def _width(work: pd.DataFrame, workload: Workload, split: Split) -> float:
    """Bytes of one gradient or weight as it travels: as training keeps it, or as products take it."""
    products = work.loc[work["op_class"].isin(MATRIX), "precision"].mode()
    taken = float(stored_itemsizes(products)[0]) if len(products) else 0.0
    kept = kept_itemsize(work, workload, taken)
    return min(kept, taken) if split.divides_update and len(products) else kept


def _updates_after(work: pd.DataFrame, last_made: int) -> Updates:
    """The first and the last update of weights after the last gradient; None where there is none."""
    rows = np.flatnonzero(updates(work).to_numpy(dtype=bool))
    later = rows[rows > last_made]
    return (int(later[0]), int(later[-1])) if len(later) else (None, None)


def _data(buckets: Buckets, updated: Updates) -> pd.DataFrame:
    """One all-reduce a bucket; all must have ended before weights are updated."""
    table = pd.DataFrame({"operator": "all_reduce", "bytes": buckets.bytes, "ready": buckets.made})
    return table.assign(needed=updated[0], bucket=range(len(table)))


def _servers(buckets: Buckets, updated: Updates) -> pd.DataFrame:
    """Gradients to the servers, and weights back."""
    return _data(buckets, updated).assign(operator="parameter_server")


def _owners(buckets: Buckets, updated: Updates) -> pd.DataFrame:
    """Each bucket is reduced to its owner; after the update the owners' weights are gathered."""
    reduced = _data(buckets, updated).assign(operator="reduce_scatter")
    last = buckets.made[-1] if updated[1] is None else updated[1]
    gathered = pd.DataFrame({"operator": ["all_gather"], "bytes": buckets.bytes.sum(), "ready": last, "needed": None})
    return pd.concat([reduced, gathered], ignore_index=True)


def _sharded(buckets: Buckets, updated: Updates) -> pd.DataFrame:
    """Weights are gathered for each pass, one part ahead of the computation, and gradients reduced to their owners.

    The backward pass begins with the weights that the forward pass ended with.
    """
    count, rows = len(buckets.bytes), list[dict[str, object]]()
    for bucket in reversed(range(count)):  # the forward pass
        ahead = min(bucket + 1, count - 1)
        ready = buckets.neighbour(int(buckets.used[ahead]), -1) if bucket < count - 1 else None
        rows.append(_gather(buckets, bucket, ready, int(buckets.used[bucket])))
    for bucket in range(count):
        if bucket + 1 < count:
            ready = int(buckets.made[bucket - 1]) if bucket else buckets.last_forward
            rows.append(_gather(buckets, bucket + 1, ready, buckets.neighbour(int(buckets.made[bucket]), 1)))
        reduced = {"operator": "reduce_scatter", "bytes": buckets.bytes[bucket], "bucket": bucket}
        rows.append({**reduced, "ready": int(buckets.made[bucket]), "needed": updated[0]})
    table = pd.DataFrame(rows)
    return table[table["bytes"] > 0].reset_index(drop=True)


def _gather(buckets: Buckets, bucket: int, ready: int | None, needed: int | None) -> dict[str, object]:
    size = buckets.bytes[bucket] + buckets.frozen[bucket]
    return {"operator": "all_gather", "bytes": size, "ready": ready, "needed": needed, "bucket": bucket}


MESSAGES_OF: dict[DataWord, Callable[[Buckets, Updates], pd.DataFrame]] = {
    "data": _data,
    "parameter-server": _servers,
    "zero1": _owners,
    "zero2": _owners,
    "zero3": _sharded,
}
