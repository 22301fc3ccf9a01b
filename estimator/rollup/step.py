"""Op times → the time of one step, and where it goes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.notes import Note
from estimator.core.schema import MATRIX
from estimator.core.types import DeviceSpec, Floats, Prediction, Profile, StepTime

LOW_COVERAGE = 0.8  # share of the wall time below which a warning travels to the report
MUCH_CARRIED = 0.5  # share of the predicted step above which a warning says so
PARTS = ("compute", "memory", "latency", "communication_exposed", "input", "host", "unmodelled")
PART_OF_CLASS = {  # op classes that are a part of the step of their own, whatever their evidence
    "input": "input",
    "host": "host",
    "collective": "communication_exposed",
    "unmodelled": "unmodelled",
}


def step_time(prediction: Prediction, profile: Profile, overlap: Floats) -> StepTime:
    """Sum the ops' samples into one step [s], of each op the share that ``overlap`` says. What the source's step spent
    beyond its busy time is carried as host time.
    """
    rest = overlap * (prediction.samples - prediction.launch)
    part = _parts(prediction.ops)
    parts = {name: rest[:, part == name].sum(axis=1) for name in PARTS}
    parts["latency"] = (overlap * prediction.launch).sum(axis=1)
    parts["host"] = parts["host"] + idle_time(profile) * prediction.run
    return StepTime(**parts, total=sum_of_parts(*parts.values()))


def _parts(ops: pd.DataFrame) -> npt.NDArray[np.str_]:
    """The part of the step that each op's time beyond its launches belongs to."""
    by_class = ops["op_class"].isin(MATRIX).map({True: "compute", False: "memory"})
    by_bound = ops["bound"].replace("latency", pd.NA).fillna(by_class).to_numpy(dtype=str)
    carried = np.where(ops["method"] == "unchanged", "unmodelled", by_bound)
    own = ops["op_class"].map(PART_OF_CLASS)
    return np.where(own.isna(), carried, own.fillna("").to_numpy(dtype=str))


def sum_of_parts(*parts: Floats) -> Floats:
    """The time of one step [s] from its parts."""
    return np.asarray(sum(parts))


def matrix_time(prediction: Prediction, overlap: Floats) -> Floats:
    """Samples of the step's matrix products and convolutions alone [s]: the lecture's own roll-up of a pass."""
    matrix = prediction.ops["op_class"].isin(MATRIX).to_numpy()
    return np.asarray((overlap * prediction.samples)[:, matrix].sum(axis=1))


def target_overlap(prediction: Prediction, profile: Profile, target: DeviceSpec, same_setting: bool) -> Floats:
    """Share of each op's time by which it lengthens the step on the target: where the source's ops overlapped (busy
    time below their sum), the same share there, but never below what the target's peak and bandwidth allow all the ops
    together. What a processor's cores ran side by side, any other device runs one after another; what is carried, and
    a profile's own times (``same_setting``), keep the source's share.
    """
    ops, own = prediction.ops, source_overlap(prediction.ops, profile)
    if same_setting:
        return own
    time = prediction.samples[0]
    share = _lasting(own, time, max(float(own @ time), float(prediction.floor_s.sum())))
    of_cores = ops["placement"].str.contains("cpu", case=False).fillna(False).to_numpy(dtype=bool)
    in_turn = of_cores & (ops["method"] != "unchanged").to_numpy() & (target.compute_unit != "core")
    return np.where(in_turn, 1.0, share)


def evidence(prediction: Prediction, overlap: Floats, profile: Profile) -> dict[str, float]:
    """The share of the step that each method of the ops' times gave, the largest first; the source's idle time is
    carried unchanged.
    """
    times = pd.Series(overlap * prediction.samples[0]).groupby(prediction.ops["method"].to_numpy()).sum()
    times["unchanged"] = times.get("unchanged", 0.0) + idle_time(profile) * prediction.run[0]
    shares = (times / times.sum()).sort_values(ascending=False)
    return {str(method): float(share) for method, share in shares.items() if share > 0}


def mostly_carried(shares: Mapping[str, float], target: DeviceSpec) -> tuple[Note, ...]:
    """A note where most of the predicted step is the source's own time."""
    share = shares.get("unchanged", 0.0)
    if share <= MUCH_CARRIED:
        return ()
    text = (
        f"most of the step on {target.name} is the source's own time, carried over unchanged (host, input, idle, and "
        "what no rule knows): it tells more of the source than of the target"
    )
    return (Note("carried-mostly", text, subject=target.name, share=share),)


def notes(profile: Profile) -> tuple[Note, ...]:
    """A note on a step of which the ops explain little."""
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
    """Share of each op's time by which it lengthened the source's step: by what ran beside it, where the dump tells,
    else alike for all, and of what did not run there its whole time; the shared times together are the busy time.
    """
    time, shared = (ops[name].to_numpy(dtype=float, na_value=np.nan) for name in ("time_s", "shared_s"))
    own = overlap_factor(profile)
    alike = np.where(time > 0, own, 1.0)
    share = np.divide(shared, time, out=alike, where=(time > 0) & ~np.isnan(shared))
    return _lasting(share, time, own * float(time.sum()))


def _lasting(share: Floats, time: Floats, whole: float) -> Floats:
    """The shares of ops that take so long [s] each, all less alike, or each more by part of what others took of it, so
    that together they last ``whole`` [s]; none is above 1.
    """
    together, in_turn = float(share @ time), float(time.sum())
    if whole <= together:
        return share * whole / together if together > 0 else share
    return share + (1.0 - share) * min(1.0, (whole - together) / (in_turn - together)) if in_turn > together else share


def overlap_factor(profile: Profile) -> float:
    """Busy time over the sum of op times: below 1 where ops ran at once."""
    total = float(profile.ops["time_s"].sum())
    busy = min(profile.busy_step_s or total, profile.wall_step_s or total, total)
    return busy / total


def idle_time(profile: Profile) -> float:
    """What the source's step spent beyond its ops [s]."""
    busy = float(profile.ops["time_s"].sum()) * overlap_factor(profile)
    return max((profile.wall_step_s or busy) - busy, 0.0)


def source_step(profile: Profile, work: pd.DataFrame) -> dict[str, float | None]:
    """What is known of the source's own step [s]: how its ops overlapped, how much of it they explain, what idled."""
    waiting = float(work.loc[work["op_class"] == "input", "time_s"].sum())
    idle = idle_time(profile) if profile.wall_step_s else None
    return {"overlap": overlap_factor(profile), "coverage": coverage(profile), "idle_s": idle, "input_s": waiting}


def coverage(profile: Profile) -> float | None:
    """Busy time over wall time of the source's step; None where no wall time is known."""
    if profile.wall_step_s is None:
        return None
    return 1 - idle_time(profile) / profile.wall_step_s
