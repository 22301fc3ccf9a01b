"""Op times → the time of one step and its parts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.notes import Note
from estimator.core.schema import MATRIX
from estimator.core.types import DeviceSpec, Floats, Prediction, Profile, StepTime

LOW_COVERAGE = 0.8  # share of the wall time below which the report warns
MUCH_CARRIED = 0.5  # carried share of the predicted step above which the report warns
MUCH_PROPORTIONAL = 0.5  # proportional share of the source's time above which its device should be known
PARTS = ("compute", "memory", "latency", "communication_exposed", "input", "host", "unmodelled")
PART_OF_CLASS = {  # op classes that are a part of the step by themselves, whatever their method
    "input": "input",
    "host": "host",
    "collective": "communication_exposed",
    "unmodelled": "unmodelled",
}


def step_time(prediction: Prediction, profile: Profile, overlap: Floats) -> StepTime:
    """The time of one step [s]: the sum of overlap × samples over the ops, and the source's idle time as host time."""
    rest = overlap * (prediction.samples - prediction.launch)
    part = _parts(prediction.ops)
    parts = {name: rest[:, part == name].sum(axis=1) for name in PARTS}
    parts["latency"] = (overlap * prediction.launch).sum(axis=1)
    parts["host"] = parts["host"] + idle_time(profile) * prediction.run
    return StepTime(**parts, total=sum_of_parts(*parts.values()))


def _parts(ops: pd.DataFrame) -> npt.NDArray[np.str_]:
    """The part of the step to which each op's time without launches belongs."""
    by_class = ops["op_class"].isin(MATRIX).map({True: "compute", False: "memory"})
    by_bound = ops["bound"].replace("latency", pd.NA).fillna(by_class).to_numpy(dtype=str)
    is_proportional = ops["method"] == "proportional"
    own = ops["op_class"].map(PART_OF_CLASS).mask(is_proportional & (ops["op_class"] == "host"), "unmodelled")
    part = np.where(is_proportional | (ops["method"] == "unchanged"), "unmodelled", by_bound)
    return np.where(own.isna(), part, own.fillna("").to_numpy(dtype=str))


def sum_of_parts(*parts: Floats) -> Floats:
    """The time of one step [s] from its parts."""
    return np.asarray(sum(parts))


def matrix_time(prediction: Prediction, overlap: Floats) -> Floats:
    """Samples of the time of the step's matrix products and convolutions alone [s], as the lecture rolls up a pass."""
    matrix = prediction.ops["op_class"].isin(MATRIX).to_numpy()
    return np.asarray((overlap * prediction.samples)[:, matrix].sum(axis=1))


def target_overlap(prediction: Prediction, profile: Profile, target: DeviceSpec, same_setting: bool) -> Floats:
    """Share of each op's time by which it lengthens the step on the target.

    It is the source's share, but the step is never shorter than the target's peak and bandwidth allow. Ops that a
    processor's cores ran side by side run one after another on any other device, except those that go by their time
    there, as a core's share of the rates is the source's share too. With
    ``same_setting``, the source's shares are returned.
    """
    ops, own = prediction.ops, source_overlap(prediction.ops, profile)
    if same_setting:
        return own
    time = prediction.samples[0]
    share = _scaled_to(own, time, max(float(own @ time), float(prediction.floor_s.sum())))
    ran_on_cores = ops["placement"].str.contains("cpu", case=False).fillna(False).to_numpy(dtype=bool)
    by_source_time = ops["method"].isin(["proportional", "unchanged"]).to_numpy(dtype=bool)
    serial = ran_on_cores & ~by_source_time & (target.compute_unit != "core")
    return np.where(serial, 1.0, share)


def evidence(prediction: Prediction, overlap: Floats, profile: Profile) -> dict[str, float]:
    """The share of the step by method, the largest first; the source's idle time counts as unchanged."""
    times = pd.Series(overlap * prediction.samples[0]).groupby(prediction.ops["method"].to_numpy()).sum()
    times["unchanged"] = times.get("unchanged", 0.0) + idle_time(profile) * prediction.run[0]
    shares = (times / times.sum()).sort_values(ascending=False)
    return {str(method): float(share) for method, share in shares.items() if share > 0}


def mostly_proportional(prediction: Prediction) -> bool:
    """Whether most of the source's time has no usable shapes."""
    time, is_proportional = prediction.ops["time_s"], prediction.ops["method"] == "proportional"
    return bool(time[is_proportional].sum() > MUCH_PROPORTIONAL * time.sum())


def mostly_carried(shares: Mapping[str, float], target: DeviceSpec) -> tuple[Note, ...]:
    """A note where most of the predicted step is the source's own time, carried over."""
    share = shares.get("unchanged", 0.0)
    if share <= MUCH_CARRIED:
        return ()
    text = (
        f"most of the step on {target.name} is the source's own time, carried over unchanged (host, input and idle "
        "time): it tells more of the source than of the target"
    )
    return (Note("carried-mostly", text, subject=target.name, share=share),)


def notes(profile: Profile) -> tuple[Note, ...]:
    """A note where the ops explain little of the step."""
    share, ops = coverage(profile), float(profile.ops["time_s"].sum()) * overlap_factor(profile)
    if share is None or share >= LOW_COVERAGE:
        return ()
    times = f"wall {profile.wall_step_s:.3g} s, ops {ops:.3g} s"
    text = f"{profile.workload.name}: ops account for {100 * share:.0f} % of the step ({times}), the rest is carried"
    return (Note("step-coverage-low", text, subject=profile.workload.name, share=1.0 - share),)


def source_step_time(profile: Profile) -> float:
    """The source's own step [s]: its wall time where known, else the sum of its ops."""
    return profile.wall_step_s or float(profile.ops["time_s"].sum()) * overlap_factor(profile)


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


def overlap_factor(profile: Profile) -> float:
    """Busy time / sum of op times: below 1 where ops ran at once."""
    total = float(profile.ops["time_s"].sum())
    busy = min(profile.busy_step_s or total, profile.wall_step_s or total, total)
    return busy / total


def idle_time(profile: Profile) -> float:
    """Wall time of the source's step in which no op ran [s]."""
    busy = float(profile.ops["time_s"].sum()) * overlap_factor(profile)
    return max((profile.wall_step_s or busy) - busy, 0.0)


def source_step(profile: Profile, work: pd.DataFrame) -> dict[str, float | None]:
    """The source's own step: overlap factor, coverage, idle time [s] and time of input ops [s]."""
    waiting = float(work.loc[work["op_class"] == "input", "time_s"].sum())
    idle = idle_time(profile) if profile.wall_step_s else None
    return {"overlap": overlap_factor(profile), "coverage": coverage(profile), "idle_s": idle, "input_s": waiting}


def coverage(profile: Profile) -> float | None:
    """Busy time / wall time of the source's step; None where the wall time is unknown."""
    if profile.wall_step_s is None:
        return None
    return 1 - idle_time(profile) / profile.wall_step_s
