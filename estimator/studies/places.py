"""What a study names: a file beside it, or something that is shipped."""

from __future__ import annotations

from pathlib import Path

from estimator.core.types import Profile
from estimator.profiles import read_profile


def beside(folder: Path, name: str) -> str:
    """A path relative to the study's folder where such a file is there; else the name as it stands."""
    return str(folder / name) if (folder / name).is_file() else name


def read_profile_beside(folder: Path, name: str, batch: int | None = None) -> Profile:
    """The profile of a file or folder beside the study; else the shipped profile of that name."""
    return read_profile(str(folder / name) if (folder / name).exists() else name, batch=batch)
