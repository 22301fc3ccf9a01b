"""Marks that hold several training steps, such as Keras makes with ``steps_per_execution``.

A step updates each variable once. So where all that an optimizer's scope holds ran n times between two marks, and the
gradients at least as often, a loop of n steps ran.
"""

from __future__ import annotations

import dataclasses

import pandas as pd

from estimator.core.types import Profile
from estimator.profiles import canonical
from estimator.profiles.steps import STATE_STEPS

LEAST = 1.5  # steps in a mark that are several; fewer are one, of which a mark is missing
HOISTED = 0.02  # share of a phase's time that a compiler may have moved out of the loop, as each step does the same
SEVERAL = (
    "the weights are updated {updates:.3g} times a mark, as with Keras' steps_per_execution, so {steps} steps are "
    f"counted in {{marks}} marks; if that is wrong, {STATE_STEPS}"
)


def with_single_steps(profile: Profile) -> Profile:
    """The profile of a training with one update of each variable a step, and a warning where that changes it."""
    updates = updates_per_mark(profile.ops)
    if profile.workload.mode != "training" or updates < LEAST:
        return profile
    steps = round(profile.steps * updates)
    warning = SEVERAL.format(updates=updates, steps=steps, marks=profile.steps)
    single = canonical.per_step(profile, steps)
    return dataclasses.replace(single, warnings=(*single.warnings, warning))


def updates_per_mark(ops: pd.DataFrame) -> float:
    """How often the ops of OPS that update weights, and those of gradients, ran between two marks, at the least.

    It is 1 where one of the phases is missing. Rows that stand for all ops of a type count for nothing.
    """
    named = ops[ops["op"] != ops["op_type"]]
    phases = [named[named["phase"] == phase] for phase in ("optimizer", "backward")]
    return min(_usual_least(phase) if len(phase) else 1.0 for phase in phases)


def _usual_least(ops: pd.DataFrame) -> float:
    """The least number of calls, HOISTED of the time left out."""
    by_calls = ops.sort_values("calls", kind="stable")
    share = by_calls["time_s"].cumsum() / by_calls["time_s"].sum()
    return float(by_calls.loc[share > HOISTED, "calls"].iloc[0])
