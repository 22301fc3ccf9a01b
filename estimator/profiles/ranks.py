"""Profiles of one run's ranks or hosts → one Profile: means and their spread."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.schema import OPS
from estimator.core.types import Profile
from estimator.profiles.canonical import AMOUNTS

RANK_COLUMNS = ("rank", "placement", "stream")  # differ between ranks that do the same work


def merge(profiles: Sequence[Profile]) -> Profile:
    """One profile of several ranks: times and amounts are means, ``time_spread_s`` their standard deviation.

    Raises EstimatorError where the ranks cover different numbers of steps, or only some have shapes.
    """
    first = profiles[0]
    if len(profiles) == 1:
        return first
    steps = {profile.steps for profile in profiles}
    if len(steps) > 1:
        counts = " and ".join(str(count) for count in sorted(steps))
        raise EstimatorError(
            f"{first.workload.name}: the dumps cover {counts} steps; expected ranks of one run, so name one of them"
        )
    has_shapes = [bool(profile.ops["shapes"].notna().any()) for profile in profiles]
    if any(has_shapes) and not all(has_shapes):
        number = has_shapes.index(False)
        raise EstimatorError(
            f"{first.workload.name}: the dump of rank {number} has no operand shapes, others have; "
            "profile all ranks with shapes, or name one of them"
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
    """The OPS of several ranks as one table: means, and the standard deviation of times."""
    rows = pd.concat([ops.assign(rank=rank) for rank, ops in enumerate(ranks)], ignore_index=True)
    amounts = [name for name in AMOUNTS if name in rows]
    keys = [name for name in rows if name not in (*AMOUNTS, *RANK_COLUMNS)]
    groups = rows.groupby(keys, dropna=False, sort=False)
    merged = groups[amounts].sum(min_count=1) / len(ranks)
    times = rows.groupby([*keys, "rank"], dropna=False, sort=False)["time_s"].sum().unstack("rank", fill_value=0.0)
    merged["time_spread_s"] = times.reindex(merged.index).std(axis=1, ddof=1).to_numpy()
    placements = groups["placement"].agg(lambda names: names.iloc[0] if names.nunique() == 1 else pd.NA)
    return OPS.conform(merged.assign(placement=placements).reset_index(), "merged ranks")


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None
