"""Resolve the names in a study: a file beside it, or a shipped one."""

from __future__ import annotations

from pathlib import Path

from estimator.core.types import Profile
from estimator.profiles import read_profile


def beside(folder: Path, name: str) -> str:
    """The path of a file in the study's folder; where there is none, the name unchanged."""
    return str(folder / name) if (folder / name).is_file() else name


def read_profile_beside(folder: Path, name: str, batch: int | None = None) -> Profile:
    """Read a profile beside the study, else the shipped one of that name."""
    return read_profile(str(folder / name) if (folder / name).exists() else name, batch=batch)
