"""The model of collectives, and how the measured ones of a device correct it.

"Compute" of a collective is what its links transfer, the rest of its time the latency of its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from estimator.core.physics import ratio
from estimator.core.schema import numbers
from estimator.core.types import DeviceSpec, Flags, MeasuredLink
from estimator.model.calibration import OpFeatures
from estimator.model.collectives import LinkTime, Messages, collective_times, least_times
from estimator.model.kernels.kernel_model import (
    BusyTime,
    KernelInputs,
    KernelModel,
    amounts_per_call,
    have_all,
    uncached_features,
)
from estimator.model.links import links_of

KINDS = (
    ("all_reduce", "custom_all_reduce", "collective_reduce"),
    ("all_gather", "reduce_scatter", "collective_broadcast", "collective_gather"),
)
MANY = 2**20  # ranks of one node where nothing says how many it joins
OPERATORS = (*KINDS[0], *KINDS[1], "all_to_all", "send_recv", "parameter_server")
SHORT, LONG = 1.0, 2.0**30  # bytes of messages that show a latency and a rate


def messages_of(rows: pd.DataFrame, device: DeviceSpec) -> Messages:
    """The messages of WORK or MEASUREMENTS; a node holds as many of the ranks as it has devices."""
    ranks = numbers(rows, "ranks")
    per_node = np.nan_to_num(numbers(rows, "ranks_per_node"), nan=_linked_devices(device))
    operator = rows["operator"].to_numpy(dtype=object, na_value="")
    at_once = np.nan_to_num(numbers(rows, "groups_at_once"), nan=1.0)
    fixed = rows["among"].eq("model").fillna(False).to_numpy(dtype=bool) if "among" in rows else False
    return Messages(operator, amounts_per_call(rows)[1], ranks, np.minimum(per_node, ranks), at_once, fixed)


def _linked_devices(device: DeviceSpec) -> int:
    """Devices that their own links join."""
    return (device.network.linked_devices if device.network else None) or MANY


def _is_modelled(rows: pd.DataFrame) -> Flags:
    return have_all(rows, ["collective"], ("ranks", "bytes"), lambda rows: rows["operator"].isin(OPERATORS).to_numpy())


def _link_time(inputs: KernelInputs) -> LinkTime:
    """The model's time; where the device's collectives were timed, with the latency and rate that these show."""
    messages, links = messages_of(inputs.rows, inputs.device), links_of(inputs.device)
    modelled = partial(collective_times, links=links, coefficients=inputs.coefficients.collectives)
    measured = inputs.device.network.measured if inputs.device.network else ()
    if not measured:
        return modelled(messages)
    return as_measured(messages, modelled, measured, _linked_devices(inputs.device))


def as_measured(
    messages: Messages, modelled: Callable[[Messages], LinkTime], measured: Sequence[MeasuredLink], of_node: int
) -> LinkTime:
    """The α and β of the measured links; for other kinds and groups the model's parts × the mean of their factors.

    ``of_node``: ranks of one node.
    """
    factors = np.array([_factors(link, modelled, of_node) for link in measured])
    typical = np.exp([np.nanmean(column) if not np.isnan(column).all() else 0.0 for column in np.log(factors).T])
    time = modelled(messages)
    latency, transfer = time.latency_s * typical[0], time.transfer_s * typical[1]
    alone_s = modelled(replace(messages, at_once=np.ones(len(messages.ranks)))).transfer_s
    slowdown = ratio(time.transfer_s, alone_s)  # by other groups on the node's way to others
    for link in measured:
        same = (messages.operator == link.operator) & (messages.ranks == link.ranks)
        same &= messages.per_node == min(link.ranks, link.ranks_per_node or of_node)
        latency = np.where(same & (link.latency_s is not None), link.latency_s or 0.0, latency)
        timed_s = (link.seconds_per_byte or 0.0) * messages.bytes * slowdown
        transfer = np.where(same & (link.seconds_per_byte is not None), timed_s, transfer)
    return LinkTime(latency, transfer)


def _factors(link: MeasuredLink, modelled: Callable[[Messages], LinkTime], of_node: int) -> tuple[float, float]:
    """Measured over modelled latency and transfer; NaN where unknown."""
    ranks = np.full(2, float(link.ranks))
    probes = Messages(
        np.full(2, link.operator, dtype=object),
        np.array([SHORT, LONG]),
        ranks,
        np.minimum(ranks, link.ranks_per_node or of_node),
    )
    time = modelled(probes)
    latency = (link.latency_s or np.nan) / time.latency_s[0]
    return latency, (link.seconds_per_byte or np.nan) * LONG / time.transfer_s[1]


def _collective_time(inputs: KernelInputs) -> BusyTime:
    """The start of a library's kernel is part of its latency, so no launch is added."""
    time = _link_time(inputs)
    share = ratio(time.transfer_s, time.total_s, 0.0)
    lower_bound = least_times(messages_of(inputs.rows, inputs.device), links_of(inputs.device))
    total_s = np.maximum(time.total_s, np.finfo(float).tiny)
    return BusyTime(total_s, total_s, np.minimum(lower_bound, total_s), share, np.zeros(len(share)))


def _features(inputs: KernelInputs, busy: BusyTime) -> OpFeatures:
    """Features are bytes and ranks in octaves, whether nodes are crossed, and the operator: one flag for each."""
    messages = messages_of(inputs.rows, inputs.device)
    octaves = np.log2([np.maximum(messages.bytes, 1.0), messages.ranks])
    kind = np.select([np.isin(messages.operator, names) for names in KINDS], range(len(KINDS)), len(KINDS))
    coordinates = np.column_stack([octaves.T, messages.nodes > 1, messages.operator[:, None] == np.array(OPERATORS)])
    return uncached_features(coordinates, busy, kind)


COLLECTIVE = KernelModel(
    matches=_is_modelled,
    busy_time=_collective_time,
    features=_features,
    hyperparameters=lambda coefficients: coefficients.collectives.hyperparameters,
    by_precision=False,
    by_format=False,
)
