"""Dumps of one run's ranks or hosts → one Profile: the mean over them, with their spread kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.schema import OPS
from estimator.core.types import Profile
from estimator.profiles.canonical import AMOUNTS

OF_A_RANK = ("rank", "placement", "stream")  # differ between ranks that do the same work


def merge(profiles: Sequence[Profile]) -> Profile:
    """One profile of several ranks: times and amounts are means, ``time_spread_s`` their standard deviation.

    Raises EstimatorError where the ranks do not cover the same number of steps, or only some tell shapes.
    """
    first = profiles[0]
    if len(profiles) == 1:
        return first
    steps = {profile.steps for profile in profiles}
    if len(steps) > 1:
        counts = " and ".join(str(count) for count in sorted(steps))
        raise EstimatorError(
            f"{first.workload.name}: dumps of {counts} steps lie here; expected ranks of one run, so name one of them"
        )
    telling = [bool(profile.ops["shapes"].notna().any()) for profile in profiles]
    if any(telling) and not all(telling):
        number = telling.index(False)
        raise EstimatorError(
            f"{first.workload.name}: the dump of rank {number} has no operand shapes, others have; "
            "expected ranks profiled alike, so profile all with shapes or name one of them"
        )
    return dataclasses.replace(
        first,
        ranks=len(profiles),
        ops=mean_ops([profile.ops for profile in profiles]),
        wall_step_s=_mean([profile.wall_step_s for profile in profiles]),
        busy_step_s=_mean([profile.busy_step_s for profile in profiles]),
        warnings=tuple(dict.fromkeys(warning for profile in profiles for warning in profile.warnings)),
    )


def mean_ops(ranks: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The OPS of several ranks as those of one: means, and the times' standard deviation."""
    rows = pd.concat([ops.assign(rank=rank) for rank, ops in enumerate(ranks)], ignore_index=True)
    amounts = [name for name in AMOUNTS if name in rows]
    same = [name for name in rows if name not in (*AMOUNTS, *OF_A_RANK)]
    groups = rows.groupby(same, dropna=False, sort=False)
    merged = groups[amounts].sum(min_count=1) / len(ranks)
    times = rows.groupby([*same, "rank"], dropna=False, sort=False)["time_s"].sum().unstack("rank", fill_value=0.0)
    merged["time_spread_s"] = times.reindex(merged.index).std(axis=1, ddof=1).to_numpy()
    placements = groups["placement"].agg(lambda found: found.iloc[0] if found.nunique() == 1 else pd.NA)
    return OPS.conform(merged.assign(placement=placements).reset_index(), "merged ranks")


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None
