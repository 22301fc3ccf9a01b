"""The forward pass of a profiled training step, as inference would run it."""

from __future__ import annotations

import dataclasses

import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.notes import Note, with_code
from estimator.core.operators import class_of
from estimator.core.schema import MATRIX, among_copies
from estimator.core.types import Mode, Profile
from estimator.work.count import count_work
from estimator.work.operators import is_for_training, operators_of

STAYS = "some work of training stays in the forward pass: regularizers, and moving averages of a batch normalization"
RUNS = ("forward", "input")  # phases of inference


def select_pass(profile: Profile, mode: Mode | None) -> tuple[Profile, tuple[Note, ...]]:
    """The profile as it would run in a mode, and notes on it; the profile itself for None and for its own mode.

    Inference keeps the forward pass of training without dropout, loss, batch statistics and messages among copies of
    the model, and the same share of the step's wall and busy time. Raises EstimatorError where no op is marked as
    backward, or none as forward, or where training is wanted from a profile of inference.
    """
    if mode in (None, profile.workload.mode):
        return profile, ()
    if mode == "training":
        raise EstimatorError(f"{profile.where}: a profile of inference has no backward pass; give one of training")
    _refuse_without_passes(profile)
    ops = profile.ops
    of_pass, training_only = ops["phase"].isin(RUNS), _only_for_training(profile)
    runs = of_pass & ~training_only
    if not runs.any():
        raise EstimatorError(f"{profile.where}: no op is marked as of the forward pass; give a dump with phases")
    time = ops["shared_s"].fillna(ops["time_s"])
    total, kept = float(time.sum()), float(time[runs].sum())
    share = kept / total if total else 1.0
    forward = dataclasses.replace(
        profile,
        ops=ops[runs].reset_index(drop=True),
        workload=profile.workload.model_copy(update={"mode": mode, "optimizer": None}),
        wall_step_s=profile.wall_step_s and profile.wall_step_s * share,
        busy_step_s=profile.busy_step_s and profile.busy_step_s * share,
        profiled_step_s=profile.profiled_step_s and profile.profiled_step_s * share,
        timeline=None,  # it is of the ops of training
    )
    text = (
        f"inference is the forward pass of {_trained(total, share)}: {int((~of_pass).sum())} op(s) of gradients, "
        f"updates or an unknown phase, and {int(training_only.sum())} of dropout, loss and batch statistics, are "
        "left out"
    )
    return forward, with_code("forward-pass", (text, STAYS))


def _refuse_without_passes(profile: Profile) -> None:
    """Raise EstimatorError where all ops are of the forward pass, or none is of the backward pass."""
    phase = profile.ops["phase"]
    if phase.isin(RUNS).all():
        raise EstimatorError(
            f"{profile.where}: every op is of the forward pass, so that this is a profile of inference, or of training "
            "without its backward pass; leave the mode out, or give a whole step"
        )
    if not phase.eq("backward").any():
        raise EstimatorError(
            f"{profile.where}: no op is marked as of the backward pass, so that nothing tells the forward one; "
            "give a dump with phases, or capture the run with --mode inference"
        )


def _only_for_training(profile: Profile) -> pd.Series:
    """Which ops of the forward pass inference does not run: dropout, loss, batch statistics, messages among copies."""
    ops = profile.ops
    of_pass, op_class = ops["phase"].isin(RUNS), operators_of(ops).map(class_of)
    only = is_for_training(ops) & ~op_class.isin(MATRIX)
    if (op_class == "collective").any():
        only |= among_copies(count_work(ops, profile.workload, profile.where).work)
    return of_pass & only


def _trained(total_s: float, share: float) -> str:
    """The training whose forward pass runs, in words; where nothing ran, without its share of the time."""
    if total_s == 0:
        return "the training that is given as layers"
    return f"the profiled training, with {100 * share:.1f} % of its op time and of its step"
