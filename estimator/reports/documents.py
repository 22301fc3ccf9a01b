"""Results as plain documents for JSON: times in s, counts in FLOP and B, keys end in their unit, NA is null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from estimator import __version__
from estimator.core.errors import EstimatorError
from estimator.core.interval import share_above, summarise
from estimator.core.notes import left_open, ranked, sentences
from estimator.core.schema import MATRIX, METHODS, PREDICTION
from estimator.core.types import (
    Comparison,
    Covers,
    DeviceSpec,
    Estimate,
    File,
    Floats,
    MemoryUse,
    Number,
    Profile,
    Sourced,
    StudyResult,
    SystemSpec,
    pair_id,
)
from estimator.reports.places import headline_places, sentence_places

if TYPE_CHECKING:
    import pandas as pd

Document = dict[str, Any]

INGEST_OPS = (
    "op", "op_type", "op_class", "placement", "phase", "block", "precision", "shapes", "batch", "m", "n", "k",
    "trans_a", "trans_b", "calls", "time_s", "time_spread_s", "flop", "bytes", "work_source",
)  # fmt: skip
ESTIMATE_OPS = (
    "op", "op_type", "op_class", "phase", "block", "precision", "shapes", "batch", "m", "n", "k", "calls", "flop",
    "bytes", "time_s", "target_time_s", "overlap", "low_s", "high_s", "bound", "method", "resembling",
    "source_efficiency",
)  # fmt: skip


def to_json(document: object) -> str:
    """One JSON document as text; equal content gives equal bytes. A row or list of plain values stands on one line."""
    return _text(plain(document), "") + "\n"


def _text(value: Any, margin: str) -> str:
    """A plain value as JSON; lines behind its first one begin with ``margin``."""
    inner = margin + "  "
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(item and isinstance(item, dict | list) for item in items):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {_text(item, inner)}" for key, item in value.items()]
    else:
        lines = [inner + _text(item, inner) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(lines) + f"\n{margin}{closing}"


def plain(value: object) -> Any:
    """The value with numpy and pandas scalars as Python scalars, and NaN and NA as None."""
    if value is None or isinstance(value, str | bool):  # the most frequent types first: a report has millions of values
        return value
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence | np.ndarray):
        return [plain(item) for item in value]
    return None  # pandas.NA


def interval(samples: Floats, covers: Covers = "inputs") -> Document:
    """Samples (1 + draws) as ``{low, mid, high, level, covers}``."""
    return dict(vars(summarise(samples, covers)))


def rows(frame: pd.DataFrame, columns: Sequence[str]) -> list[Document]:
    """The named columns of a table as one document per row."""
    return [plain(record) for record in frame.reindex(columns=list(columns)).to_dict(orient="records")]


def top_operations(work: pd.DataFrame, share: float) -> list[list[Any]]:
    """[op_type, time_s, fraction, cumulative] of the op types that make up ``share`` of the time, largest first.

    Rows without an op type count under their class. None where nothing ran.
    """
    if not (work["time_s"] > 0).any():
        return []
    types = work["op_type"].fillna(work["op_class"])
    by_type = work.groupby(types)["time_s"].sum().sort_values(ascending=False, kind="stable")
    fraction = by_type / by_type.sum()
    cumulative = fraction.cumsum()
    needed = int((cumulative < share).sum()) + 1
    return [[str(t), by_type[t], fraction[t], cumulative[t]] for t in by_type.index[:needed]]


def ingest(
    profile: Profile, work: pd.DataFrame, step: Mapping[str, float | None], warnings: Sequence[str], top: float
) -> Document:
    """A profile as its op table and totals; ``step`` holds the roll-up's values for the whole step."""
    total = float(profile.ops["time_s"].sum())
    return {
        "format": profile.format,
        "framework": profile.workload.framework,
        "tool_version": profile.tool_version,
        "steps": profile.steps,
        "ranks": profile.ranks,
        "world_size": profile.world_size,
        "batch_size": profile.workload.batch_size,
        "parameters": profile.workload.parameters,
        "mode": profile.workload.mode,
        "device": profile.device,
        "wall_step_s": profile.wall_step_s,
        "op_time_s": total,
        "busy_step_s": profile.busy_step_s,
        "profiled_step_s": profile.profiled_step_s,
        **step,
        "flop": work["flop"].sum(),
        "matrix_flop": work.loc[work["op_class"].isin(MATRIX), "flop"].sum(),
        "top": top_operations(work, top),
        "warnings": list(warnings),
        "sha256": profile.sha256,
        "ops": rows(work, INGEST_OPS),
    }


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


def estimate(estimated: Estimate) -> Document:
    """One profile on one device: step time, parts, evidence, bounds and ops."""
    ops, total = estimated.prediction.ops, estimated.step.total
    return {
        "workload": estimated.profile.workload.name,
        "source": estimated.source.name if estimated.source else estimated.profile.device,
        "target": estimated.target.name,
        "level": "device",
        "precision": estimated.precision,
        "mode": estimated.profile.workload.mode,
        "batch_size": estimated.plan.batch or estimated.profile.workload.batch_size,
        "fusion": dict(vars(estimated.fusion)),
        "step_s": interval(total, "all"),
        "kernels_s": interval(estimated.kernels_s, "all"),
        "host": estimated.host,
        "input": estimated.input,
        "matrix_only_step_s": interval(estimated.matrix_step_s, "all"),
        "source_step_s": estimated.source_step_s,
        "speedup": interval(estimated.source_step_s / total, "all"),
        "components_s": {name: samples[0] for name, samples in estimated.step.parts().items()},
        "evidence": dict(estimated.evidence),
        "coverage": estimated.coverage,
        "power_w": None if estimated.power_w is None else interval(estimated.power_w, "all"),
        "energy_j_per_step": None if estimated.energy_j is None else interval(estimated.energy_j, "all"),
        "memory_bytes": memory_parts(estimated.memory),
        "fits": estimated.memory.fits if estimated.memory else None,
        "bound_s": {"floor": estimated.floor_s, "ceiling": estimated.ceiling_s},
        "ops": rows(ops.assign(overlap=estimated.overlap), ESTIMATE_OPS),
        "target_device": device(estimated.target),
        "specifications": unverified(estimated.specifications),
        "coefficients": dict(estimated.prediction.coefficients),
        "assumptions": list(estimated.assumptions),
        "left_open": list(estimated.left_open),
        "warnings": list(estimated.warnings),
    }


def memory_parts(use: MemoryUse | None) -> Document | None:
    """The parts of memory of one device at nominal inputs [B], their sum and the capacity; None where unknown."""
    if use is None:
        return None
    parts = {name: float(samples[0]) for name, samples in use.parts.items()}
    return {**parts, "total": float(use.total[0]), "capacity": use.capacity}


def unverified(specifications: Mapping[str, Sourced]) -> Document:
    """The number of catalogue entries behind a figure, and the unverified ones among them."""
    names = [name for name, value in specifications.items() if value.unverified]
    return {"used": len(specifications), "unverified": len(names), "names": names}


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
        "fom_with_algorithm": None if merit.with_algorithm is None else interval(merit.with_algorithm, covers),
        "fom_committed": None if merit.committed is None else interval(merit.committed, covers),
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


def _cell(result: StudyResult, pair: tuple[str, str]) -> Document:
    """One unit on one machine: its numbers, or why it has none."""
    refusal, estimated = result.refusals.get(pair), result.estimates.get(pair)
    if refusal is not None:
        return {**dict.fromkeys(UNIT_KEYS), "fits": refusal.fits, "refused": refusal.why}
    fits = estimated.memory.fits if estimated and estimated.memory else None
    numbers = result.chains[pair]
    ratio = numbers.get(RATIO_OF[result.level])
    return {
        **unit_of_work(numbers, _covers(result)),
        "p_threshold": None if ratio is None else share_above(ratio.samples, result.threshold),
        "devices": _count(numbers, "devices_per_training", estimated),
        "trainings_per_device": _count(numbers, "trainings_per_device", estimated),
        "fits": fits,
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
        "time_s": interval(numbers["campaign_s"].samples, covers),
        "campaigns_per_day": interval(numbers["campaigns_per_day"].samples, covers),
        "ratio": _interval_of(numbers, "campaign_ratio", covers),
        "energy_kwh": _interval_of(numbers, "campaign_energy_kwh", covers),
        "usd": _interval_of(numbers, "campaign_usd", covers),
        "phases": {
            unit: {"count": int(chain["count"].samples[0]), "time_s": interval(chain["phase_s"].samples, covers)}
            for unit, chain in phases.items()
        },
    }


UNIT_KEYS = (
    "time_per_unit_s", "time_level", "units_per_day", "ratio", "level", "ratio_per_node", "ratio_per_worker",
    "energy_j", "usd", "p_threshold", "devices", "trainings_per_device",
)  # fmt: skip
RATIO_OF = {"system": "ratio", "node": "ratio_node", "worker": "ratio_worker"}


def unit_of_work(numbers: Mapping[str, Number], covers: Covers) -> Document:
    """One unit of work on one machine; ``level`` belongs to rate and ratio, ``time_level`` to the time."""
    return {
        "time_per_unit_s": interval(numbers["time_per_unit_s"].samples, covers),
        "time_level": numbers["time_per_unit_s"].level,
        "units_per_day": interval(numbers["units_per_day"].samples, covers),
        "ratio": _interval_of(numbers, "ratio", covers),
        "level": "system",
        "ratio_per_node": _interval_of(numbers, "ratio_node", covers),
        "ratio_per_worker": _interval_of(numbers, "ratio_worker", covers),
        "energy_j": _interval_of(numbers, "energy_j", covers),
        "usd": _interval_of(numbers, "usd", covers),
    }


def _interval_of(numbers: Mapping[str, Number], name: str, covers: Covers) -> Document | None:
    """The interval of one number of a chain; None where it is unknown."""
    return interval(numbers[name].samples, covers) if name in numbers else None


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


def device(spec: DeviceSpec | SystemSpec) -> Document:
    """A device or system with the source of every number; absent fields are left out."""
    return dict(_spec_value(spec))


def _spec_value(value: object) -> Any:
    if isinstance(value, Sourced):
        stated = {name: item for name, item in value if item is not None}
        return {"text": str(value), "unverified": value.unverified, **stated}
    if isinstance(value, Mapping):
        return {key: _spec_value(item) for key, item in value.items()}
    if isinstance(value, File):
        fields = {name: getattr(value, name) for name in type(value).model_fields}
        return {name: _spec_value(item) for name, item in fields.items() if item not in (None, (), {})}
    return value
