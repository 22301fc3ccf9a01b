"""The forward pass of a profiled training step, as inference would run it."""

from __future__ import annotations

import dataclasses

from estimator.core.errors import EstimatorError
from estimator.core.notes import Note, with_code
from estimator.core.operators import class_of
from estimator.core.schema import MATRIX, among_copies
from estimator.core.types import Mode, Profile
from estimator.work.count import count_work
from estimator.work.operators import is_for_training, operators_of

RUNS = ("forward", "input")  # phases of inference


def _trained(total_s: float, share: float) -> str:
    """The training whose forward pass runs, in words; where nothing ran, without its share of the time."""
    if total_s == 0:
        return "the training that is given as layers"
    return f"the profiled training, with {100 * share:.1f} % of its op time and of its step"


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
    ops = profile.ops
    if ops["phase"].isin(RUNS).all():
        raise EstimatorError(
            f"{profile.where}: every op is of the forward pass, so that this is a profile of inference, or of training "
            "without its backward pass; leave the mode out, or give a whole step"
        )
    if not ops["phase"].eq("backward").any():
        raise EstimatorError(
            f"{profile.where}: no op is marked as of the backward pass, so that nothing tells the forward one; "
            "give a dump with phases, or capture the run with --mode inference"
        )
    op_class = operators_of(ops).map(class_of)
    runs = ops["phase"].isin(RUNS)
    training_only = runs & is_for_training(ops) & ~op_class.isin(MATRIX)
    if (op_class == "collective").any():
        training_only |= runs & among_copies(count_work(ops, profile.workload, profile.where).work)
    if not (runs & ~training_only).any():
        raise EstimatorError(f"{profile.where}: no op is marked as of the forward pass; give a dump with phases")
    time = ops["shared_s"].fillna(ops["time_s"])
    total, kept = float(time.sum()), float(time[runs & ~training_only].sum())
    share = kept / total if total else 1.0
    forward = dataclasses.replace(
        profile,
        ops=ops[runs & ~training_only].reset_index(drop=True),
        workload=profile.workload.model_copy(update={"mode": mode, "optimizer": None}),
        wall_step_s=profile.wall_step_s and profile.wall_step_s * share,
        busy_step_s=profile.busy_step_s and profile.busy_step_s * share,
        profiled_step_s=profile.profiled_step_s and profile.profiled_step_s * share,
        timeline=None,  # it is of the ops of training
    )
    return forward, with_code(
        "forward-pass",
        (
            f"inference is the forward pass of {_trained(total, share)}: {int((~runs).sum())} op(s) of gradients, "
            f"updates or an unknown phase, and {int(training_only.sum())} of dropout, loss and batch statistics, are "
            "left out",
            "some work of training stays in the forward pass: regularizers, and moving averages of a batch "
            "normalization",
        ),
    )
