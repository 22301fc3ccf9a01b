"""Marks and calls that hold several steps: of TensorFlow with Keras' ``steps_per_execution``, of JAX with a loop.

A step takes one batch. So where a loop between two marks took n, it ran n steps. On a device, whose events do not show
the batches, a step updates each variable once: n steps ran where all updates and all gradients ran n times or more.
"""

from __future__ import annotations

import dataclasses

import pandas as pd

from estimator.core.types import Profile
from estimator.profiles import canonical
from estimator.profiles.steps import STATE_STEPS

FORMAT = "XPlane"  # whose rows are single ops of a program
LEAST = 1.5  # steps in a mark that are several; fewer are one, of which a mark is missing
LOOP, TAKES_BATCH = r"while(?:_\d+)?/body/", ("OptionalGetValue", "IteratorGetNext")
STAYS = r"(?i)assign|apply|matmul|conv|dot|gemm"  # types of ops that no compiler moves out of a loop
MOVED = 0.02  # largest share of a phase's time that the ops may take which it moves, as each step does the same in them
IN_LOOP = (
    "each mark or run updates the weights {each:.3g} times, in a loop or in a row: {steps} steps are counted; if "
    f"that is wrong, {STATE_STEPS}"
)
SEVERAL = (
    "each mark or call holds {each:.3g} steps, as with Keras' steps_per_execution: {steps} steps are counted; if that "
    f"is wrong, {STATE_STEPS}"
)


def with_single_steps(profile: Profile) -> Profile:
    """The profile of single steps, and a warning where its marks hold several.

    The timeline of several turns of a loop is left out.
    """
    if profile.turns >= LEAST:
        return dataclasses.replace(_divided(profile, profile.turns, IN_LOOP), timeline=None, turns=1.0)
    each = steps_per_mark(profile.ops) if profile.format == FORMAT else 1.0
    return _divided(profile, each, SEVERAL) if each >= LEAST else profile


def _divided(profile: Profile, each: float, warning: str) -> Profile:
    """The profile of single steps, of which each mark holds several, and a warning."""
    steps = round(profile.steps * each)
    single = canonical.per_step(profile, steps)
    return dataclasses.replace(single, warnings=(*single.warnings, warning.format(each=each, steps=steps)))


def steps_per_mark(ops: pd.DataFrame) -> float:
    """How many steps OPS hold: the batches that a loop takes; else how often each variable is updated."""
    taken = ops[ops["op_type"].isin(TAKES_BATCH)]
    batches = taken.loc[taken["op"].str.contains(LOOP).fillna(False), "calls"]
    return float(batches.min()) if len(batches) else _updates(ops)


def _updates(ops: pd.DataFrame) -> float:
    """How often the least frequent update or gradient ran; 1 where there are none of one kind.

    Rows that stand for all ops of a type count for nothing.
    """
    named = ops[ops["op"] != ops["op_type"]]
    phases = [named[named["phase"] == phase] for phase in ("optimizer", "backward")]
    return min(_least_calls(phase) if len(phase) else 1.0 for phase in phases)


def _least_calls(ops: pd.DataFrame) -> float:
    """The fewest calls of an op. Ops that a compiler may have moved out of the loop do not count."""
    by_calls = ops.sort_values("calls", kind="stable")
    share = by_calls["time_s"].cumsum() / by_calls["time_s"].sum()
    stays = by_calls["op_type"].str.contains(STAYS).fillna(False)
    may_be_moved = (share <= MOVED) & ~stays  # none where no op took time
    return float(by_calls.loc[~may_be_moved, "calls"].min())
