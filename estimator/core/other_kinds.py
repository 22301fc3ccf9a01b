"""Names that are given for another kind of entry than they are: a system as a device, a device as a profile."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from estimator.core import library, yaml_files
from estimator.core.aliases import file_of_name
from estimator.core.errors import EstimatorError

USES = {  # kind of entry → its place in the library, and how people name one
    "device": (("devices", "*.yaml"), "a device is a target or a source, or in a study 'device: {name}'"),
    "system": (
        ("devices", "systems/*.yaml"),
        "a system is named by 'estimator scale --system {name}', in a study by 'system: {name}'",
    ),
    "profile": (("profiles", "*"), "a profile stands first, as in 'estimator estimate {name} --to DEVICE'"),
    "study": (("reports", "*"), "a study is named by 'estimator fom {name}' or 'estimator report {name}'"),
}
MOST_NAMED = 4  # systems of a device


def of_other_kind(wanted: str, name: str) -> str:
    """A sentence on a name that is an entry of another kind than the wanted one; empty where it is none."""
    for kind, (place, use) in USES.items():
        path = file_of_name(name, library.names(*place)) if kind != wanted else None
        if path:
            return f"'{name}' is a {kind}, not a {wanted}{_related(wanted, kind, path)}; {use.format(name=name)}"
    return ""


def _related(wanted: str, kind: str, path: Path) -> str:
    """In words the device of a system, or systems of a device."""
    if (wanted, kind) == ("device", "system"):
        return f": its devices are {device}" if (device := _device_of(path)) else ""
    if (wanted, kind) == ("system", "device"):
        systems = library.names(*USES["system"][0])
        names = [name for name, system in systems.items() if _device_of(system) == path.stem]
        return f": it is in {', '.join(names[:MOST_NAMED])}" if names else ""
    return ""


def _device_of(system: Path) -> str:
    """The device that a system's file names; empty where it cannot be read."""
    with suppress(EstimatorError):
        return str(yaml_files.read_yaml(system).data.get("device") or "")
    return ""
