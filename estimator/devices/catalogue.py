"""The catalogue: devices and systems by name, by alias, or by the path of a YAML file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from estimator.core import files, library
from estimator.core.errors import EstimatorError
from estimator.core.types import DeviceSpec, File, Sourced, SystemSpec

Spec = TypeVar("Spec", DeviceSpec, SystemSpec)
DEVICE_FILES, SYSTEM_FILES = "*.yaml", "systems/*.yaml"


def load_device(name: str | Path) -> DeviceSpec:
    """The device of a shipped name, an alias, or a YAML path. Raises EstimatorError with near names."""
    return _read(DeviceSpec, find("device", str(name), DEVICE_FILES))


def source_device(name: str | None) -> DeviceSpec | None:
    """The device a profile names as its own; None where it names none, or one that the catalogue does not hold."""
    if name is None:
        return None
    known = library.names("devices", DEVICE_FILES)
    stem = name if name in known else _aliases(known).get(name.lower())
    return _read(DeviceSpec, known[stem]) if stem else None


def load_system(name: str | Path) -> SystemSpec:
    """The system of a shipped name, an alias, or a YAML path. Raises EstimatorError with near names."""
    return _read(SystemSpec, find("system", str(name), SYSTEM_FILES))


def all_devices() -> list[DeviceSpec]:
    """Every device of the library, by name."""
    return [_read(DeviceSpec, path) for path in library.names("devices", DEVICE_FILES).values()]


def all_systems() -> list[SystemSpec]:
    """Every system of the library, by name."""
    return [_read(SystemSpec, path) for path in library.names("devices", SYSTEM_FILES).values()]


def check(spec: type[Spec], name: str | None = None) -> tuple[int, list[str]]:
    """How many files were checked, and every fault of each: one named file, or all of the library."""
    what, pattern = ("device", DEVICE_FILES) if spec is DeviceSpec else ("system", SYSTEM_FILES)
    paths = [find(what, name, pattern)] if name else list(library.names("devices", pattern).values())
    return len(paths), [fault for path in paths for fault in _file_faults(spec, path)]


def _file_faults(spec: type[Spec], path: Path) -> Iterator[str]:
    try:
        found = _read(spec, path)
    except EstimatorError as error:
        yield from error.faults
        return
    if isinstance(found, SystemSpec):
        yield from _device_faults(found.device, path)
    for field, value in sourced_values(found):
        lacking = [name for name in ("source", "status") if not getattr(value, name)]
        if lacking and not value.waiver:
            yield f"{path}: {field} has no {' and no '.join(lacking)}; say where it is from and how it is known"


def _device_faults(name: str, path: Path) -> Iterator[str]:
    try:
        find("device", name, DEVICE_FILES)
    except EstimatorError as error:
        yield f"{path}: {error}"


def sourced_values(spec: File) -> Iterator[tuple[str, Sourced]]:
    """Every number of a device or system with the dotted name of its field."""
    yield from _sourced("", spec)


def _sourced(prefix: str, value: object) -> Iterator[tuple[str, Sourced]]:
    if isinstance(value, Sourced):
        yield prefix, value
    elif isinstance(value, File):
        for name in type(value).model_fields:
            yield from _sourced(f"{prefix}.{name}".lstrip("."), getattr(value, name))
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _sourced(f"{prefix}.{name}", item)


def _read(spec: type[Spec], path: Path) -> Spec:
    """One file of the catalogue. Raises EstimatorError with every fault."""
    found = files.check(spec, files.read_yaml(path))
    if found.name != path.stem:
        raise EstimatorError(f"{path}: name is '{found.name}'; expected '{path.stem}', the file's own name")
    return found


def find(what: str, name: str, pattern: str) -> Path:
    """The file of a name, an alias or a path. Raises EstimatorError with near names."""
    if name.endswith((".yaml", ".yml")) or "/" in name:
        return Path(name)
    known = library.names("devices", pattern)
    if name in known:
        return known[name]
    by_alias = _aliases(known)
    if name.lower() in by_alias:
        return known[by_alias[name.lower()]]
    raise library.unknown(what, name, by_alias, f"{what}s", by_alias)


def _aliases(known: dict[str, Path]) -> dict[str, str]:
    """Lower-case name or alias → name, from the files' ``aliases`` lists alone."""
    found: dict[str, str] = {}
    for stem, path in known.items():
        aliases = files.read_yaml(path).data.get("aliases", [])
        names = [stem, *(aliases if isinstance(aliases, list) else [])]
        for alias in names:
            found.setdefault(str(alias).lower(), stem)  # the user's files come first
    return found
