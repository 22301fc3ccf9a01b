"""The share of each op's time by which it lengthens a step that has no timeline: on the source, and on the target."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.schema import on_processor
from estimator.core.types import DeviceSpec, Floats, Prediction, Profile
from estimator.rollup.source_step import overlap_factor


def source_overlap(ops: pd.DataFrame, profile: Profile) -> Floats:
    """Share of each op's time by which it lengthened the source's step.

    It is shared_s / time_s where the dump has shared times, else one factor for all ops, and 1 for ops that did not run
    there; the shares are scaled so that the ops together take the busy time.
    """
    time, shared = (ops[name].to_numpy(dtype=float, na_value=np.nan) for name in ("time_s", "shared_s"))
    factor = overlap_factor(profile)
    default = np.where(time > 0, factor, 1.0)
    share = np.divide(shared, time, out=default, where=(time > 0) & ~np.isnan(shared))
    return _scaled_to(share, time, factor * float(time.sum()))


def target_overlap(prediction: Prediction, profile: Profile, target: DeviceSpec, same_setting: bool) -> Floats:
    """Share of each op's time by which it lengthens the step on the target.

    It is the source's share, but the step is never shorter than the target's peak and bandwidth allow. Ops that a
    processor's cores ran side by side run one after another on any other device, except those that go by their time
    there, as a core's share of the rates is the source's share too. With ``same_setting``, the source's shares are
    returned.
    """
    ops, own = prediction.ops, source_overlap(prediction.ops, profile)
    if same_setting:
        return own
    time = prediction.samples[0]
    share = _scaled_to(own, time, max(float(own @ time), float(prediction.floor_s.sum())))
    by_source_time = ops["method"].isin(["proportional", "unchanged"]).to_numpy(dtype=bool)
    serial = on_processor(ops) & ~by_source_time & (not target.is_processor)
    return np.where(serial, 1.0, share)


def _scaled_to(share: Floats, time: Floats, total_s: float) -> Floats:
    """The shares of ops with these times [s], scaled so that Σ share × time = ``total_s``; none is above 1.

    Shares shrink by one factor, or grow by one fraction of 1 - share.
    """
    overlapped_s, serial_s = float(share @ time), float(time.sum())
    if total_s <= overlapped_s:
        return share * total_s / overlapped_s if overlapped_s > 0 else share
    if serial_s <= overlapped_s:
        return share
    return share + (1.0 - share) * min(1.0, (total_s - overlapped_s) / (serial_s - overlapped_s))
