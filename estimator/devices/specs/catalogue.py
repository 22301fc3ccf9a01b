"""The catalogue: devices and systems by name, by alias, or by the path of a YAML file; measured tables by device."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from estimator.core import aliases, files, library, yaml_files
from estimator.core.errors import EstimatorError, Fault
from estimator.core.recall import Recall
from estimator.core.types import DeviceSpec, SystemSpec
from estimator.devices.specs import announced

if TYPE_CHECKING:
    from estimator.devices import lints

Spec = TypeVar("Spec", DeviceSpec, SystemSpec)
DEVICE_FILES, SYSTEM_FILES, MEASURED_FILES = "*.yaml", "systems/*.yaml", "measurements/*.csv"
STAND_INS: dict[type, dict[str, Any]] = {  # values for what a faulty file lacks; lints ignore them
    DeviceSpec: {"specifications": "incomplete"},
    SystemSpec: {"nodes": 1, "devices_per_node": 1, "device": "unknown"},
}
OF_FILES = ("duplicate-alias", "missing-source")  # lints that a device which no file gives need not pass

_SPECS = Recall(most=1024)


def load_device(name: str | Path) -> DeviceSpec:
    """The device of a shipped name, an alias, or a YAML path. Raises EstimatorError with near names."""
    kept = _read(DeviceSpec, find("device", files.place("device", name), DEVICE_FILES))
    return kept.model_copy(update={"peak": dict(kept.peak)})  # its one part that a caller can change


def source_device(name: str | None) -> DeviceSpec | None:
    """The device that a profile names; None where it names none or an unknown one."""
    if name is None:
        return None
    path = aliases.file_of_name(name, library.names("devices", DEVICE_FILES))
    return _read(DeviceSpec, path) if path else None


def load_system(name: str | Path) -> SystemSpec:
    """The system of a shipped name, an alias, or a YAML path. Raises EstimatorError with near names."""
    return _read(SystemSpec, find("system", files.place("system", name), SYSTEM_FILES))


def measurements_paths(
    device: str, path: str | Path | None = None, named: str | Path | None = None
) -> tuple[Path, ...]:
    """The files of measurements of a device; empty where there are none.

    The caller's ``path`` comes first. For a YAML file given by path it is the CSV beside it, and the library's tables
    only where the file is the library's own. For a name it is the first folder of the library that has any: tables of
    frameworks (NAME.FRAMEWORK.csv) before those of loops over a library's calls (NAME.csv).
    """
    if path:
        return (Path(path),)
    if named and _is_path(str(named)):
        own_table, shipped = Path(named).with_suffix(".csv"), library.names("devices", DEVICE_FILES).get(device)
        if own_table.is_file():
            return (own_table,)
        if shipped is None or shipped.resolve() != Path(named).resolve():
            return ()
    devices = library.names("devices", DEVICE_FILES).keys() - {device}
    for folder in library.folders("devices"):
        tables = {table.stem: table for table in sorted(folder.glob(MEASURED_FILES))}
        framework_tables = [name for name in tables if name.startswith(f"{device}.") and name not in devices]
        if paths := [tables[name] for name in (*framework_tables, device) if name in tables]:
            return tuple(paths)
    return ()


def measured_siblings(device: DeviceSpec) -> Iterator[DeviceSpec]:
    """Yield other devices of the library of the same architecture that have tables of measurements, by name."""
    if not device.architecture:
        return
    paths = library.names("devices", DEVICE_FILES)
    stems = [table.stem for folder in library.folders("devices") for table in folder.glob(MEASURED_FILES)]
    measured = {name for stem in stems for name in (stem, stem.rpartition(".")[0])} & paths.keys()
    for name in sorted(measured - {device.name}):
        with suppress(EstimatorError, OSError):  # reported by its own check
            other = _read(DeviceSpec, paths[name])
            if other.family.casefold() == device.family.casefold():
                yield other


def all_devices() -> list[DeviceSpec]:
    """Every device of the library, by name."""
    return [_read(DeviceSpec, path) for path in library.names("devices", DEVICE_FILES).values()]


def all_systems() -> list[SystemSpec]:
    """Every system of the library, by name."""
    return [_read(SystemSpec, path) for path in library.names("devices", SYSTEM_FILES).values()]


def check(spec: type[Spec], name: str | None = None) -> tuple[int, list[Fault]]:
    """How many files were checked, and every fault of each: one named file, or all of the library.

    A fault reads ``file:line: sentence``; its rule is a lint's name, or the kind of error in the file.
    """
    kind, pattern = ("device", DEVICE_FILES) if spec is DeviceSpec else ("system", SYSTEM_FILES)
    known = library.names("devices", pattern)
    paths = [find(kind, name, pattern)] if name else list(known.values())
    lint_catalogue = cache(partial(catalogue_for_lints, spec))
    return len(paths), [fault for path in paths for fault in _file_faults(spec, path, lint_catalogue(path.parent))]


def target_warnings(named: str | Path | DeviceSpec, device: DeviceSpec) -> tuple[str, ...]:
    """Warnings about a target: the faults of a user's own, except missing sources; and that it is a whole module.

    ``named``: its name or path, or the device itself where no file gives it.
    """
    return (*(fault for fault in _own_faults(named) if fault.rule != "missing-source"), *_part_warnings(device.name))


def system_warnings(system: SystemSpec) -> tuple[str, ...]:
    """Warnings about a machine: what its lints find, except missing sources."""
    return tuple(_faults_without_file(system))


def _own_faults(named: str | Path | DeviceSpec) -> list[Fault]:
    """What is wrong with a user's own device; nothing of the library's, which its own check judges."""
    if isinstance(named, DeviceSpec):
        return _faults_without_file(named)
    return check(DeviceSpec, str(named))[1] if _is_path(str(named)) else []


def _faults_without_file(spec: Spec) -> list[Fault]:
    """What lints find in a device or system, but for what concerns its file."""
    from estimator.devices import lints

    findings = lints.findings(spec, catalogue_for_lints(type(spec)))
    return [Fault(f"{spec.name}: {finding.sentence}", lint) for lint, finding in findings if lint not in OF_FILES]


def _part_warnings(module: str) -> Iterator[str]:
    """Warn where a device of the library is a part of this module."""
    for path in library.names("devices", DEVICE_FILES).values():
        with suppress(EstimatorError, OSError):  # reported by its own check
            content = path.read_bytes()
            named = b"part_of:" in content and module.encode(errors="surrogatepass") in content  # few are parsed
            device = _read(DeviceSpec, path) if named else None
            if device and device.part_of and device.part_of.device == module:
                parts = f"{module} is a module of {device.part_of.parts} {device.name}"
                yield f"{parts}; programs see each part as a device: name the part, unless yours uses the module as one"


def catalogue_for_lints(spec: type[Spec], folder: Path | None = None) -> lints.Catalogue:
    """The catalogue that lints of devices or systems may ask.

    Names are those of one folder, as a user's file may take the name of a shipped one.
    """
    from estimator.devices import lints

    known = library.names("devices", DEVICE_FILES if spec is DeviceSpec else SYSTEM_FILES)
    files_by_name = aliases.stems_by_name({stem: path for stem, path in known.items() if folder in (None, path.parent)})
    return lints.Catalogue(
        cache(load_device), lambda name: files_by_name.get(name.lower(), []), cache(_readable_devices)
    )


def _readable_devices() -> list[DeviceSpec]:
    devices = []
    for path in library.names("devices", DEVICE_FILES).values():
        with suppress(EstimatorError):  # reported by its own check
            devices.append(_read(DeviceSpec, path))
    return devices


def _file_faults(spec: type[Spec], path: Path, lint_catalogue: lints.Catalogue) -> Iterator[Fault]:
    try:
        document = yaml_files.read_yaml(path)
    except EstimatorError as error:
        yield from (Fault(fault, "yaml") for fault in error.faults)
    else:
        yield from faults(spec, document, lint_catalogue)


def faults(spec: type[Spec], document: yaml_files.Document, lint_catalogue: lints.Catalogue) -> Iterator[Fault]:
    """Every fault of one file, with lines: of its form, and of the lints on its valid part."""
    from estimator.devices import lints

    ignored: set[str] = set()
    try:
        valid_spec: Spec | None = _validated(spec, document)
    except EstimatorError as error:
        yield from (fault if isinstance(fault, Fault) else Fault(fault, "file") for fault in error.faults)
        valid_spec, stand_ins = yaml_files.remainder(spec, document, STAND_INS[spec] | {"name": document.path.stem})
        ignored = stand_ins | {lints.STALE}
    if valid_spec is not None:
        yield from _lint_faults(_resolve_device(valid_spec, document.path.parent), document, lint_catalogue, ignored)


def _lint_faults(
    spec: DeviceSpec | SystemSpec, document: yaml_files.Document, lint_catalogue: lints.Catalogue, ignored: set[str]
) -> Iterator[Fault]:
    """The faults that the lints find, except of ignored fields and lints."""
    from estimator.devices import lints

    for lint, finding in lints.findings(spec, lint_catalogue):
        if not ignored & {lint, *finding.fields}:
            yield Fault(f"{document.where(tuple(finding.fields[0].split('.')))}: {finding.sentence}", lint)


def _read(spec: type[Spec], path: Path) -> Spec:
    """One file of the catalogue, parsed once as long as it stays the same. Raises EstimatorError with every fault."""
    content = files.sha256_of_plain(path)
    digest = content and f"{spec.__name__} {path} {content}"
    return _resolve_device(_SPECS(digest, lambda: _validated(spec, yaml_files.read_yaml(path))), path.parent)


def _validated(spec: type[Spec], document: yaml_files.Document) -> Spec:
    valid_spec, path = yaml_files.check(spec, document), document.path
    if valid_spec.name != path.stem:
        sentence = (
            f"{document.where(('name',))}: name is '{valid_spec.name}'; expected '{path.stem}', the file's own name"
        )
        raise EstimatorError(Fault(sentence, "file-name"))
    return announced.with_uncertainty(valid_spec) if valid_spec.announced else valid_spec


def _resolve_device(spec: Spec, folder: Path) -> Spec:
    """Resolve a system's device: a path from the system's own file, or a file of its folder, named without .yaml."""
    if isinstance(spec, DeviceSpec):
        return spec
    path = folder / spec.device if _is_path(spec.device, folder) else file_of_folder(folder, spec.device)
    return spec.model_copy(update={"device": str(path)}) if path else spec


def file_of_folder(folder: Path, name: str) -> Path | None:
    """The YAML file of this name in a folder, where the library has no device or system of the name."""
    path = folder / f"{name}.yaml"
    if not os.path.isfile(path):
        return None
    shipped = (library.names("devices", pattern) for pattern in (DEVICE_FILES, SYSTEM_FILES))
    return None if any(aliases.file_of_name(name, known) for known in shipped) else path


def _is_path(name: str, folder: Path = Path()) -> bool:
    """Whether a name is a path; some device names contain a slash."""
    return name.endswith((".yaml", ".yml")) or ("/" in name and os.path.isfile(folder / name))


def find(kind: str, name: str, pattern: str) -> Path:
    """The file of a name, an alias or a path. Raises EstimatorError with near names."""
    if _is_path(name):
        return Path(name)
    known = library.names("devices", pattern)
    path = aliases.file_of_name(name, known)
    if path:
        return path
    for other in known.values():
        aliases.aliases_in(other)  # raises for an unreadable file, which may have the name
    by_alias = aliases.names_by_alias(known)
    raise library.unknown(kind, name, by_alias, f"{kind}s", by_alias)
