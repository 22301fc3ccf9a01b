"""What the source's run reveals of its ops: by how much those of one class miss the model there, and elsewhere too.

A part of such a miss is the ops' own (work that is not as counted, kernels of an unusual kind) and goes with them to
the target; the rest is the source device's. Sums over a class are used: single ops carry the noise of one profile. A
class that is far off the model is unlike what the model was fitted to, and tells nothing.

Where one library was measured on the source and on the target, each op's kernel is known on both: what its step made
of it on the source (operands that no cache holds any more, memory that is new, ops beside it) goes with it, and what
launches it counts on the target as far as it does on the source.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from estimator.core import physics
from estimator.core.types import DeviceSpec, Flags, Floats
from estimator.model.coefficients import Coefficients
from estimator.model.hardware import hardware_of
from estimator.model.kernels import by_model, calls_of, launch_latency

BESIDE = 2.0  # times the share of its time that is another's, of an op beside which one other ran throughout
LEAST = 0.1  # of what an op takes by itself, that is left of it without its launch
LONGER = 1.05  # than in the cache that an op must take out of it, beyond the noise of repeats, to tell anything


def carried_over(work: pd.DataFrame, source: DeviceSpec | None, c: Coefficients) -> Floats:
    """Logarithm by which each op's time on any device is longer than modelled, as the source's run has it; 0 where it
    tells nothing: specifications of the source unknown, or no model.
    """
    out = np.zeros(len(work))
    if source is None or source.specifications != "known":
        return out
    on = hardware_of(source, work["op_class"], work["precision"])
    calls = calls_of(work)
    for _, model, rows in by_model(work):
        busy = model.busy(work[rows], on.of(rows), source, c)
        modelled = float((calls[rows] * (busy.time + busy.launches * launch_latency(source, c))).sum())
        taken = float(work.loc[rows, "time_s"].sum())
        miss = np.log(taken / modelled) if min(taken, modelled) > 0 else np.nan
        out[rows] = c.transfer.weight * miss if abs(miss) <= c.transfer.limit else 0.0
    return out


def in_common(one: pd.DataFrame, other: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of two tables of MEASUREMENTS the rows that were made by libraries in common, of versions that are told."""
    common = {name for name in {*one["library"].dropna()} & {*other["library"].dropna()} if re.search(r"\d", name)}
    return one[one["library"].isin(common)], other[other["library"].isin(common)]


def emptied(shared: Floats, warm: Floats, cold: Floats) -> Floats:
    """Share, 0 to 1, of what an op takes longer where no cache holds its operands that it takes longer in its step; 1
    where that is hardly longer, or nothing tells: between two uses of an array, steps use many others.

    All in seconds: in its step once each instant is divided among the ops that ran, and by itself with its operands in
    the cache, and out of it.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip((shared - warm) / (cold - warm), 0.0, 1.0)
    return np.where((shared > 0) & (cold > LONGER * warm), share, 1.0)


def left_out(shared: Floats, alone: Floats, launch: Floats) -> Floats:
    """Share, 0 to 1, of an op's launch that its time in its step does not hold: what launches an op from a processor
    is no part of its time in most profiles, but of its time by itself, where ops are timed in a chain. 0 where nothing
    tells.

    All in seconds: in its step once each instant is divided among the ops that ran, by itself, and its ``launch``.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip((alone - shared) / launch, 0.0, 1.0)
    return np.where((shared > 0) & (launch > 0) & (alone > 0), share, 0.0)


def without(alone: Floats, launching: Floats) -> Floats:
    """What an op takes by itself [s] without the part that launches it; at least a little of it."""
    return np.asarray(np.maximum(alone - launching, LEAST * alone))


def in_step(own: Floats, shared: Floats, alone: Floats, there: Floats) -> Floats:
    """Time of each op in a step on the target over that by itself, as its times on the source have it, all in seconds:
    in its step (``own``, of which ``shared`` is left once each instant is divided among the ops that ran), by itself
    (``alone``), and by itself on the target (``there``). NaN where ``own`` or ``alone`` is nothing or not known.

    Of what a step adds to an op, a part grows with it (memory that is new) and a part does not (threads that wake).
    Which, no single run tells: it grows as the root of the time by itself does, and as that time where it is not known
    on the target. As far as others ran beside the op, it waited for them, and what is added grows as all ops do.
    """
    told = (own > 0) & (alone > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        longer, ratio, beside = shared / alone, there / alone, np.clip(BESIDE * (1.0 - shared / own), 0.0, 1.0)
        grown = ratio ** (0.5 * (1.0 - beside)) * _ratio(alone, there, told) ** beside
        factor = (
            own / alone * np.where((longer > 1.0) & (there > 0), (1.0 + (longer - 1.0) * grown / ratio) / longer, 1.0)
        )
    return np.where(told, factor, np.nan)


def _ratio(alone: Floats, there: Floats, told: Flags) -> float:
    """The time of all told ops by themselves on the target, over that on the source."""
    known = told & (there > 0)
    return float(there[known].sum() / alone[known].sum()) if known.any() else 1.0


def efficiency(work: pd.DataFrame, source: DeviceSpec | None) -> Floats:
    """Roofline time over measured time on the source; NaN where the source's specifications are not known."""
    nothing = np.full(len(work), np.nan)
    if source is None or source.specifications == "unknown":
        return nothing
    on = hardware_of(source, work["op_class"], work["precision"])
    flop, bytes_, time = (work[name].to_numpy(dtype=float) for name in ("flop", "bytes", "time_s"))
    ideal = physics.ideal_time(flop, bytes_, on.peak, on.bandwidth)
    return np.asarray(np.divide(ideal, time, out=nothing, where=time > 0))
