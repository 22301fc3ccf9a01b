"""Results as plain documents for JSON: times in s, counts in FLOP and B, keys end in their unit, NA is null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from estimator.core.interval import summarise
from estimator.core.schema import MATRIX
from estimator.core.types import Covers, DeviceSpec, Estimate, File, Floats, MemoryUse, Profile, Sourced, SystemSpec

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


def interval(samples: Floats | None, covers: Covers) -> Document | None:
    """Samples (1 + draws) as ``{low, mid, high, level, covers}``; None where they are not known."""
    return None if samples is None else dict(vars(summarise(samples, covers)))


def rows(frame: pd.DataFrame, columns: Sequence[str]) -> list[Document]:
    """The named columns of a table as one document per row."""
    return [plain(record) for record in frame.reindex(columns=list(columns)).to_dict(orient="records")]


def top_operations(work: pd.DataFrame, share: float) -> list[list[Any]]:
    """[op_type, time_s, fraction, cumulative] of the op types that make up ``share`` of the time, largest first.

    Rows without an op type count under their class. Nothing where nothing ran.
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
        "power_w": interval(estimated.power_w, "all"),
        "energy_j_per_step": interval(estimated.energy_j, "all"),
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
