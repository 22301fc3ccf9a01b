"""The folders of shipped and the user's devices, profiles and studies, and paths by name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from estimator.core.errors import EstimatorError, suggestion

PATH = re.compile(r"[/\\]|\.[A-Za-z]{2,}$")
KINDS = ("devices", "profiles", "reports")
PACKAGE = Path(__file__).resolve().parent.parent


def folders(kind: str) -> list[Path]:
    """The existing folders of one kind (``"devices"``, ``"profiles"``, ``"reports"``), the user's first.

    ESTIMATOR_LIBRARY lists the user's libraries, separated as in PATH, each laid out like this project's top level.
    Raises EstimatorError where one of them is no such folder.
    """
    own = [Path(p) for p in os.environ.get("ESTIMATOR_LIBRARY", "").split(os.pathsep) if p]
    for place in own:
        if not any((place / each).is_dir() for each in KINDS):
            lacking = f"{place} has none of {', '.join(f'{each}/' for each in KINDS)}"
            fault = lacking if place.is_dir() else f"there is no folder {place}"
            raise EstimatorError(f"ESTIMATOR_LIBRARY: {fault}; mend the variable, or unset it")
    return [folder / kind for folder in (*own, _shipped()) if (folder / kind).is_dir()]


@cache
def _shipped() -> Path:
    installed = PACKAGE / "_library"
    return installed if installed.is_dir() else PACKAGE.parent


def names(kind: str, pattern: str) -> dict[str, Path]:
    """The library entries of a kind by name: files by stem, folders by name; of equal names, the first."""
    paths: dict[str, Path] = {}
    subfolder, _, name = pattern.rpartition("/")
    for folder in folders(kind):
        place = folder / subfolder
        with os.scandir(place) if place.is_dir() else nullcontext(()) as entries:
            for entry in sorted((e for e in entries if fnmatch(e.name, name)), key=lambda e: e.name):
                path = place / entry.name
                paths.setdefault(path.stem if entry.is_file() else path.name, path)
    return paths


def looks_like_path(name: str) -> bool:
    """Whether a name is meant as a path: it has a separator or a file's suffix."""
    return PATH.search(name) is not None


def unknown(
    what: str, name: str, known: Iterable[str], command: str = "", proper: Mapping[str, str] | None = None
) -> EstimatorError:
    """The error for a name that is no entry of this kind, or is one of another; ``proper``: alias → proper name."""
    from estimator.core.other_kinds import of_other_kind

    return EstimatorError(
        of_other_kind(what, name)
        or _of_several(what, name, known)
        or _of_file(what, name)
        or f"Unknown {what} '{name}'.{suggestion(name, known, proper)}"
        + (f" 'estimator {command}' lists all." if command else f" Give a file, or one of {', '.join(sorted(known))}.")
    )


def _of_several(what: str, name: str, known: Iterable[str]) -> str:
    """A sentence on known names that commas join; empty where they are none."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) < 2 or not set(known).intersection(parts):
        return ""
    return f"'{name}' is {len(parts)} names; expected one {what}: where several may be given, repeat the option."


def _of_file(what: str, name: str) -> str:
    """A sentence on a folder, or on a YAML file of the working folder that is named without its ending; else empty."""
    if looks_like_path(name) and Path(name).is_dir():
        return f"{name}: this is a folder; expected a {what}: its name, or its file."
    file = f"{name}.yaml"
    if not Path(file).is_file():
        return ""
    return f"Unknown {what} '{name}'; to use the file {file} of this folder, write '{file}'."
