"""Every mutation of a field of a valid file, the faults that it must cause, and the mutations that no check sees."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from estimator.core.types import DeviceSpec, SystemSpec
from estimator.devices import lints
from estimator.devices.lints.peaks import computed

Path = tuple[str | int, ...]
Data = dict[str, Any]

QUANTITY = re.compile(r"^([\d.]+) (%|[KMGTPEkm]?i?(?:B/s|B|FLOP/s|OP/s|Hz|W|s))$")
PLAIN_NUMBERS = ("year", "pcie_generation", "parts", "flop_per_clock", "value")
OTHER_KIND = {"B": "GHz", "B/s": "GB", "FLOP/s": "GB/s", "OP/s": "W", "Hz": "ms", "W": "MHz", "s": "W", "%": "GB"}
CHOICES = ("status", "confidence", "accumulate", "specifications", "path")

FORM = {"unknown-key", "missing-key", "wrong-value", "wrong-unit"}
WORDS = {"missing-source", "duplicate-alias", "unknown-device", "file-name"}
NUMBERS = lints.help_by_lint().keys() - WORDS


def places(data: object, at: Path = ()) -> Iterator[tuple[Path, object]]:
    """Every key and list entry of a file with its value, mappings and lists themselves included."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*at, key), value
        yield from places(value, (*at, key))


def parent(data: Data, at: Path) -> Any:
    for key in at[:-1]:
        data = data[key]  # type: ignore[index]
    return data


def put(data: Data, at: Path, value: object) -> Data:
    """A copy with another value in one place."""
    out = copy.deepcopy(data)
    parent(out, at)[at[-1]] = value
    return out


def deleted(data: Data, at: Path, value: object = None) -> Data:
    out = copy.deepcopy(data)
    del parent(out, at)[at[-1]]
    return out


def renamed(data: Data, at: Path, value: object) -> Data | None:
    if isinstance(at[-1], int):
        return None
    out = copy.deepcopy(data)
    inside = parent(out, at)
    inside[f"{at[-1]}x"] = inside.pop(at[-1])
    return out


def number(at: Path, value: object) -> tuple[float, str] | None:
    """Split a quantity or plain number; None for notes, which may hold any text."""
    if {"note", "source", "notes", "aliases"} & set(at):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (value, "") if at[-1] in PLAIN_NUMBERS or len(at) == 1 else None
    match = QUANTITY.match(value) if isinstance(value, str) else None
    return (float(match[1]), match[2]) if match else None


def scaled(factor: float) -> Callable[[Data, Path, object], Data | None]:
    def mutate(data: Data, at: Path, value: object) -> Data | None:
        actual = number(at, value)
        if not actual:
            return None
        out = actual[0] * factor
        plain = int(out) if out == int(out) else out
        return put(data, at, f"{out:.12f} {actual[1]}".strip() if actual[1] else plain)

    return mutate


def without_unit(data: Data, at: Path, value: object) -> Data | None:
    actual = number(at, value)
    return put(data, at, str(actual[0])) if actual and actual[1] not in ("", "%") else None


def other_unit(data: Data, at: Path, value: object) -> Data | None:
    actual = number(at, value)
    if not actual:
        return None
    kind = next((kind for kind in ("B/s", "FLOP/s", "OP/s", "Hz", "B", "W", "s", "%") if actual[1].endswith(kind)), "%")
    return put(data, at, f"{actual[0]} {OTHER_KIND[kind]}")


def as_list(data: Data, at: Path, value: object) -> Data | None:
    return None if isinstance(value, dict | list) else put(data, at, [value])


def as_text(data: Data, at: Path, value: object) -> Data | None:
    return put(data, at, "other text") if isinstance(value, dict | list) else None


def other_text(data: Data, at: Path, value: object) -> Data | None:
    return put(data, at, "other text") if isinstance(value, str) and not number(at, value) else None


def misspelt(data: Data, at: Path, value: object) -> Data | None:
    return put(data, at, f"{value}x") if at[-1] in CHOICES or value == "unsupported" else None


def nothing(data: Data, at: Path, value: object) -> Data | None:
    return put(data, at, None)


class Mutation(NamedTuple):
    """How one place changes (None where it does not apply), and the rules of which one must be broken then."""

    change: Callable[[Data, Path, object], Data | None]
    rules: set[str]


MUTATIONS = {
    "deleted": Mutation(deleted, FORM | NUMBERS | {"missing-source"}),
    "renamed": Mutation(renamed, FORM),
    "without unit": Mutation(without_unit, {"wrong-unit"}),
    "other unit": Mutation(other_unit, {"wrong-unit", "wrong-value"}),
    "x 1000": Mutation(scaled(1e3), NUMBERS | {"wrong-value"}),
    "/ 1000": Mutation(scaled(1e-3), NUMBERS | {"wrong-value"}),
    "x 2": Mutation(scaled(2), NUMBERS),
    "/ 2": Mutation(scaled(0.5), NUMBERS | {"wrong-value"}),
    "negative": Mutation(scaled(-1), {"wrong-value", "plausible", "memory-type"}),
    "zero": Mutation(scaled(0), {"wrong-value", "plausible", "memory-type"}),
    "list for text": Mutation(as_list, {"wrong-value"}),
    "text for list": Mutation(as_text, {"wrong-value"}),
    "other text": Mutation(other_text, {"wrong-value", "memory-type", "unknown-device", "file-name"}),
    "misspelt": Mutation(misspelt, {"wrong-value"}),
    "null": Mutation(nothing, FORM | NUMBERS | {"missing-source"}),
}


class Free(NamedTuple):
    """Changes that no check can see, and why; ``unless`` says where it must be seen after all."""

    mutations: tuple[str, ...]
    fields: str
    why: str
    unless: Callable[[DeviceSpec | SystemSpec, str], bool] = lambda spec, field: False


def constrained(spec: DeviceSpec | SystemSpec, field: str) -> bool:
    """Whether a peak, a unit count or a factor of a peak is tied to others by units × FLOP/clock × clock."""
    if isinstance(spec, SystemSpec):
        return False
    name = field.split(".")
    rates = [r for p, peak in spec.peak.items() for r in (peak.vector, peak.tensor) if r and p in (*name[1:2], name[0])]
    if field.startswith("compute_units"):
        rates = [r for peak in spec.peak.values() for r in (peak.vector, peak.tensor) if r]
    return any(computed(spec, rate) is not None and not rate.waiver for rate in rates)


def complete(spec: DeviceSpec | SystemSpec, field: str) -> bool:
    """Whether a device says to be a possible target."""
    return isinstance(spec, DeviceSpec) and spec.specifications == "known"


TWO = ("x 2", "/ 2")
ABSENT = ("deleted", "null")
TEXTS = r"vendor|architecture|site|host|interconnect|topology|node_name|compute_unit|link\.name|notes\.\d+|aliases\.\d+"
ABSENCE = "what is absent is unknown, and a file may know little"
NOTHING_ELSE = "a factor of two in a number that nothing else constrains"
FREE = (
    Free(("other text",), rf"{TEXTS}|.*\.?(source|note|waiver)", "free text"),
    Free(ABSENT, rf"{TEXTS}|.*\.(note|confidence|accumulate|uncertainty|path)|notes|aliases|link", ABSENCE),
    Free(ABSENT, r"source|.*\.status", "marked in every table; test_library.py wants it of shipped files"),
    Free(ABSENT, r".*\.(clock|flop_per_clock)|compute_units|\w+_clock|link\.\w+|last_level_cache", ABSENCE),
    Free(ABSENT, r"year|memory_type|memory_capacity|power\w*|part_of|\w+_latency|pcie_\w+", ABSENCE),
    Free(ABSENT, r"announced|linked_devices|injection_bandwidth|rpeak|rmax|peak\.\w+(\.\w+)?", ABSENCE),
    Free(ABSENT, r"memory_bandwidth|peak", "a file may say that its specifications are incomplete", complete),
    Free(TWO, r"(memory_\w+|last_level_cache|power|power_limit|launch_latency|base_clock)\.value", NOTHING_ELSE),
    Free(TWO, r"(nodes|devices_per_node|linked_devices|injection_bandwidth|rpeak|rmax)\.value", NOTHING_ELSE),
    Free(TWO, r".*\.uncertainty|pcie_\w+|link\.\w+_neighbour\.value", NOTHING_ELSE),
    Free(TWO, r"link\.(per_direction|total)\.value", NOTHING_ELSE, lambda spec, _: both_directions(spec)),
    Free(TWO, r"(peak|compute_units)\..*", NOTHING_ELSE, constrained),
    Free(("x 2",), r"boost_clock\.value", "a chip may boost above the clock at which its peaks hold"),
)  # fmt: skip


def both_directions(spec: DeviceSpec | SystemSpec) -> bool:
    return isinstance(spec, DeviceSpec) and bool(spec.link and spec.link.per_direction and spec.link.total)


def free(mutation: str, at: Path, spec: DeviceSpec | SystemSpec) -> bool:
    """Whether a change is in the list of those that no check can see."""
    field = ".".join(map(str, at))
    return any(
        mutation in row.mutations and re.fullmatch(row.fields, field) and not row.unless(spec, field) for row in FREE
    )


def with_key_twice(data: object, twice: Path) -> str:
    """The file as text (JSON is YAML) in which one key stands twice."""
    if not isinstance(data, Mapping):
        return json.dumps(data) if not isinstance(data, list) else f"[{', '.join(map(json.dumps, data))}]"
    lines = []
    for key, value in data.items():
        line = f"{json.dumps(key)}: {with_key_twice(value, twice[1:] if twice[:1] == (key,) else ())}"
        lines += [line, line] if twice == (key,) else [line]
    return "{" + ",\n".join(lines) + "}"
