"""Resolve the names in a study: a file beside it, or a shipped one."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from estimator.core import files, library
from estimator.core.types import Profile
from estimator.devices.specs.catalogue import file_of_folder
from estimator.profiles import read_profile


def resolve_name(folder: Path, name: str) -> str:
    """The path of a file in the study's folder, perhaps without its .yaml; where there is none, the name unchanged.

    Raises EstimatorError for a path of which there is no file, there or in the working folder.
    """
    path = folder / name if (folder / name).is_file() else file_of_folder(folder, name)
    if path is None:
        _refuse_missing(folder, name)
    return str(path or name)


def _refuse_missing(folder: Path, name: str, shipped: Collection[str] = ()) -> None:
    """Raises EstimatorError where a path leads nowhere, neither from the study's folder nor from the working folder."""
    is_elsewhere = Path(name).is_absolute() or name.partition("/")[0] in shipped
    if library.looks_like_path(name) and not is_elsewhere and not Path(name).exists():
        here = Path.cwd()
        if folder.resolve() != here:
            raise files.missing(folder / name, name, nor_in=here)


def resolve_profile(folder: Path, name: str, batch: int | None = None) -> Profile:
    """Read a profile beside the study, else the shipped one of that name.

    Raises EstimatorError where there is none, and as :func:`read_profile` does.
    """
    if (folder / name).exists():
        return read_profile(str(folder / name), batch=batch)
    _refuse_missing(folder, name, library.names("profiles", "*"))
    return read_profile(name, batch=batch)
