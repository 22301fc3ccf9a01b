"""OPS of a profile → WORK as the target runs it: counted as profiled, then one transform after another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pandas as pd

from estimator.core.notes import Note
from estimator.core.schema import MATRIX
from estimator.core.types import DeviceSpec, Fusion, Profile, RunPlan, Workload
from estimator.work.convolution_biases import separate_biases
from estimator.work.count import count_work
from estimator.work.framework_defaults import (
    has_library_layers,
    has_library_normalization,
    has_separate_biases,
    image_layout,
    product_format,
    tensors_of_update,
    unit_note,
)
from estimator.work.fusion import fuse
from estimator.work.joined_layers import join_in_place, join_layers
from estimator.work.layout import convert_layout, ran_on_matrix_units
from estimator.work.messages import RecordedRanks, among_all, recorded_ranks, run_ranks, states_ranks
from estimator.work.normalization import merge_normalizations
from estimator.work.precision import convert_precision
from estimator.work.rebatch import rebatch
from estimator.work.tensors import in_phase
from estimator.work.training_array import fuse_trainings
from estimator.work.transformed import Transformed
from estimator.work.update_launches import join_updates


@dataclass(frozen=True)
class WorkOnTarget:
    """WORK of one step as the source ran it (``profiled``), and as the target runs it (``work``)."""

    profiled: pd.DataFrame = field(repr=False)
    work: pd.DataFrame = field(repr=False)
    held: pd.DataFrame = field(repr=False)  # as the source ran it, at the target's batch, with the target's layers
    precision: str  # of the matrix products, ``bf16/fp32`` where there are several
    other_batch: bool  # whether the target runs another batch size
    changed: bool  # whether the target runs anything else than the source
    saved: Fusion
    notes: tuple[Note, ...] = ()
    # the same of the profile's batch and of one training, where the target runs others; None where nothing ran
    as_large: pd.DataFrame | None = field(default=None, repr=False)


def work_on_target(profile: Profile, plan: RunPlan, target: DeviceSpec, *, from_processor: bool) -> WorkOnTarget:
    """Count the ops of a profile, and take them to the target's batch, library, precision, compiler and layout.

    ``from_processor``: whether a processor ran the profile. Raises EstimatorError where the profile tells too little.
    """
    workload, products = profile.workload, product_format(plan.precision, profile.workload, target)
    normalizes = from_processor and has_library_normalization(workload, target)
    joins_layers = from_processor and has_library_layers(workload, target)
    separates_biases = from_processor and has_separate_biases(workload, target)
    tensors_at_once = tensors_of_update(workload, target) if from_processor else 1

    counted = count_work(profile.ops, workload, profile.where)
    has_transposes = not from_processor and ran_on_matrix_units(counted.work)
    layout = image_layout(plan.layout, workload, target, has_transposes=has_transposes)
    addressed = among_all(counted.work, run_ranks(profile))
    resized = rebatch(addressed.work, workload, plan.batch)
    in_place = join_in_place(addressed.work, by_library=joins_layers)
    merged = merge_normalizations(resized.work, workload, addressed.work, by_library=normalizes)
    joined_layers = join_layers(merged.work, by_library=joins_layers)
    joined_updates = join_updates(joined_layers.work, tensors_at_once)
    converted = convert_precision(
        joined_updates.work,
        workload,
        products.precision,
        products.op_classes,
        only=products.only,
        folded=plan.fusion != "none",
    )
    split = separate_biases(converted.work, separate=separates_biases)
    fused = fuse(split.work, workload, plan.fusion)
    laid_out = convert_layout(fused.work, workload, layout)
    all_trainings = fuse_trainings(laid_out.work, plan.fused_trainings)

    is_other = profile.ran and (resized.changed or all_trainings.changed)
    of_profile = replace(plan, batch=None, trainings=1)

    transforms = (resized, merged, joined_layers, joined_updates, converted, split, fused, laid_out, all_trainings)
    return WorkOnTarget(
        profiled=addressed.work,
        work=all_trainings.work,
        held=rebatch(in_place.work, workload, plan.batch).work if in_place.changed else resized.work,
        precision=(products.precision if products.only is None else None) or matrix_precision(laid_out.work, workload),
        other_batch=resized.changed,
        changed=any(transform.changed for transform in transforms),
        saved=fused.saved,
        notes=(
            *(unit_note(target) if from_processor else ()),
            *_needless_layout(plan, laid_out),
            *(note for transform in (counted, addressed, *transforms) for note in transform.notes),
        ),
        as_large=work_on_target(profile, of_profile, target, from_processor=from_processor).work if is_other else None,
    )


def _needless_layout(plan: RunPlan, laid_out: Transformed) -> tuple[Note, ...]:
    """A note where the layout that is asked for transposes nothing."""
    if plan.layout != "channels-last" or laid_out.changed:
        return ()
    text = (
        "no convolution is transposed to channels last: none in TF32, bf16 or fp16 runs on images with channels first, "
        "the target has no matrix units, or the profile has the transposes"
    )
    return (Note("layout", text),)


def ranks_of(profile: Profile) -> RecordedRanks:
    """The ranks that the profiled run had. Raises EstimatorError where the profile tells too little."""
    if run_ranks(profile) in (None, 1) and not states_ranks(profile.ops):
        return RecordedRanks()
    counted = count_work(profile.ops, profile.workload, profile.where)
    return recorded_ranks(among_all(counted.work, run_ranks(profile)).work, profile)


def matrix_precision(work: pd.DataFrame, workload: Workload) -> str:
    """The precision of the matrix products of a WORK table, ``bf16/fp32`` where there are several.

    Products of an update, as Muon's, take no copies of the weights.
    """
    products = work["op_class"].isin(MATRIX) & ~in_phase(work, "optimizer")
    precisions = work.loc[products, "precision"].unique()
    return "/".join(sorted(precisions)) or workload.precision
