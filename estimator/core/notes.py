"""Notes of a stage as data: a code for programs, a sentence, its subject, and its share of the time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["assumption", "warning"]
WARNINGS = (  # codes of notes that may make a prediction wrong; all other notes are assumptions
    "ambiguous-product", "announced", "carried-mostly", "chain-order-unknown", "convolution-unknown", "coverage-low",
    "device-check", "measurements-left-out", "memory-tight", "precision-unstated", "product-booked-elsewhere",
    "product-unknown", "profile", "rebatch-unknown", "source-contradicted", "source-unknown", "step-coverage-low",
    "traffic-unknown", "work-unbelievable",
)  # fmt: skip


@dataclass(frozen=True)
class Note:
    """One note of a stage. ``share``: the share of the profiled step's time that it concerns, 0 for none."""

    code: str
    text: str
    subject: str = ""
    share: float = 0.0

    @property
    def kind(self) -> Kind:
        """Whether it is a warning, or an assumption of the prediction."""
        return "warning" if self.code in WARNINGS else "assumption"


def with_code(code: str, sentences: Iterable[str]) -> tuple[Note, ...]:
    """Notes with one code, one per sentence."""
    return tuple(Note(code, text) for text in sentences)


def ranked(notes: Iterable[Note]) -> tuple[Note, ...]:
    """The notes without repeated sentences, sorted by falling share of the time; equal shares keep their order."""
    by_text: dict[str, Note] = {}
    for note in notes:
        by_text.setdefault(note.text, note)
    return tuple(sorted(by_text.values(), key=lambda note: -note.share))


def sentences(notes: Iterable[Note], kind: Kind | None = None) -> tuple[str, ...]:
    """The sentences of the notes of one kind, or of all notes."""
    return tuple(note.text for note in notes if kind in (None, note.kind))
