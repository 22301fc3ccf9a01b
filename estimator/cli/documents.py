"""JSON documents only of the command line; others come from ``reports.documents`` or the result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.notes import sentences
from estimator.core.types import MemoryUse, RunPlan, Sourced, StudyResult, Workload
from estimator.devices.specs.table.cells import Subject, spec_of
from estimator.devices.specs.table.layout import Column, Layout
from estimator.reports import documents
from estimator.reports.documents import Document
from estimator.rollup import presets as definitions

if TYPE_CHECKING:
    import pandas as pd

    from estimator.devices.importers import Imported
    from estimator.validation.validate import Validation

FAULT = re.compile(r"(?:(?P<file>\S.*?\.ya?ml)(?::(?P<line>\d+))?: )?(?P<sentence>.*)", re.DOTALL)


def written(paths: Iterable[Path]) -> Document:
    """The files that a command wrote."""
    return {"written": [str(path) for path in paths]}


def report(paths: Iterable[Path], result: StudyResult) -> Document:
    """The files of a report; for published tables, the step that each time implies, and the predicted step."""
    tables = [appendix.document for appendix in result.appendices if appendix.kind == "audit"]
    times = [time for table in tables for time in table["printed"]["times"] if time["predicted_step_s"]]
    names = ("unit", "on", "as_printed", "implied_step_s", "predicted_step_s", "step_holds")
    return {**written(paths), "steps": [{name: time[name] for name in names} for time in times]}


def shipped_profiles(workloads: Mapping[str, Workload]) -> Document:
    """The profiles of the library by name."""
    return {
        name: {"title": workload.title, "default_profile": workload.default_profile}
        for name, workload in workloads.items()
    }


def predicted_shapes(rows: pd.DataFrame, target: str, assumptions: Sequence[str]) -> Document:
    """A table of shapes with their predicted times."""
    return {"target": target, "rows": documents.rows(rows, list(rows.columns)), "assumptions": list(assumptions)}


def presets(names: Sequence[str]) -> Document:
    """The published figures of merit of these names, all without any. Raises EstimatorError for an unknown name."""
    try:
        return {"presets": [definitions.describe(name) for name in names or definitions.presets()]}
    except ValueError as error:
        raise EstimatorError(f"the preset {error}") from None


def memory(workload: str, plan: RunPlan, use: MemoryUse) -> Document:
    """The parts of memory [B] at nominal inputs, their sum, and whether the device has room; null without a device.

    Where an allocator takes less than the parts by themselves, the interval of the total alone reaches as far down.
    """
    parts: dict[str, float | None] = {name: float(samples[0]) for name, samples in use.parts.items()}
    if not plan.target:
        parts["reserve"] = None
    return {
        "workload": workload,
        "device": plan.target or None,
        "mode": use.mode,
        "batch_size": use.batch,
        **parts,
        "total": float(use.total[0]),
        "total_interval": documents.interval(use.total, "all"),
        "intervals": {name: documents.interval(np.maximum(of, 0.0), "all") for name, of in use.parts.items()},
        "capacity": use.capacity,
        "fits": use.fits,
        "largest_batch": use.largest_batch,
        "notes": list(sentences(use.notes)),
    }


def catalogue_entry(layout: Layout, subject: Subject) -> Document:
    """A device or system: the numbers of its file, and ``derived`` numbers."""
    derived = {
        column.name: {"value": cell.value, "unit": cell.unit, "unverified": cell.unverified}
        for column in layout.columns.values()
        if column.derived and isinstance(cell := column.get(subject), Sourced)
    }
    return {**documents.device(spec_of(subject)), "derived": derived}


def catalogue_comparison(layout: Layout, subjects: Mapping[str, Subject], ratios: Mapping[str, Any]) -> Document:
    """Devices or systems by name, and by column the ratio of each to the first."""
    return {
        layout.what: {name: catalogue_entry(layout, subject) for name, subject in subjects.items()},
        "ratios": ratios,
    }


def catalogue_columns(columns: Iterable[Column]) -> Document:
    """The columns of a catalogue by name."""
    return {
        column.name: {"unit": column.unit or None, "kind": column.kind, "meaning": column.meaning} for column in columns
    }


def catalogue_check(count: int, faults: Sequence[str]) -> Document:
    """The faults of the checked files, as sentences and split into fields."""
    return {"checked": count, "faults": list(faults), "findings": [finding(fault) for fault in faults]}


def finding(fault: str) -> Document:
    """A fault split into file, line, sentence and rule."""
    match = FAULT.fullmatch(fault)
    assert match  # every part of the pattern is optional
    line = match["line"]
    return {**match.groupdict(), "line": int(line) if line else None, "rule": getattr(fault, "rule", None)}


def imported_measurements(result: Imported) -> Document:
    """A table that was written from files of other formats."""
    written_from = {"written": str(result.path), "formats": result.formats, "devices": result.names()}
    return {**written_from, **_measured_rows(result.survey, result.conditions.seen), "notes": result.notes}


def device_measurements(device: str, survey: pd.DataFrame, conditions: pd.DataFrame, notes: Sequence[str]) -> Document:
    """The measurements of a device."""
    return {"device": device, **_measured_rows(survey, conditions), "notes": list(notes)}


def _measured_rows(survey: pd.DataFrame, conditions: pd.DataFrame) -> Document:
    """Counts and best rates by kind of op, and the conditions; an empty text becomes None."""
    kinds = survey.astype(object).where(survey.notna(), None).to_dict("records")
    known = [{name: value or None for name, value in row.items()} for row in conditions.to_dict("records")]
    return {"rows": int(survey["rows"].sum()), "kinds": kinds, "conditions": known}


def held_out_errors(result: Validation, data: Path | None) -> Document:
    """Errors on devices never seen, and the worst rows of the first method; ``data`` is the folder judged, if any."""
    from estimator.validation import scores
    from estimator.validation.validate import IN_BYTES, TITLES

    first_method = result.held_out["method"].iloc[0]
    return {
        "source": "data" if data else "shipped fit",
        "data": str(data) if data else None,
        "problems": {name: TITLES[name] for name in dict.fromkeys(result.held_out["problem"])},
        "held_out": result.held_out.to_dict("records"),
        "worst": {
            problem: scores.worst(rows, first_method, unit="bytes" if problem in IN_BYTES else "s")
            for problem, rows in result.judged.items()
            if scores.TIME in rows
        },
        "notes": list(result.notes),
    }
