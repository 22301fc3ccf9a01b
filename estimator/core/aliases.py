"""The files of the library by their names or by the aliases that they list."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from estimator.core import files, yaml_files
from estimator.core.errors import EstimatorError

# the key at the top level, and its indented lines
ALIASES = re.compile(r"""^["']?aliases["']?\s*:.*(?:\n(?:[\s#\]-].*)?)*""", re.MULTILINE)
IN_BRACES = re.compile(r"""[{,]\s*["']?aliases["']?\s*:""")


def file_of_name(name: str, known: dict[str, Path]) -> Path | None:
    """The first file with a name, else the first with the alias; None where there is none."""
    if name in known:
        return known[name]
    for stem, path in known.items():
        with suppress(EstimatorError):  # a broken file must not hide the others; its own check reports it
            if name.lower() in (stem.lower(), *map(str.lower, aliases_in(path))):
                return path
    return None


def names_by_alias(known: dict[str, Path]) -> dict[str, str]:
    """Lower-case name or alias → name; the user's files come first."""
    return {alias: stems[0] for alias, stems in stems_by_name(known).items()}


def stems_by_name(known: dict[str, Path]) -> dict[str, list[str]]:
    """Lower-case name or alias → the stems of the files that have it."""
    stems: dict[str, list[str]] = {}
    for stem, path in known.items():
        names = [stem]
        with suppress(EstimatorError):  # a broken file must not hide the others; its own check reports it
            names += aliases_in(path)
        for name in dict.fromkeys(map(str.lower, names)):
            stems.setdefault(name, []).append(stem)
    return stems


def aliases_in(path: Path) -> list[str]:
    """The aliases in a file; for speed the rest of it is not parsed."""
    text = files.read_text(path)
    block = ALIASES.search(text) if "aliases" in text else None
    if not (block or ("aliases" in text and IN_BRACES.search(text))):
        return []
    data = _parsed(block.group()) if block else None
    listed = (yaml_files.read_yaml(path).data if data is None else data).get("aliases")
    return [str(alias) for alias in listed] if isinstance(listed, list) else []


@lru_cache(maxsize=2**9)
def _parsed(block: str) -> dict[str, Any] | None:
    """What a block of YAML holds, kept as each name is looked for in many files; None where it is none by itself."""
    data: dict[str, Any] | None = None
    with suppress(yaml.YAMLError):
        data = yaml.load(block, Loader=yaml_files.LOADER)
    return data
