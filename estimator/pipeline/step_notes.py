"""What a reader should know of the prediction of a step: of its devices, its profile, its work and its host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from estimator.core import units
from estimator.core.notes import Note, with_code
from estimator.core.types import Floats, Profile
from estimator.devices.sides import unknown_source
from estimator.model import assumptions
from estimator.model.links import link_note
from estimator.pipeline.predicted_step import PredictedStep
from estimator.rollup.evidence import host_notes, mostly_carried, mostly_dispatch, mostly_proportional
from estimator.rollup.source_step import coverage_notes
from estimator.rollup.step import ReplayedStep
from estimator.work.framework_defaults import AUTO, product_format
from estimator.work.messages import recorded_ranks


def step_notes(
    profile: Profile,
    predicted: PredictedStep,
    of_memory: Sequence[Note],
    replayed: ReplayedStep,
    shares: Mapping[str, float],
    in_framework_format: ReplayedStep | None,
) -> list[Note]:
    """What a reader should know of the devices, the profile, the work and the step.

    Args:
        profile: with all passes.
        predicted: its step.
        of_memory: notes on the memory of the step.
        replayed: the step, replayed.
        shares: of the step's time, by evidence.
        in_framework_format: the step in the format that the framework takes on the target; None where it is in this.
    """
    ran, devices, prediction = predicted.profile, predicted.devices, predicted.prediction
    device, plan, scenario = devices.target.device, predicted.plan, predicted.scenario
    needed = mostly_proportional(prediction)
    return [
        *devices.target.notes,
        *(devices.source.notes if devices.source else ()),
        *unknown_source(ran, plan, devices.source, devices.source_candidates, needed=needed),
        *with_code("profile", profile.warnings),
        *coverage_notes(profile),
        *assumptions(prediction.ops, device, predicted.evidence, predicted.source_device),
        *predicted.pass_notes,
        *of_memory,
        *scenario.notes,
        *host_notes(ran, prediction, predicted.timeline, replayed, scenario, plan),
        *([] if in_framework_format is None else [_framework_format_note(predicted, replayed, in_framework_format)]),
        *predicted.work.notes,
        *prediction.warnings,
        *(() if predicted.same_device else mostly_carried(shares, device)),
        *mostly_dispatch(shares, replayed, device),
    ]


def _framework_format_note(predicted: PredictedStep, kept: ReplayedStep, in_framework_format: ReplayedStep) -> Note:
    """A note on the step in the format that the framework takes on the target, where a plan keeps the profile's.

    Both are steps of one device, also where it is one of several.
    """
    workload, target = predicted.profile.workload, predicted.target.device
    products = product_format(AUTO, workload, target)
    step_s = _in_place_of(in_framework_format.step.total, kept.step.total)
    kernels_s = _in_place_of(in_framework_format.kernels_s, kept.kernels_s)
    headline = (
        f"{products.covered(predicted.work.work)} keep the profile's number format; "
        f"{workload.framework or 'the framework'} would take {products.precision} on this device ('precision auto')"
    )
    of_batch = f" of batch {batch}" if (batch := predicted.plan.batch or workload.batch_size) else ""
    details = f": a step{of_batch} of one device would then take {step_s}, its kernels alone {kernels_s}"
    return Note("precision-by-default", headline + details, subject=target.name, details=details)


def _in_place_of(then_s: Floats, now_s: Floats) -> str:
    """Two nominal times in words, or that they are equal."""
    then, now = (units.show(float(each[0]), "s", 3) for each in (then_s, now_s))
    return f"{then} as before" if then == now else f"{then} in place of {now}"


def ranks_kept(predicted: PredictedStep) -> tuple[Note, ...]:
    """Notes on the ranks of a profile that exchange messages, and on the links that these are taken to pass."""
    ranks, device = recorded_ranks(predicted.work.work, predicted.profile), predicted.target.device
    if ranks.world == 1:
        return ()
    known = device.network.linked_devices if device.network else None
    joined = f"connect {min(known, ranks.world)}" if known else f"are taken to connect {ranks.world}"
    text = f"the step is of one of {ranks.world} ranks, as profiled: links of {device.name} {joined} of them"
    return (Note("ranks-kept", text, subject=device.name), *link_note(device))
