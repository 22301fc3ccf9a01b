"""Casts where a tensor changes its format between the op that writes it and one that reads it, as rows of WORK.

A tensor is cast once, and what the forward pass has cast stays for the backward pass: autograd saves what an op really
took, and Keras casts at the entrance of a layer. In the forward pass PyTorch's autocast casts a tensor for each op that
reads it, as it keeps the casts of weights alone (PyTorch, aten/src/ATen/autocast_mode.cpp, cached_cast). A layer of
several ops counts as one op. Between two ops in fp32 nothing is cast. An op that is in fp32 because of one operand
reads the others as they are (type promotion of torch.Tensor); only their gradients are cast to their formats.

:func:`estimator.work.edges.operand_writers` tells which op reads which tensor. Where nothing tells
who wrote what an op reads, half of its bytes are cast if the op before it in program order has the narrow format; and
where nothing tells who reads what it writes, the other half if the op behind it has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from estimator.core.number_formats import WIDE
from estimator.core.types import ITEMSIZE, Workload
from estimator.work.edges import FORMATS, has_flow, operand_writers
from estimator.work.shapes import ParsedOps, parse_ops

CARRIED = ["placement", "stream", "rank", "phase", "block", "work_source"]  # columns that casts take from their op
Writers = list[list[tuple[int, int]]]  # of each row's operands: who wrote them, and their elements
Amount = tuple[int, float, float]  # a row in fp32, elements that one call casts for it, and casts of one call


@dataclass(frozen=True)
class Formats:
    """The formats in which the rows of a step read and write activations."""

    each: pd.Series = field(repr=False)  # fp32 or the narrow format; "" for a row without activations
    layer: pd.Series = field(repr=False)  # the name of the layer as which a row is cast; NA where it is cast alone
    widened: pd.Series = field(repr=False)  # rows in fp32 as one of their operands is
    stored: str  # the narrow format
    casts_each_use: bool  # whether the forward pass casts a tensor for each op that reads it


def casts_between(work: pd.DataFrame, workload: Workload, formats: Formats) -> pd.DataFrame:
    """A row for each op in fp32, or layer of ops and phase: the casts of what it reads and of what it writes."""
    parsed, layer = parse_ops(work, workload.batch_size), formats.layer
    names = layer.where(work["phase"].ne("backward").fillna(True), "gradients of " + layer).fillna(work["op"])
    writers = operand_writers(work, parsed)
    amounts = [*_changes(work, names, writers, formats), *_by_neighbours(work, parsed, writers, formats)]
    table = pd.DataFrame(amounts, columns=["row", "flop", "calls"]).query("flop > 0")
    if table.empty:
        return table
    times = work["calls"].fillna(1.0).to_numpy(dtype=float)[table["row"]]
    carried = work[CARRIED].assign(op="casts around " + names).iloc[table["row"]].reset_index(drop=True)
    casts = carried.assign(calls=table["calls"].to_numpy() * times, flop=table["flop"].to_numpy() * times)
    return _as_casts(casts, formats.stored)


def _as_casts(casts: pd.DataFrame, stored: str) -> pd.DataFrame:
    """One row for each op, or layer, and its place, with the traffic of its casts."""
    keys = ["op", "phase", "placement", "stream", "rank"]
    others = dict.fromkeys(("block", "work_source"), "first")
    summed = casts.groupby(keys, sort=False, dropna=False, as_index=False).agg(
        {**others, "calls": "sum", "flop": "sum"}
    )
    bytes_ = summed["flop"] * (ITEMSIZE[WIDE] + ITEMSIZE[stored])
    return summed.assign(bytes=bytes_, **dict(zip(FORMATS, (WIDE, stored), strict=True)))


def _changes(work: pd.DataFrame, names: pd.Series, writers: Writers, formats: Formats) -> Iterator[Amount]:
    """Yield the casts of tensors whose writer and reader have different formats."""
    each, owner = formats.each.tolist(), names.tolist()
    casts_each_use = (work["phase"].eq("forward").fillna(False) & formats.casts_each_use).tolist()
    promotes = (formats.widened & work["phase"].ne("backward").fillna(True)).tolist()
    cast_for: dict[int, set[str]] = {}
    for row, operands in enumerate(writers):
        for writer, elements in operands:
            if each[row] and each[writer] and each[row] != each[writer] and not promotes[row]:
                readers = cast_for.setdefault(writer, set())
                if not readers or (casts_each_use[row] and owner[row] not in readers):
                    yield (row if each[row] == WIDE else writer), float(elements), 1.0
                readers.add(owner[row])


def _by_neighbours(work: pd.DataFrame, parsed: ParsedOps, writers: Writers, formats: Formats) -> Iterator[Amount]:
    """Yield the casts of ops in fp32 of which nothing tells who writes what they read, or who reads what they write."""
    flow, read = has_flow(work), {writer for operands in writers for writer, _ in operands}
    rows = np.flatnonzero((formats.each != "").to_numpy(dtype=bool))
    each = ["", *formats.each.iloc[rows], ""]
    bytes_ = (work["bytes"] / work["calls"].fillna(1.0)).to_numpy(dtype=float)
    for place, row in enumerate(rows.tolist()):
        unlinked = (not writers[row], row not in read)
        narrow = sum(
            alone and each[place + side] == formats.stored for alone, side in zip(unlinked, (0, 2), strict=True)
        )
        is_data = flow and any(parsed.of_row(row).operands)
        if each[place + 1] == WIDE and narrow and not is_data and bytes_[row] > 0:
            yield row, bytes_[row] / ITEMSIZE[WIDE] * narrow / 2.0, float(narrow)
