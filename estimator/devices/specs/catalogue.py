"""The catalogue: devices and systems by name, by alias, or by the path of a YAML file; measured tables by device."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from estimator.core import files, library, yaml_files
from estimator.core.errors import EstimatorError, Fault
from estimator.core.types import DeviceSpec, SystemSpec

if TYPE_CHECKING:
    from estimator.devices import lints

Spec = TypeVar("Spec", DeviceSpec, SystemSpec)
DEVICE_FILES, SYSTEM_FILES, MEASURED_FILES = "*.yaml", "systems/*.yaml", "measurements/*.csv"
SPARE: dict[type, dict[str, Any]] = {  # stands in for what a faulty file lacks, and no lint is told of
    DeviceSpec: {"specifications": "incomplete"},
    SystemSpec: {"nodes": 1, "devices_per_node": 1, "device": "unknown"},
}
# the key of the top level, and what hangs below it
ALIASES = re.compile(r"""^["']?aliases["']?\s*:.*(?:\n(?:[\s#\]-].*)?)*""", re.MULTILINE)
IN_BRACES = re.compile(r"""[{,]\s*["']?aliases["']?\s*:""")


def load_device(name: str | Path) -> DeviceSpec:
    """The device of a shipped name, an alias, or a YAML path. Raises EstimatorError with near names."""
    return _read(DeviceSpec, find("device", str(name), DEVICE_FILES))


def source_device(name: str | None) -> DeviceSpec | None:
    """The device a profile names as its own; None where it names none, or one that the catalogue does not hold."""
    if name is None:
        return None
    path = _borne_by(name, library.names("devices", DEVICE_FILES))
    return _read(DeviceSpec, path) if path else None


def load_system(name: str | Path) -> SystemSpec:
    """The system of a shipped name, an alias, or a YAML path. Raises EstimatorError with near names."""
    return _read(SystemSpec, find("system", str(name), SYSTEM_FILES))


def measurements_paths(
    device: str, path: str | Path | None = None, named: str | Path | None = None
) -> tuple[Path, ...]:
    """The measurements given by the caller, else those of a name in the first folder of the library that has any, what
    a framework timed (NAME.FRAMEWORK.csv) before what loops over a library's calls did (NAME.csv); of a YAML file given
    by path the CSV beside it, and the library's only where the file is the library's own. Nothing where there are none.
    """
    if path:
        return (Path(path),)
    if named and _is_path(str(named)):
        beside, shipped = Path(named).with_suffix(".csv"), library.names("devices", DEVICE_FILES).get(device)
        if beside.is_file():
            return (beside,)
        if shipped is None or shipped.resolve() != Path(named).resolve():
            return ()
    devices = library.names("devices", DEVICE_FILES).keys() - {device}
    for folder in library.folders("devices"):
        tables = {place.stem: place for place in sorted(folder.glob(MEASURED_FILES))}
        of_frameworks = [name for name in tables if name.startswith(f"{device}.") and name not in devices]
        if found := [tables[name] for name in (*of_frameworks, device) if name in tables]:
            return tuple(found)
    return ()


def all_devices() -> list[DeviceSpec]:
    """Every device of the library, by name."""
    return [_read(DeviceSpec, path) for path in library.names("devices", DEVICE_FILES).values()]


def all_systems() -> list[SystemSpec]:
    """Every system of the library, by name."""
    return [_read(SystemSpec, path) for path in library.names("devices", SYSTEM_FILES).values()]


def check(spec: type[Spec], name: str | None = None) -> tuple[int, list[Fault]]:
    """How many files were checked, and every fault of each: one named file, or all of the library.

    A fault reads ``file:line: sentence``; its rule is a lint's name, or says how the file itself is wrong.
    """
    what, pattern = ("device", DEVICE_FILES) if spec is DeviceSpec else ("system", SYSTEM_FILES)
    known = library.names("devices", pattern)
    paths = [find(what, name, pattern)] if name else list(known.values())
    others = cache(partial(rest, spec))
    return len(paths), [fault for path in paths for fault in _file_faults(spec, path, others(path.parent))]


def target_warnings(name: str | Path, device: DeviceSpec) -> tuple[str, ...]:
    """What speaks against a target, the device of that name: that it is a module of several; and what the check says
    of a file of one's own, other than that a source is missing.
    """
    found = check(DeviceSpec, str(name))[1] if _is_path(str(name)) else []
    return (*(fault for fault in found if fault.rule != "missing-source"), *_parts(device.name))


def _parts(module: str) -> Iterator[str]:
    """A sentence on the devices of the library that a module is made of."""
    for path in library.names("devices", DEVICE_FILES).values():
        with suppress(EstimatorError):  # its own check tells
            text = files.read_text(path)
            device = _read(DeviceSpec, path) if "part_of:" in text and module in text else None  # few are parsed
            if device and device.part_of and device.part_of.device == module:
                parts = f"{module} is a module of {device.part_of.parts} {device.name}"
                yield f"{parts}, each of which a program sees as a device; name that one, unless yours uses all as one"


def rest(spec: type[Spec], folder: Path | None = None) -> lints.Rest:
    """What the lints of devices or of systems may ask of the whole library; of names, only those in one folder, as a
    file of the user's may take the name of a shipped one.
    """
    from estimator.devices import lints

    known = library.names("devices", DEVICE_FILES if spec is DeviceSpec else SYSTEM_FILES)
    bearers = _bearers({stem: path for stem, path in known.items() if folder in (None, path.parent)})
    return lints.Rest(cache(load_device), lambda name: bearers.get(name.lower(), []), cache(_readable_devices))


def _readable_devices() -> list[DeviceSpec]:
    found = []
    for path in library.names("devices", DEVICE_FILES).values():
        with suppress(EstimatorError):  # its own check tells
            found.append(_read(DeviceSpec, path))
    return found


def _file_faults(spec: type[Spec], path: Path, others: lints.Rest) -> Iterator[Fault]:
    try:
        document = yaml_files.read_yaml(path)
    except EstimatorError as error:
        yield from (Fault(fault, "yaml") for fault in error.faults)
    else:
        yield from faults(spec, document, others)


def faults(spec: type[Spec], document: yaml_files.Document, others: lints.Rest) -> Iterator[Fault]:
    """Every fault of one file: of its form, and what the lints say of all that is valid, with lines."""
    from estimator.devices import lints

    untold: set[str] = set()
    try:
        found: Spec | None = _validated(spec, document)
    except EstimatorError as error:
        yield from (fault if isinstance(fault, Fault) else Fault(fault, "file") for fault in error.faults)
        found, spare = yaml_files.remainder(spec, document, SPARE[spec] | {"name": document.path.stem})
        found, untold = found and _beside(found, document.path.parent), spare | {lints.STALE}
    if found is not None:
        yield from _lint(found, document, others, untold)


def _lint(
    found: DeviceSpec | SystemSpec, document: yaml_files.Document, others: lints.Rest, untold: set[str]
) -> Iterator[Fault]:
    """What the lints say, other than of some fields and lints."""
    from estimator.devices import lints

    for lint, finding in lints.findings(found, others):
        if not untold & {lint, *finding.fields}:
            yield Fault(f"{document.where(tuple(finding.fields[0].split('.')))}: {finding.sentence}", lint)


def _read(spec: type[Spec], path: Path) -> Spec:
    """One file of the catalogue. Raises EstimatorError with every fault."""
    return _validated(spec, yaml_files.read_yaml(path))


def _validated(spec: type[Spec], document: yaml_files.Document) -> Spec:
    found, path = yaml_files.check(spec, document), document.path
    if found.name != path.stem:
        sentence = f"{document.where(('name',))}: name is '{found.name}'; expected '{path.stem}', the file's own name"
        raise EstimatorError(Fault(sentence, "file-name"))
    return _beside(found, path.parent)


def _beside(spec: Spec, folder: Path) -> Spec:
    """A system whose device is named by a path means one beside its own file."""
    if isinstance(spec, DeviceSpec) or not _is_path(spec.device, folder):
        return spec
    return spec.model_copy(update={"device": str(folder / spec.device)})


def _is_path(name: str, folder: Path = Path()) -> bool:
    """Whether a name means a file; those of some devices hold a slash."""
    return name.endswith((".yaml", ".yml")) or ("/" in name and os.path.isfile(folder / name))


def find(what: str, name: str, pattern: str) -> Path:
    """The file of a name, an alias or a path. Raises EstimatorError with near names."""
    if _is_path(name):
        return Path(name)
    known = library.names("devices", pattern)
    found = _borne_by(name, known)
    if found:
        return found
    for path in known.values():
        _aliases_in(path)  # raises where a file cannot be read: it may be the one that bears the name
    by_alias = _aliases(known)
    raise library.unknown(what, name, by_alias, f"{what}s", by_alias)


def _borne_by(name: str, known: dict[str, Path]) -> Path | None:
    """The first file of a name or alias; None where none bears it. Aliases are read only where no file has the name."""
    if name in known:
        return known[name]
    for stem, path in known.items():
        with suppress(EstimatorError):  # a broken file must not hide the others; its own check tells
            if name.lower() in (stem.lower(), *map(str.lower, _aliases_in(path))):
                return path
    return None


def _aliases(known: dict[str, Path]) -> dict[str, str]:
    """Lower-case name or alias → name; of several that bear it, the user's files come first."""
    return {alias: stems[0] for alias, stems in _bearers(known).items()}


def _bearers(known: dict[str, Path]) -> dict[str, list[str]]:
    """Lower-case name or alias → the stems of the files that bear it."""
    found: dict[str, list[str]] = {}
    for stem, path in known.items():
        names = [stem]
        with suppress(EstimatorError):  # a broken file must not hide the others; its own check tells
            names += _aliases_in(path)
        for name in dict.fromkeys(map(str.lower, names)):
            found.setdefault(name, []).append(stem)
    return found


def _aliases_in(path: Path) -> list[str]:
    """The aliases in a file, without parsing the rest of it, which would make every look-up slow."""
    text = files.read_text(path)
    block = ALIASES.search(text) if "aliases" in text else None
    if not (block or ("aliases" in text and IN_BRACES.search(text))):
        return []
    data: dict[str, Any] | None = None
    if block:
        with suppress(yaml.YAMLError):
            data = yaml.load(block.group(), Loader=yaml_files.LOADER)
    aliases = (yaml_files.read_yaml(path).data if data is None else data).get("aliases")
    return [str(alias) for alias in aliases] if isinstance(aliases, list) else []
