"""Messages that a profile recorded, on another device or among another number of ranks.

A message of known bytes and ranks takes what the model says of the target's links. What it took longer on the source,
its rank mostly *waited* there for slower ones (a collective ends when its last rank has come). These compute, so the
wait goes as the step's other ops do: from hardly any of it, where ranks take the same time, to all of it or more.

A message of unknown bytes is taken to be as large as its time on the source allows: S with t_source(S) = its time. It
may as well have waited there, or be short: its interval reaches from a short message's time to twice that of S.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.schema import numbers
from estimator.core.types import DeviceSpec, Flags, Floats
from estimator.model.coefficients import shipped
from estimator.model.kernels.collectives import COLLECTIVE, OPERATORS, SHORT
from estimator.model.kernels.kernel_model import KernelInputs, calls_of

TYPICAL_RANKS = 8  # assumed where nothing tells how many take part
LARGEST_BYTES = 2.0**40  # of one message
HALVINGS = 60  # of the interval that holds a message's bytes
WIDENING = 2.0  # from the time of a message of unknown bytes to the high end


def are_messages(work: pd.DataFrame) -> Flags:
    """Recorded collectives that took time on the source."""
    return np.asarray((work["op_class"] == "collective") & (work["time_s"] > 0), dtype=bool)


def waits(work: pd.DataFrame, device: DeviceSpec, ratio: Floats) -> Floats:
    """Low end, mid and high end (3 × ops) of the time that ranks wait for others on the target [s]; 0 for other ops.

    Args:
        work: WORK as profiled.
        device: the source; where it is not known, the target stands for it.
        ratio: low end, mid and high end of the step's target time / source time.
    """
    waits_s = np.zeros((3, len(work)))
    rows = are_messages(work) & COLLECTIVE.matches(work)
    if rows.any():
        waited_s = np.maximum(numbers(work, "time_s")[rows] - message_times(work[rows], device), 0.0)
        waits_s[:, rows] = np.reshape(ratio, (3, 1)) * waited_s
    return waits_s


def unsized_times(work: pd.DataFrame, profiled: pd.DataFrame, source: DeviceSpec, target: DeviceSpec) -> Floats:
    """Low end, mid and high end (3 × ops) of all calls of messages whose bytes or ranks are unknown [s]; NaN else.

    Args:
        work: rows of WORK on the target.
        profiled: the same rows on the source.
        source: the source device.
        target: the target device.
    """
    times_s = np.full((3, len(work)), np.nan)
    rows = are_messages(profiled)
    if rows.any():
        there, here = _known(profiled[rows]), _known(work[rows])
        sized = _bytes_by_time(there, source)
        short_s, long_s = (message_times(here.assign(bytes=size), target) for size in (calls_of(here) * SHORT, sized))
        times_s[:, rows] = [np.minimum(short_s, long_s), long_s, WIDENING * long_s]
    return times_s


def message_times(work: pd.DataFrame, device: DeviceSpec) -> Floats:
    """The model's time of all calls of messages of known bytes and ranks [s]."""
    return calls_of(work) * COLLECTIVE.busy_time(KernelInputs.on_device(work, device, shipped())).time_s


def _known(work: pd.DataFrame) -> pd.DataFrame:
    """Messages with a number of ranks, and of a kind that the model knows."""
    kind = work["operator"].where(work["operator"].isin(OPERATORS), "all_reduce")
    return work.assign(ranks=work["ranks"].astype("Float64").fillna(TYPICAL_RANKS), operator=kind)


def _bytes_by_time(work: pd.DataFrame, device: DeviceSpec) -> Floats:
    """Bytes of all calls with which messages take their time on a device, by bisection: time never falls with bytes."""
    wanted_s, calls = numbers(work, "time_s"), calls_of(work)
    low, high = np.zeros(len(work)), np.full(len(work), np.log2(LARGEST_BYTES))
    for _ in range(HALVINGS):
        mid = (low + high) / 2.0
        longer = message_times(work.assign(bytes=calls * 2.0**mid), device) > wanted_s
        low, high = np.where(longer, low, mid), np.where(longer, mid, high)
    return np.asarray(calls * 2.0**low)
