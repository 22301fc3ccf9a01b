"""Profiles of one run's ranks or hosts → one Profile: means and their spread."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.schema import OPS
from estimator.core.types import Floats, Integers, Profile, Timeline
from estimator.profiles.canonical import AMOUNTS

LEAST_SHARE = 0.05  # of the time of the busiest device of a process that another one computes, to count as a rank
LITTLE = f"only copied, or computed for less than {100 * LEAST_SHARE:g} % of the busiest device's time"
SHARED = (
    "the step is the mean over {count} devices for which this processor stands: they share its cores, so that times "
    "say little of a device by itself"
)
COPIES = "{count} of the dumps hold the same record as another one: they are left out"
RANK_COLUMNS = ("rank", "placement", "stream", "places")  # differ between ranks that do the same work


def device_warnings(computing: int, left_out: Sequence[str]) -> Iterator[str]:
    """A warning where a process ran several devices: of how many the step is the mean, and which it leaves out."""
    if computing > 1 or left_out:
        mean = f"the mean over {computing} devices" if computing > 1 else "the step of one device"
        rest = f"; left out: {', '.join(left_out)}, which {LITTLE}" if left_out else ""
        yield f"the step is {mean} of this process{rest}"


def host_warnings(count: int) -> Iterator[str]:
    """Yield a warning where a processor stands for several devices, which share its cores."""
    if count > 1:
        yield SHARED.format(count=count)


def merge(profiles: Sequence[Profile]) -> Profile:
    """One profile of several ranks: times and amounts are means, ``time_spread_s`` their standard deviation.

    Dumps of one rank that were recorded one after the other are windows of one process, or runs: their steps' mean
    stands for the rank. Ranks count alike, however many steps each has. Copies of a dump are left out. Raises
    EstimatorError where dumps that state no ranks of their own cover different numbers of steps, or only some have
    shapes.
    """
    profiles = _distinct(profiles)
    if len(profiles) == 1:
        return profiles[0]
    _refuse_unlike_shapes(profiles)
    processes = [
        _merged(windows, [window.steps for window in windows], windows[0].ranks) for windows in _processes(profiles)
    ]
    steps = {profile.steps for profile in processes}
    if len(steps) > 1 and not _state_their_ranks(processes):
        counts = " and ".join(str(count) for count in sorted(steps))
        raise EstimatorError(
            f"{profiles[0].workload.name}: the dumps cover {counts} steps; expected ranks of one run, so name one of "
            "them"
        )
    ranks = [profile.ranks for profile in processes]
    return _merged(processes, ranks, sum(ranks))


def _distinct(profiles: Sequence[Profile]) -> list[Profile]:
    """The profiles of different records, with a warning where some are copies, such as a trace that was zipped too."""
    distinct: list[Profile] = []
    for profile in profiles:
        if not any(_same_record(profile, other) for other in distinct):
            distinct.append(profile)
    if count := len(profiles) - len(distinct):
        warnings = (*distinct[0].warnings, COPIES.format(count=count))
        distinct[0] = dataclasses.replace(distinct[0], warnings=warnings)
    return distinct


def _same_record(one: Profile, other: Profile) -> bool:
    """Whether two profiles were recorded at the same time, and hold the same."""
    return one.recorded_s is not None and one.recorded_s == other.recorded_s and one.ops.equals(other.ops)


def _state_their_ranks(profiles: Sequence[Profile]) -> bool:
    """Whether each profile states a rank that no other one has."""
    stated = {_rank(profile) for profile in profiles}
    return None not in stated and len(stated) == len(profiles)


def _processes(profiles: Sequence[Profile]) -> list[list[Profile]]:
    """The profiles of each process; those of one rank must not have been recorded at the same time."""
    processes: list[list[Profile]] = []
    for profile in profiles:
        own = next((windows for windows in processes if all(_in_turn(profile, other) for other in windows)), None)
        if own is None:
            processes.append([profile])
        else:
            own.append(profile)
    return processes


def _in_turn(one: Profile, other: Profile) -> bool:
    """Whether two profiles are of one rank, or of none that is stated, and were recorded one after the other."""
    if _rank(one) != _rank(other) or one.recorded_s is None or other.recorded_s is None:
        return False
    return one.recorded_s[1] <= other.recorded_s[0] or other.recorded_s[1] <= one.recorded_s[0]


def _rank(profile: Profile) -> int | None:
    """The rank that a dump states."""
    stated = profile.ops["rank"].dropna()
    return int(stated.iloc[0]) if len(stated) else None


def _refuse_unlike_shapes(profiles: Sequence[Profile]) -> None:
    has_shapes = [bool(profile.ops["shapes"].notna().any()) for profile in profiles]
    if any(has_shapes) and not all(has_shapes):
        number = has_shapes.index(False)
        raise EstimatorError(
            f"{profiles[0].workload.name}: the dump of rank {number} has no operand shapes, others have; "
            "profile all ranks with shapes, or name one of them"
        )


def _merged(profiles: Sequence[Profile], counts: Sequence[int], ranks: int) -> Profile:
    """The mean of profiles, each weighted by its count."""
    if len(profiles) == 1:
        return profiles[0]
    weights = np.array(counts, dtype=float)
    weights /= weights.mean()
    return dataclasses.replace(
        profiles[0],
        ranks=ranks,
        steps=round(np.mean([profile.steps for profile in profiles])),
        updates=None,
        ops=mean_ops([_weighted(profile.ops, weight) for profile, weight in zip(profiles, weights, strict=True)]),
        timeline=_first_timeline(profiles),
        wall_step_s=_mean([profile.wall_step_s for profile in profiles], weights),
        busy_step_s=_mean([profile.busy_step_s for profile in profiles], weights),
        warnings=tuple(dict.fromkeys(warning for profile in profiles for warning in profile.warnings)),
    )


def _first_timeline(profiles: Sequence[Profile]) -> Timeline | None:
    """The timeline of the first profile, with the rows of the merged OPS."""
    timeline = profiles[0].timeline
    if timeline is None:
        return None
    row = merged_rows(profiles[0].ops)
    op = timeline.events["op"].map(dict(enumerate(row.tolist())), na_action="ignore").astype("Int64")
    return dataclasses.replace(timeline, events=timeline.events.assign(op=op))


def merged_rows(ops: pd.DataFrame) -> Integers:
    """The row of the merged OPS that each row of the first rank's is part of."""
    return np.asarray(ops.groupby(_keys(ops), dropna=False, sort=False).ngroup(), dtype=np.int64)


def _keys(ops: pd.DataFrame) -> list[str]:
    """The columns that tell rows apart, whatever rank they are of."""
    return [name for name in ops if name not in (*AMOUNTS, *RANK_COLUMNS)]


def _weighted(ops: pd.DataFrame, weight: float) -> pd.DataFrame:
    """OPS whose amounts count so many times; themselves at 1."""
    if weight == 1.0:
        return ops
    return ops.assign(**{name: ops[name] * weight for name in AMOUNTS if name in ops})


def mean_ops(ranks: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The OPS of several ranks as one table: means, and the standard deviation of times.

    A row that states no calls is one call, so that a row which some ranks lack is less than one.
    """
    rows = pd.concat([ops.assign(rank=rank) for rank, ops in enumerate(ranks)], ignore_index=True)
    rows = rows.assign(calls=rows["calls"].fillna(1.0))
    amounts = [name for name in AMOUNTS if name in rows]
    keys = _keys(rows)
    groups = rows.groupby(keys, dropna=False, sort=False)
    merged = groups[amounts].sum(min_count=1) / len(ranks)
    times = rows.groupby([*keys, "rank"], dropna=False, sort=False)["time_s"].sum().unstack("rank", fill_value=0.0)
    merged["time_spread_s"] = times.reindex(merged.index).std(axis=1, ddof=1).to_numpy()
    placements = groups["placement"].agg(lambda names: names.iloc[0] if names.nunique() == 1 else pd.NA)
    return OPS.conform(merged.assign(placement=placements).reset_index(), "merged ranks")


def _mean(values: Sequence[float | None], weights: Floats) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.average(known, weights=weights)) if len(known) == len(values) else None
