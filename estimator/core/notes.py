"""What a stage wants to tell, as data: a code for programs, what it is about, its share of the time, a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["assumption", "warning"]
WARNINGS = (  # codes of what may make a prediction wrong; all others say what it rests on
    "ambiguous-product", "carried-mostly", "chain-order-unknown", "convolution-unknown", "coverage-low", "device-check",
    "measurements-left-out", "precision-unstated", "product-booked-elsewhere", "product-unknown", "profile",
    "rebatch-unknown", "source-unknown", "step-coverage-low", "traffic-unknown",
)  # fmt: skip


@dataclass(frozen=True)
class Note:
    """One thing that a stage tells. ``share``: of the time of the profiled step that it concerns, 0 where none."""

    code: str
    text: str
    subject: str = ""
    share: float = 0.0

    @property
    def kind(self) -> Kind:
        """Whether it is a warning, or an assumption of the prediction."""
        return "warning" if self.code in WARNINGS else "assumption"


def with_code(code: str, sentences: Iterable[str]) -> tuple[Note, ...]:
    """Notes of one code from sentences."""
    return tuple(Note(code, text) for text in sentences)


def ranked(notes: Iterable[Note]) -> tuple[Note, ...]:
    """The notes without repeated sentences, those first that concern most of the time, others in their order."""
    once: dict[str, Note] = {}
    for note in notes:
        once.setdefault(note.text, note)
    return tuple(sorted(once.values(), key=lambda note: -note.share))


def sentences(notes: Iterable[Note], kind: Kind | None = None) -> tuple[str, ...]:
    """The sentences of the notes of one kind, or of all, for people."""
    return tuple(note.text for note in notes if kind in (None, note.kind))
