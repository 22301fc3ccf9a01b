"""An audit as plain data: its JSON document, and the view that the report's template lays out."""

from __future__ import annotations

from collections.abc import Iterable

from estimator.core.types import Appendix
from estimator.reports import study_documents
from estimator.reports.documents import Document
from estimator.studies.audit.types import Audit, CheckedNumber, Kind


def appendix(audit: Audit) -> Appendix:
    """Make the appendix of a study's report."""
    return Appendix(
        kind="audit",
        heading="Audit of published figures",
        title=audit.title,
        document=audit_document(audit),
        view={"findings": _documents(audit, audit.findings()), **_printed_table(audit)},
        numbers=tuple(number for kind in audit.checked.values() for checked in kind for number in checked.numbers),
        estimates=audit.estimates,
    )


def audit_document(audit: Audit) -> Document:
    """All printed numbers beside ours, with mark and reason, and how many have each mark."""
    return {
        "title": audit.title,
        "source": audit.source,
        "marks": dict(audit.meanings),
        "counts": audit.count_marks(),
        "printed": {kind: _documents(audit, checked) for kind, checked in audit.checked.items()},
    }


def _documents(audit: Audit, checked: Iterable[CheckedNumber]) -> list[Document]:
    return [checked_document(number, audit.source) for number in checked]


def checked_document(checked: CheckedNumber, source: str) -> Document:
    """A printed number beside ours."""
    step = checked.implied_step
    return dict.fromkeys(study_documents.PUBLISHED_KEYS) | {
        "quantity": checked.quantity,
        "unit": checked.row,
        "on": checked.column,
        "printed": checked.printed.value,
        "ours": study_documents.number(checked.ours, "all") if checked.ours else None,
        "source": source,
        "reason": checked.reason,
        "as_printed": checked.printed.text,
        "mark": checked.mark,
        "implied_step_s": step.time_s if step else None,
        "achieved_flop_per_s": step.flop_per_s if step else None,
        "utilisation": step.utilisation if step else None,
        "predicted_step_s": dict(vars(step.predicted)) if step and step.predicted else None,
        "step_holds": step.holds if step else None,
        "busy": checked.busy,
        "like_with_like": study_documents.number(checked.like_with_like, "all") if checked.like_with_like else None,
    }


def _printed_table(audit: Audit) -> Document:
    """The table as printed, head and rows, each cell with its numbers."""

    def cell(kind: Kind, row: str | None, column: str | None = None, quantity: str | None = None) -> list[Document]:
        numbers = audit.cell(kind, row, column)
        return _documents(audit, (number for number in numbers if quantity in (None, number.quantity)))

    counts = list(dict.fromkeys(number.quantity for number in audit.checked["counts"]))
    means = list(dict.fromkeys(number.quantity for number in audit.checked["means"]))
    return {
        "counts": counts,
        "columns": {column: cell("peaks", None, column) for column in audit.columns},
        "rows": {
            row: {
                "counts": [cell("counts", row, quantity=quantity) for quantity in counts],
                "cells": [cell("times", row, column) + cell("ratios", row, column) for column in audit.columns],
            }
            for row in audit.rows
        },
        "means": {quantity: [cell("means", None, column, quantity) for column in audit.columns] for quantity in means},
    }
