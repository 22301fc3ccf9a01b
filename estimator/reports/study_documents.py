"""The results of a study as plain documents for JSON: figures of merit, and the whole content of a report."""

from __future__ import annotations

from collections.abc import Mapping

from estimator import __version__
from estimator.core.errors import EstimatorError
from estimator.core.interval import share_above
from estimator.core.notes import left_open, ranked, sentences
from estimator.core.schema import METHODS, PREDICTION
from estimator.core.types import Comparison, Covers, Estimate, Number, StudyResult, pair_id
from estimator.reports.documents import Document, estimate, interval, unverified
from estimator.reports.places import headline_places, sentence_places

FORMULAS = {
    "step_s": "the step's timeline replayed: an op starts when it is launched, its lane is free, and what it waits for "
    "has ended",
    "kernels_s": "the same with a host that takes no time, and no ops of the host and of input",
    "matrix_only_step_s": "sum of overlap × target_time_s of gemm and convolution ops",
    "source_step_s": "the source's own step; without its host, idle time and input where the target's are left out",
    "speedup": "source_step_s / step_s",
    "components_s": "what was critical at each instant: launches are latency; other op time by bound, carried ops by "
    "class; the rest is the host",
    "evidence": "share of step_s by method, along the step's critical path: what ran beside something longer has none; "
    "sum of overlap × target_time_s; the host's time is carried, unchanged on the same host, or dispatch",
    "coverage": "share of the source's step in ops that a device ran and whose method is not 'proportional'",
    "bound_s": "floor: max(flop / peak, bytes / bandwidth) of known work on the longest lane; ceiling: launches + "
    "(flop / peak + bytes / bandwidth) / lowest attained share of all ops in turn, with the most of ops without model "
    "and of the host",
    "power_w": "the device's mean over a step: idle + (power limit − idle) × min(1, busy share + share at peak "
    "arithmetic + share at full bandwidth, each by its coefficient)",
    "energy_j_per_step": "power_w × step_s",
    "interval": "low and high: 5 % and 95 % of the draws; mid: the value at nominal inputs",
}


def results(result: StudyResult) -> Document:
    """The whole content of a report; every number has its inputs and formula."""
    return {
        "title": result.title,
        "estimator_version": __version__,
        "inputs_sha256": dict(result.inputs),
        "draws": result.draws,
        "seed": result.seed,
        "figure_of_merit": figures_of_merit(result) if result.machines else None,
        "numbers": [number(derived, _covers(result)) for derived in result.numbers().values()],
        "formulas": FORMULAS,
        "methods": METHODS,
        "columns": {column.name: f"{column.meaning} [{column.unit}]" for column in PREDICTION.columns},
        "estimates": {pair_id(pair): estimate(estimated) for pair, estimated in result.estimates.items()},
        "published": [published(comparison) for comparison in result.comparisons],
        "audits": [appendix.document for appendix in result.appendices if appendix.kind == "audit"],
        "assumptions": list(sentences(result.machine_notes, "left-open", "assumption")),
        "notes": list(result.notes),
    }


def figures_of_merit(result: StudyResult) -> Document:
    """The figures of merit of a study, each with its units of work.

    Raises EstimatorError where the study has none.
    """
    if not result.machines:
        raise EstimatorError(
            f"'{result.title}' has no machines and so no figure of merit; 'estimator report' audits it"
        )
    notes = ranked(note for note, _ in result.located_notes())
    return {
        "specifications": unverified(result.specifications),
        "assumptions": list(sentences(notes, "left-open", "assumption")),
        "left_open": list(left_open(notes)),
        "left_open_on": headline_places(result),
        "warnings": list(sentences(notes, "warning")),
        "warned_on": sentence_places(result, "warning"),
        "definition": result.definition,
        "preset": None if result.preset is None else dict(result.preset),
        "level": result.level,
        "baseline": result.baseline,
        "threshold": result.threshold,
        "targets": {name: _target(result, name) for name in result.machines if name != result.baseline},
        "baseline_units": _units(result, result.baseline),
        "campaigns": {name: _campaign(result, name) for name in result.machines} if result.campaigns else None,
    }


def _target(result: StudyResult, machine: str) -> Document:
    if machine in result.without_fom:
        return _target_without_figure(result, machine)
    merit, covers = result.foms[machine], _covers(result)
    return {
        "fom": interval(merit.samples, covers),
        "refused": None,
        "level": merit.level,
        "meets_threshold": None if result.threshold is None else bool(merit.samples[0] >= result.threshold),
        "p_threshold": merit.p_threshold,
        "dominant_unit": merit.dominant_unit,
        "other_definitions": dict(merit.other_definitions),
        "presets": {name: {"fom": figure, "dominant_unit": unit} for name, (figure, unit) in merit.presets.items()},
        "groups": dict(merit.groups),
        "means": {name: interval(mean, covers) for name, mean in merit.means.items()},
        "means_unit": merit.means_unit if merit.means else None,
        "fom_with_algorithm": interval(merit.with_algorithm, covers),
        "fom_committed": interval(merit.committed, covers),
        "units": _units(result, merit.target),
    }


FIGURE_KEYS = (
    "fom", "meets_threshold", "p_threshold", "dominant_unit", "means_unit", "fom_with_algorithm", "fom_committed",
)  # fmt: skip


def _target_without_figure(result: StudyResult, machine: str) -> Document:
    """A machine that a refused unit, of its own or of the baseline's, leaves without a figure."""
    return {
        **dict.fromkeys(FIGURE_KEYS),
        "refused": result.without_fom[machine],
        "level": result.level,
        **{name: {} for name in ("other_definitions", "presets", "groups", "means")},
        "units": _units(result, machine),
    }


def _units(result: StudyResult, machine: str) -> Document:
    return {unit: _cell(result, (machine, unit)) | _terms(result, (machine, unit)) for unit in result.units}


UNIT_KEYS = (
    "time_per_unit_s", "time_level", "units_per_day", "ratio", "level", "ratio_per_node", "ratio_per_worker",
    "energy_j", "usd", "p_threshold", "devices", "trainings_per_device",
)  # fmt: skip
RATIO_OF = {"system": "ratio", "node": "ratio_node", "worker": "ratio_worker"}


def _cell(result: StudyResult, pair: tuple[str, str]) -> Document:
    """One unit on one machine: its numbers, or why it has none.

    ``level`` belongs to rate and ratio, ``time_level`` to the time.
    """
    refusal, estimated = result.refusals.get(pair), result.estimates.get(pair)
    if refusal is not None:
        return {**dict.fromkeys(UNIT_KEYS), "fits": refusal.fits, "refused": refusal.why}
    numbers, covers = result.chains[pair], _covers(result)
    ratio = numbers.get(RATIO_OF[result.level])
    return {
        "time_per_unit_s": _interval_of(numbers, "time_per_unit_s", covers),
        "time_level": numbers["time_per_unit_s"].level,
        "units_per_day": _interval_of(numbers, "units_per_day", covers),
        "ratio": _interval_of(numbers, "ratio", covers),
        "level": "system",
        "ratio_per_node": _interval_of(numbers, "ratio_node", covers),
        "ratio_per_worker": _interval_of(numbers, "ratio_worker", covers),
        "energy_j": _interval_of(numbers, "energy_j", covers),
        "usd": _interval_of(numbers, "usd", covers),
        "p_threshold": None if ratio is None else share_above(ratio.samples, result.threshold),
        "devices": _count(numbers, "devices_per_training", estimated),
        "trainings_per_device": _count(numbers, "trainings_per_device", estimated),
        "fits": estimated.memory.fits if estimated and estimated.memory else None,
        "refused": None,
    }


def _count(numbers: Mapping[str, Number], name: str, estimated: Estimate | None) -> int | None:
    """How many devices train together, or trainings share a device; None where the time was given."""
    given = numbers.get(name)
    return int(given.samples[0]) if given else 1 if estimated else None


def _terms(result: StudyResult, pair: tuple[str, str]) -> Document:
    """What the study declares of one unit on one machine: values at nominal inputs, null where it says nothing."""
    names = ("capability", "algorithmic_factor", "committed", "projected_over_committed")
    numbers = {name: result.fom_numbers.get(f"{pair_id(pair)}/{name}") for name in names}
    values = {name: None if stated is None else float(stated.samples[0]) for name, stated in numbers.items()}
    return {"committed_s": values.pop("committed"), **values}


def _covers(result: StudyResult) -> Covers:
    """What a study's intervals cover: the models' errors as well where a time was predicted."""
    return "all" if result.predictions() else "inputs"


def _campaign(result: StudyResult, machine: str) -> Document | None:
    """A workflow of counted units on one machine; None where it cannot run one of them."""
    numbers, covers = result.campaigns.get(machine), _covers(result)
    if numbers is None:
        return None
    of_machine = {unit: result.chains[machine, unit] for unit in result.units if (machine, unit) in result.chains}
    phases = {unit: chain for unit, chain in of_machine.items() if "phase_s" in chain}
    return {
        "time_s": _interval_of(numbers, "campaign_s", covers),
        "campaigns_per_day": _interval_of(numbers, "campaigns_per_day", covers),
        "ratio": _interval_of(numbers, "campaign_ratio", covers),
        "energy_kwh": _interval_of(numbers, "campaign_energy_kwh", covers),
        "usd": _interval_of(numbers, "campaign_usd", covers),
        "phases": {
            unit: {"count": int(chain["count"].samples[0]), "time_s": _interval_of(chain, "phase_s", covers)}
            for unit, chain in phases.items()
        },
    }


def _interval_of(numbers: Mapping[str, Number], name: str, covers: Covers) -> Document | None:
    """The interval of one number of a chain; None where it is unknown."""
    return interval(numbers[name].samples, covers) if name in numbers else None


PUBLISHED_KEYS = (  # of every printed figure's document; null where it does not apply, most apply to tables alone
    "quantity", "unit", "on", "printed", "ours", "source", "reason", "as_printed", "mark", "with_their_rates",
    "implied_step_s", "predicted_step_s", "step_holds", "achieved_flop_per_s", "utilisation", "busy", "like_with_like",
)  # fmt: skip


def published(comparison: Comparison) -> Document:
    """A printed figure and ours."""
    values = {name: value for name, value in vars(comparison).items() if name in PUBLISHED_KEYS}
    return dict.fromkeys(PUBLISHED_KEYS) | values | {"ours": number(comparison.ours, "all")}


def number(derived: Number, covers: Covers) -> Document:
    """One number with its derivation."""
    return {
        "id": derived.id,
        "label": derived.label,
        "value": interval(derived.samples, covers),
        "unit": derived.unit,
        "level": derived.level,
        "formula": derived.formula,
        "inputs": list(derived.inputs),
        "source": derived.source,
    }
