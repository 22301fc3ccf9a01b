"""What the commands of measured tables print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from estimator.cli import terminal
from estimator.devices.measurements.conditions import CONDITIONS, KIND

if TYPE_CHECKING:
    import pandas as pd

    from estimator.devices.importers import Imported


def imported(found: Imported, as_json: bool) -> None:
    """What an import read, what it left out and flagged, and where it wrote."""
    document = _document(found.survey, found.conditions.seen) | {"notes": found.notes}
    if as_json:
        terminal.json({"written": str(found.path), "formats": found.formats, "devices": found.names(), **document})
        return
    console = terminal.console()
    console.print("; ".join(found.formats), f" of {', '.join(found.names())}" if found.names() else "", sep="")
    _tables(document)
    terminal.notes(found.notes)
    console.print(f"wrote {found.path}", soft_wrap=True)


def surveyed(device: str, survey: pd.DataFrame, conditions: pd.DataFrame, notes: Sequence[str], as_json: bool) -> None:
    """What the measured table of a device holds."""
    document = {"device": device, **_document(survey, conditions), "notes": list(notes)}
    if as_json:
        terminal.json(document)
        return
    if not document["rows"]:
        terminal.console().print(f"nothing is measured of {device}")
    else:
        _tables(document)
    terminal.notes(notes)


def _document(survey: pd.DataFrame, conditions: pd.DataFrame) -> dict[str, Any]:
    kinds = survey.astype(object).where(survey.notna(), None).to_dict("records")
    said = [{name: value or None for name, value in row.items()} for row in conditions.to_dict("records")]
    return {"rows": int(survey["rows"].sum()), "kinds": kinds, "conditions": said}


def _tables(document: dict[str, Any]) -> None:
    right = ("rows", "left out", "beats bound", "above peak", "best TFLOP/s", "of peak")
    table = terminal.table("Rows by op class and precision", "op class", "precision", *right, right=right)
    for kind in document["kinds"]:
        counts = (str(kind[name] or "") for name in ("rows", "left_out", "beats_bound", "above_peak"))
        rate, share = kind["best_flop_per_s"], kind["best_share"]
        best = f"{rate / 1e12:.4g}" if rate else "", f"{share:.1%}" if share else ""
        table.add_row(kind["op_class"], kind["precision"], *counts, *best)
    terminal.show(table)
    terminal.show(_conditions(document["conditions"]))


def _conditions(said: Iterable[dict[str, str | None]]) -> Table:
    """The conditions of each kind of row; columns that say nothing are left out."""
    rows = list(said)
    used = [name for name in (*KIND, *CONDITIONS) if any(row[name] for row in rows)]
    table = terminal.table("Conditions", *(name.replace("_", " ") for name in used))
    for row in rows:
        table.add_row(*(row[name] or "" for name in used))
    return table
