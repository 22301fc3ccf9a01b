"""Figures of merit that others define, as data: presets.yaml, checked and looked up by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import RootModel

from estimator.core import yaml_files
from estimator.core.errors import suggestion
from estimator.core.types import File, Status

Mean = Literal["harmonic", "geometric", "arithmetic", "minimum"]
Of = Literal["rates", "ratios"]
Level = Literal["system", "node", "worker"]
ShownAs = Literal["per_day", "per_minute", "flop_per_s", "seconds"]


class Source(File):
    """Where a definition is written, and what was taken from there."""

    status: Status
    cite: str
    says: str


class Preset(File):
    """A published definition: the mean of what, at which level, in words, and by whom."""

    title: str
    mean: Mean
    of: Of
    weighted: bool
    levels: tuple[Level, ...]
    shown_as: ShownAs = "per_day"
    to_last_stop: bool = False
    linear: bool = False
    speedup: Level | None = None
    equation: str
    counts: str
    sources: tuple[Source, ...]


class Presets(RootModel[dict[str, Preset]]):
    """The content of presets.yaml."""


@cache
def presets() -> Mapping[str, Preset]:
    """The shipped presets by name."""
    return yaml_files.check(Presets, yaml_files.read_yaml(Path(__file__).with_suffix(".yaml"))).root


def find(name: str) -> Preset:
    """The preset of that name. Raises ValueError with the tail of a sentence where there is none."""
    known = presets()
    if name not in known:
        raise ValueError(f"is {name!r}, which is none of {', '.join(known)}.{suggestion(name, known)}")
    return known[name]


def describe(name: str) -> dict[str, Any]:
    """A preset with its name, as plain data for documents and reports."""
    return {"name": name, **find(name).model_dump()}
