"""Which gradients and weights share a message: buckets in the order of the backward pass, or the blocks of a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core.types import Floats, Integers
from estimator.work.gradients import FIRST_BUCKET_BYTES, bucket_bytes
from estimator.work.tensors import in_phase

BEFORE, BEHIND = -1, np.iinfo(np.int64).max  # units of what stands before all blocks, and behind them


@dataclass(frozen=True)
class Buckets:
    """Parts of the weights in the order of the backward pass: the bytes of those that are trained.

    ``made``: the op that makes the last of their gradients; ``used``: the first op of the forward pass that takes them;
    ``order``: all ops as the step runs them; ``last_forward``: the last op ahead of the backward pass, if any.
    """

    bytes: Floats
    made: Integers
    used: Integers
    order: Integers
    last_forward: int | None
    frozen: Floats  # bytes of weights that travel with them and are not trained

    def neighbour(self, op: int, distance: int) -> int | None:
        """The op that runs so many places later (or earlier, below 0); None before the first one."""
        place = int(np.flatnonzero(self.order == op)[0]) + distance
        return int(self.order[min(place, len(self.order) - 1)]) if place >= 0 else None


def buckets_of(
    work: pd.DataFrame, made: Floats, taken: Floats, size: float | None = None, frozen: Floats | None = None
) -> Buckets:
    """Group gradients in the order in which they are made; a bucket is sent once it is full.

    ``made``: bytes of gradients that each op makes; ``taken``: elements of weights that each op of the forward pass
    takes: the forward pass goes through the buckets from the last to the first. ``size``: bytes of each bucket; None:
    as in PyTorch's DistributedDataParallel, whose first one is smaller. ``frozen``: as for :func:`units_of`, where
    weights travel too; each bucket has its share, and is the sooner full.
    """
    order = order_of(work)
    rows = order[made[order] > 0]
    ratio = 0.0 if frozen is None else float(frozen.sum() / made.sum())  # of frozen to trained weights
    travels = made * (1.0 + ratio)
    first, others = (FIRST_BUCKET_BYTES, bucket_bytes(float(travels.sum()))) if size is None else (size, size)
    limit, full, filled = first, [], 0.0
    for place, bytes_ in enumerate(travels[rows]):
        filled += bytes_
        if filled >= limit or place == len(rows) - 1:
            full.append(place)
            limit, filled = others, 0.0
    ended = np.cumsum(made[rows])[full]
    used, last = _first_takers(taken, order, ended), rows[full]
    size_of = np.diff(ended, prepend=0.0)
    return Buckets(size_of, last, used, order, _last_forward(work, order, last[0]), ratio * size_of)


def units_of(work: pd.DataFrame, made: Floats, frozen: Floats | None = None) -> Buckets:
    """Group weights by the blocks of the model; what stands before these, and what behind, has a unit of its own.

    ``made``: bytes of gradients that each op makes; ``frozen``: bytes of weights that each op of the forward pass takes
    and that are not trained. The weights of a unit are there during all of its passes.
    Source: Zhao et al., PyTorch FSDP, VLDB 2023, section 3: a unit for each wrapped block, and one for all others.
    """
    order = order_of(work)
    rows, size = work.iloc[order], made[order]
    not_trained = np.zeros(len(order)) if frozen is None else frozen[order]
    ops = pd.DataFrame({"unit": _units(rows), "row": order, "bytes": size, "frozen": not_trained})
    makes, takes = in_phase(rows, "backward").to_numpy() | (size > 0), in_phase(rows, "forward").to_numpy()
    units = pd.DataFrame({
        "bytes": ops.groupby("unit")["bytes"].sum(),
        "frozen": ops.groupby("unit")["frozen"].sum(),
        "made": ops[makes].groupby("unit")["row"].last(),
        "used": ops[takes].groupby("unit")["row"].first(),
    })  # fmt: skip
    units = units[units["bytes"] + units["frozen"] > 0]
    units = units.fillna({"used": order[0], "made": units["made"].max()}).astype({"made": np.int64, "used": np.int64})
    units = units.iloc[np.argsort(np.argsort(order)[units["made"]])]
    last_forward = _last_forward(work, order, int(units["made"].iloc[0]))
    columns = {name: units[name].to_numpy() for name in ("bytes", "made", "used", "frozen")}
    return Buckets(order=order, last_forward=last_forward, **columns)


def knows_blocks(work: pd.DataFrame) -> bool:
    """Whether ops of both passes tell which block of the model they belong to."""
    return bool(work["block"].notna().groupby(work["phase"]).any().reindex(["forward", "backward"]).eq(True).all())


def order_of(work: pd.DataFrame) -> Integers:
    """The rows in the order in which the step runs them; where a dump has no order, forward before backward."""
    rank = work["phase"].map({"forward": 0.0, "backward": 1.0}).ffill().fillna(0.0).to_numpy(dtype=float)
    return np.argsort(rank, kind="stable")


def _units(rows: pd.DataFrame) -> Integers:
    """The unit of each op, in the order of the step: its block, or the end of the model that it stands at.

    The forward pass comes to the blocks from before them, and the backward pass from behind.
    """
    backward = in_phase(rows, "backward")
    met = rows["block"].notna().groupby(backward).cummax()
    outside = np.where(met != backward, BEHIND, BEFORE)
    return np.where(rows["block"].notna(), rows["block"].fillna(0), outside).astype(np.int64)


def _last_forward(work: pd.DataFrame, order: Integers, first_made: int) -> int | None:
    """The last op ahead of the backward pass, which ends before the first gradient is made."""
    ahead = order[: int(np.flatnonzero(order == first_made)[0])]
    forward = ahead[~in_phase(work, "backward").to_numpy()[ahead]]
    return int(forward[-1]) if len(forward) else None


def _first_takers(taken: Floats, order: Integers, ended: Floats) -> Integers:
    """The first op of the forward pass that takes the weights of each bucket, by its share of all weights."""
    rows = order[taken[order] > 0]
    if not len(rows):
        return np.full(len(ended), order[0])
    before = np.cumsum(taken[rows]) - taken[rows]
    begins = (1.0 - ended / ended[-1]) * taken[rows].sum()
    return np.asarray(rows[np.clip(np.searchsorted(before, begins * (1.0 - 1e-9), side="left"), 0, len(rows) - 1)])
