"""The source's own step: how long it took, how long it was busy, and how much of it the ops explain."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from estimator.core import units
from estimator.core.notes import Note
from estimator.core.types import Profile

LOW_COVERAGE = 0.8  # share of the wall time below which the report warns


def source_step_time(profile: Profile) -> float:
    """The source's own step [s]: its wall time where known, else the sum of its ops."""
    return profile.wall_step_s or busy_time(profile)


def source_step_without(profile: Profile, ops: pd.DataFrame, left_out: Collection[str]) -> float:
    """The source's own step as a scenario counts the target's [s]: without the host's time, or without input.

    Args:
        profile: the source's.
        ops: its ops, with ``op_class`` and ``time_s`` [s] of a step.
        left_out: ``host``, ``input``, or both. Without a host, idle time is left out too.
    """
    seconds = ops["time_s"].groupby(ops["op_class"]).sum() * overlap_factor(profile)
    whole_s = float(seconds.sum()) if "host" in left_out else source_step_time(profile)
    return whole_s - float(seconds[seconds.index.isin(left_out)].sum())


def overlap_factor(profile: Profile) -> float:
    """Busy time / sum of op times: below 1 where ops ran at once."""
    total = float(profile.ops["time_s"].sum())
    busy = min(profile.busy_step_s or total, profile.wall_step_s or total, total)
    return busy / total if total > 0 else 1.0


def busy_time(profile: Profile) -> float:
    """Time of the source's step in which ops ran [s]."""
    return float(profile.ops["time_s"].sum()) * overlap_factor(profile)


def idle_time(profile: Profile) -> float:
    """Wall time of the source's step in which no op ran [s]."""
    busy = busy_time(profile)
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


def coverage_notes(profile: Profile) -> tuple[Note, ...]:
    """A note where the ops explain little of the step."""
    share, name = coverage(profile), profile.workload.name
    if share is None or share >= LOW_COVERAGE:
        return ()
    times = " of ".join(units.show(seconds, "s", 3) for seconds in (busy_time(profile), profile.wall_step_s or 0.0))
    text = f"{name}: ops account for {100 * share:.0f} % of the profiled step ({times}); the rest is host time or waits"
    return (Note("step-coverage-low", text, subject=name, share=1.0 - share),)
