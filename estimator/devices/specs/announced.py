"""Announced devices and systems: how far their numbers may still move, and the note that says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from estimator.core.notes import Note
from estimator.core.types import DeviceSpec, File, Sourced, SystemSpec

Value = TypeVar("Value")
# 90 % interval of a number of an announcement that states none. Numbers moved from announcement to delivery, or to the
# next announcement, by +83 % (El Capitan's peak), +69 % (Rubin's memory bandwidth), +19 % (MI455X's), -8 and -11 %
# (FP64 of B200 and GB200) and -9 % (Gaudi 3's peak): root mean square of the logarithms 0.34, exp(1.645 x 0.34) - 1
UNCERTAINTY = 0.75
COUNT = "1"  # unit of counts, which a design fixes


def with_uncertainty(spec: Value) -> Value:
    """A specification in which each number without an uncertainty, except counts, has that of an announcement."""
    widened: Any = spec
    if isinstance(spec, Sourced):
        if spec.relative_uncertainty is None and spec.unit != COUNT:
            widened = spec.model_copy(update={"relative_uncertainty": UNCERTAINTY})
    elif isinstance(spec, File):
        update = {name: with_uncertainty(getattr(spec, name)) for name in spec.model_fields_set}
        widened = spec.model_copy(update=update)
    elif isinstance(spec, Mapping):
        widened = {key: with_uncertainty(value) for key, value in spec.items()}
    return widened  # type: ignore[no-any-return]


def announcements(*specs: DeviceSpec | SystemSpec | None) -> tuple[Note, ...]:
    """A warning for each device or system that is announced."""
    return tuple(
        Note(
            "announced",
            f"{spec.name} is announced: its numbers may change until delivery, and are taken within "
            f"{100 * UNCERTAINTY:g} % where its file states no uncertainty",
            subject=spec.name,
        )
        for spec in specs
        if spec and spec.announced
    )
