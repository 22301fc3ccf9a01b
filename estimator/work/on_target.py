"""OPS of a profile → WORK as the target runs it: counted as profiled, then one transform after another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pandas as pd

from estimator.core.notes import Note
from estimator.core.recall import Recall
from estimator.core.schema import MATRIX
from estimator.core.types import DeviceSpec, Fusing, Fusion, Layout, Profile, RunPlan, Workload
from estimator.work.convolution_biases import separate_biases
from estimator.work.count import MOST_KEPT_ROWS, count_work, digest
from estimator.work.framework_defaults import (
    ProductFormat,
    has_library_layers,
    has_library_normalization,
    has_separate_biases,
    image_layout,
    product_format,
    replaces_tf32,
    tensors_of_update,
    unit_note,
)
from estimator.work.fusion import fuse
from estimator.work.joined_layers import join_in_place, join_layers
from estimator.work.layout import convert_layout, ran_on_matrix_units
from estimator.work.messages import RecordedRanks, among_all, recorded_ranks, run_ranks, states_ranks
from estimator.work.normalization import merge_normalizations
from estimator.work.precision import convert_precision, without_tf32
from estimator.work.rebatch import rebatch
from estimator.work.tensors import in_phase
from estimator.work.training_array import fuse_trainings
from estimator.work.update_launches import join_updates

NEEDLESS_LAYOUT = Note(
    "layout",
    "no convolution is transposed to channels last: none in TF32, bf16 or fp16 runs on images with channels first, "
    "the target has no matrix units, or the profile has the transposes",
)

_RESULTS = Recall(8)


@dataclass(frozen=True)
class WorkOnTarget:
    """WORK of one step as the source ran it (``profiled``), and as the target runs it (``work``)."""

    profiled: pd.DataFrame = field(repr=False)
    work: pd.DataFrame = field(repr=False)
    held: pd.DataFrame = field(repr=False)  # as the source ran it, at the target's batch, with the target's layers
    precision: str  # of the matrix products, ``bf16/fp32`` where there are several
    other_batch: bool  # whether the target runs another batch size
    laid_out: bool  # whether transposes of images were added
    changed: bool  # whether the target runs anything else than the source
    saved: Fusion
    notes: tuple[Note, ...] = ()
    # the same of the profile's batch and of one training, where the target runs others; None where nothing ran
    as_large: pd.DataFrame | None = field(default=None, repr=False)


@dataclass(frozen=True)
class LibraryOnTarget:
    """What runs the ops of a step on a target, and how many of them a plan asks for.

    Equal ones make equal work of a profile. The choices are those of :class:`FrameworkDefaults` for the target.
    """

    products: ProductFormat
    replaces_tf32: bool  # by fp32
    layout: Layout
    has_transposes: bool  # where convolutions ran on matrix units, so that none are added for channels last
    has_normalization: bool
    has_layers: bool
    separates_biases: bool
    tensors_at_once: int
    fusion: Fusing
    batch: int | None  # None: the profile's
    trainings: int  # that one program runs


def work_on_target(profile: Profile, plan: RunPlan, target: DeviceSpec, *, from_processor: bool) -> WorkOnTarget:
    """Count the ops of a profile, and take them to the target's batch, library, precision, compiler and layout.

    ``from_processor``: whether a processor ran the profile. The last results are kept: a study takes one profile to
    many machines that have the same library. Raises EstimatorError where the profile tells too little.
    """
    library = _library_on_target(profile.workload, plan, target, from_processor=from_processor)
    made = _work_of(profile, library)
    needs_no_layout = plan.layout == "channels-last" and not made.laid_out
    notes = (
        *(unit_note(target) if from_processor else ()),
        *([NEEDLESS_LAYOUT] if needs_no_layout else ()),
        *made.notes,
    )
    if not profile.ran or not (made.other_batch or plan.fused_trainings > 1):
        return replace(made, notes=notes)
    of_profile = replace(library, batch=None, trainings=1)
    return replace(made, notes=notes, as_large=_work_of(profile, of_profile).work)


def _library_on_target(
    workload: Workload, plan: RunPlan, target: DeviceSpec, *, from_processor: bool
) -> LibraryOnTarget:
    """What a target's library makes of a workload; what an accelerator's has run already is not changed again."""
    products = product_format(plan.precision, workload, target)
    return LibraryOnTarget(
        products=products,
        replaces_tf32=products.precision is None and replaces_tf32(target),
        layout=image_layout(plan.layout, workload, target),
        has_transposes=not from_processor,
        has_normalization=from_processor and has_library_normalization(workload, target),
        has_layers=from_processor and has_library_layers(workload, target),
        separates_biases=from_processor and has_separate_biases(workload, target),
        tensors_at_once=tensors_of_update(workload, target) if from_processor else 1,
        fusion=plan.fusion,
        batch=plan.batch,
        trainings=plan.fused_trainings,
    )


def _work_of(profile: Profile, library: LibraryOnTarget) -> WorkOnTarget:
    """The kept or new result of :func:`_transform` for a library, without ``as_large``."""
    if len(profile.ops) > MOST_KEPT_ROWS:
        return _transform(profile, library)
    of_ops = digest(profile.ops, profile.workload, profile.where)
    kept = _RESULTS(f"{of_ops} {run_ranks(profile)} {library}", lambda: _transform(profile, library))
    return replace(kept, profiled=kept.profiled.copy(), work=kept.work.copy(), held=kept.held.copy())


def _transform(profile: Profile, library: LibraryOnTarget) -> WorkOnTarget:
    """The ops of a profile as a library runs them, one transform after another."""
    workload, products = profile.workload, library.products
    counted = count_work(profile.ops, workload, profile.where)
    addressed = among_all(counted.work, run_ranks(profile))
    resized = rebatch(addressed.work, workload, library.batch)
    merged = merge_normalizations(resized.work, workload, addressed.work, by_library=library.has_normalization)
    joined_layers = join_layers(merged.work, by_library=library.has_layers)
    joined_updates = join_updates(joined_layers.work, library.tensors_at_once)
    replaced = without_tf32(joined_updates.work, replace=library.replaces_tf32)
    converted = convert_precision(
        replaced.work,
        workload,
        products.precision,
        products.op_classes,
        only=products.only,
        folded=library.fusion != "none",
    )
    split = separate_biases(converted.work, separate=library.separates_biases)
    fused = fuse(split.work, workload, library.fusion)
    laid_out = convert_layout(fused.work, workload, _layout(library, counted.work))
    all_trainings = fuse_trainings(laid_out.work, library.trainings)

    transforms = (
        resized,
        merged,
        joined_layers,
        joined_updates,
        replaced,
        converted,
        split,
        fused,
        laid_out,
        all_trainings,
    )
    return WorkOnTarget(
        profiled=addressed.work,
        work=all_trainings.work,
        held=_held(addressed.work, resized.work, workload, library),
        precision=(products.precision if products.only is None else None) or matrix_precision(laid_out.work, workload),
        other_batch=resized.changed,
        laid_out=laid_out.changed,
        changed=any(transform.changed for transform in transforms),
        saved=fused.saved,
        notes=tuple(note for transform in (counted, addressed, *transforms) for note in transform.notes),
    )


def _layout(library: LibraryOnTarget, counted: pd.DataFrame) -> Layout:
    """The layout that images are converted to; none where the profile has its transposes."""
    has_them = library.layout == "channels-last" and library.has_transposes and ran_on_matrix_units(counted)
    return "none" if has_them else library.layout


def _held(addressed: pd.DataFrame, resized: pd.DataFrame, workload: Workload, library: LibraryOnTarget) -> pd.DataFrame:
    """WORK whose tensors the step holds: as profiled, at the target's batch, with the layers of its library."""
    in_place = join_in_place(addressed, by_library=library.has_layers)
    return rebatch(in_place.work, workload, library.batch).work if in_place.changed else resized


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
