"""Checks and scaling that every reader's table passes on its way to a Profile."""

from __future__ import annotations

import dataclasses

import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.places import parse_places
from estimator.core.schema import OPS
from estimator.core.types import Profile

OPERAND = r"(-?\d+(x-?\d+)*|unknown)"
SHAPES = rf"{OPERAND}(;{OPERAND})*"
SLACK = 0.02  # share of a step's time by which its ops may exceed it
AMOUNTS = ("calls", "time_s", "shared_s", "time_spread_s", "reported_flop", "reported_bytes", "flop", "bytes")


def to_ops(rows: pd.DataFrame, where: str) -> pd.DataFrame:
    """The rows as OPS. Raises EstimatorError where a value is unreadable or no op took any time."""
    ops = OPS.conform(rows.reset_index(drop=True), where)
    _refuse_unreadable_shapes(ops, where)
    _refuse_unreadable_places(ops, where)
    _refuse_time_without_calls(ops, where)
    if ops.empty or not ops["time_s"].sum() > 0:
        raise EstimatorError(f"{where}: no op took any time; expected times above zero, so capture the profile again")
    return ops


def _refuse_unreadable_shapes(ops: pd.DataFrame, where: str) -> None:
    known = ops["shapes"].dropna()
    for row, text in known[~known.str.fullmatch(SHAPES)].items():
        place = f"{where}: row {int(str(row)) + 1}"
        raise EstimatorError(f"{place}: shapes is '{text}', which cannot be read; expected one such as '100x50;50x1'")


def _refuse_unreadable_places(ops: pd.DataFrame, where: str) -> None:
    for row, text in ops["places"].dropna().items():
        try:
            parse_places(text)
        except ValueError:
            place = f"{where}: row {int(str(row)) + 1}"
            expected = "expected different whole numbers such as '3;17'"
            raise EstimatorError(f"{place}: places is '{text}'; {expected}") from None


def _refuse_time_without_calls(ops: pd.DataFrame, where: str) -> None:
    wrong = ((ops["calls"] == 0) & (ops["time_s"] > 0)).to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        raise EstimatorError(f"{where}: row {row + 1}: '{ops['op'].iloc[row]}' took time in 0 calls; mend one of them")


def warn_of_ops_outside_steps(profile: Profile) -> Profile:
    """The profile with a warning where its ops are busy for longer than its steps: some ran outside them."""
    busy, wall = profile.busy_step_s, profile.wall_step_s
    if not busy or not wall or busy <= (1 + SLACK) * wall:
        return profile
    warning = f"the ops take {busy:.3g} s a step, but a step lasts {wall:.3g} s: some ops ran outside the steps"
    return dataclasses.replace(profile, warnings=(*profile.warnings, warning))


def remove_profiler_overhead(profile: Profile, wall_step_s: float | None) -> Profile:
    """The profile without the profiler's overhead, where the time of an unprofiled step [s] is known.

    The overhead is taken from idle time first. Where the busy time alone exceeds the unprofiled step, the profiler
    slowed the ops too: all are scaled by one factor. No profiler makes a step faster: where the profiled steps were
    faster than the unprofiled ones, ops and idle time are lengthened by one factor.
    """
    if wall_step_s is None:
        return profile
    busy, profiled = profile.busy_step_s, profile.wall_step_s
    profile = dataclasses.replace(profile, wall_step_s=wall_step_s, profiled_step_s=profiled)
    if busy is None:
        return profile
    if profiled is not None and profiled < wall_step_s:
        return _scaled(profile, busy, wall_step_s / profiled)
    if busy <= wall_step_s:
        return profile
    scale = wall_step_s / busy
    without = f"{wall_step_s:.3g} s without the profiler"
    warning = f"the ops took {busy:.3g} s a step, but a step takes {without}: their times are scaled by {scale:.3f}"
    return dataclasses.replace(_scaled(profile, busy, scale), warnings=(*profile.warnings, warning))


def _scaled(profile: Profile, busy_step_s: float, scale: float) -> Profile:
    """The profile with the times of its ops and its busy time [s] multiplied by ``scale``."""
    times = {name: profile.ops[name] * scale for name in ("time_s", "shared_s", "time_spread_s")}
    return dataclasses.replace(profile, ops=profile.ops.assign(**times), busy_step_s=busy_step_s * scale)


def per_step(profile: Profile, steps: int | None) -> Profile:
    """The profile with every amount divided by the number of steps that the dump covers.

    Where n updates bound n − 1 steps, a dump of n steps is read as it is.
    """
    covered = profile.updates or profile.steps
    if not steps or steps == covered:
        return profile
    share = covered / steps
    columns = [name for name in AMOUNTS if name in profile.ops]
    ops = profile.ops.assign(**{name: profile.ops[name] * share for name in columns})
    whole = {name: getattr(profile, name) for name in ("wall_step_s", "busy_step_s")}
    scaled = {name: value and value * share for name, value in whole.items()}
    return dataclasses.replace(profile, ops=ops, steps=max(1, round(profile.steps / share)), updates=None, **scaled)
