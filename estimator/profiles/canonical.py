"""What every reader's table goes through before it is a Profile."""

from __future__ import annotations

import dataclasses

import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.schema import OPS
from estimator.core.types import Profile

PER_STEP = ("calls", "time_s", "time_spread_s", "reported_flop", "reported_bytes", "flop", "bytes")


def to_ops(rows: pd.DataFrame, where: str) -> pd.DataFrame:
    """The rows as OPS. Raises EstimatorError where a value is unreadable or no op took any time."""
    ops = OPS.conform(rows.reset_index(drop=True), where)
    if ops.empty or not ops["time_s"].sum() > 0:
        raise EstimatorError(f"{where}: no op took any time; expected times above zero, so capture the profile again")
    return ops


def per_step(profile: Profile, steps: int | None) -> Profile:
    """The same profile with every amount divided by the steps that it covers."""
    if not steps or steps == profile.steps:
        return profile
    columns = [name for name in PER_STEP if name in profile.ops]
    ops = profile.ops.assign(**{name: profile.ops[name] * profile.steps / steps for name in columns})
    return dataclasses.replace(profile, ops=ops, steps=steps)
