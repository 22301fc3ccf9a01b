"""Files that people write, read so that every fault names its line; files we write, whole or not at all."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from estimator.core.errors import EstimatorError, Fault, suggestion
from estimator.core.units import UnitError

if TYPE_CHECKING:
    import pandas as pd

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[str | int, ...]
EXPECTED = {  # pydantic's fault types in the words of the file
    "model_type": "keys with values, such as 'nodes: 18688'",
    "model_attributes_type": "keys with values, such as 'nodes: 18688'",
    "dict_type": "keys with values",
    "tuple_type": "a list, such as [a, b]",
    "string_type": "text",
    "too_short": "more entries",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "float_parsing": "a number",
    "float_type": "a number",
}
MOST_VALUES = 100_000  # a file of aliases of aliases is stopped here


@dataclass(frozen=True)
class Document:
    """The content of one YAML file and the line on which each value stands."""

    path: Path
    data: dict[str, Any]
    lines: dict[Location, int]

    def where(self, location: Location) -> str:
        """``file:line`` of the nearest known place at or above ``location``."""
        while location and location not in self.lines:
            location = location[:-1]
        return f"{self.path}:{self.lines.get(location, 1)}"


def read_yaml(path: Path) -> Document:
    """Read one YAML mapping with plain keys, refusing duplicate keys. Raises EstimatorError."""
    text = read_text(path)
    try:
        root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
        problem = getattr(error, "problem", None) or "unreadable characters"
        raise EstimatorError(f"{path}:{line}: this is not YAML ({problem}); mend the line") from None
    if not isinstance(root, yaml.MappingNode):
        raise EstimatorError(f"{path}: expected 'key: value' lines, found none; see 'estimator init'")
    lines: dict[Location, int] = {}
    duplicates: list[str] = []
    try:
        data = _construct(root, (), lines, duplicates, path)
    except (yaml.YAMLError, ValueError, AttributeError, TypeError) as error:
        raise EstimatorError(f"{path}: a value cannot be read ({error}); write it as plain text") from None
    except RecursionError:
        raise EstimatorError(f"{path}: a value contains itself or is nested too deeply; flatten it") from None
    if duplicates:
        raise EstimatorError(*duplicates)
    return Document(path, data, lines)


def _construct(node: yaml.Node, at: Location, lines: dict[Location, int], faults: list[str], path: Path) -> Any:
    lines.setdefault(at, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        return [_construct(item, (*at, i), lines, faults, path) for i, item in enumerate(node.value)]
    if len(lines) > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES} values")
    if not isinstance(node, yaml.MappingNode):
        return yaml.constructor.SafeConstructor().construct_object(node)
    out: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = str(key_node.value)
        line = key_node.start_mark.line + 1
        if key in out:
            first = lines[(*at, key)]
            sentence = f"{path}:{line}: the key '{key}' stands twice (first on line {first}); delete one"
            faults.append(Fault(sentence, "duplicate-key"))
            continue
        lines[(*at, key)] = line
        out[key] = _construct(value_node, (*at, key), lines, faults, path)
    return out


def check(model: type[Model], document: Document) -> Model:
    """Validate a document against a pydantic model; all faults come together, each with its line."""
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        raise EstimatorError(*_faults(model, document, error)) from None


def _faults(model: type[BaseModel], document: Document, error: ValidationError) -> Iterator[Fault]:
    for fault in error.errors():
        location = tuple(part for part in fault["loc"])
        field = ".".join(str(part) for part in location).removesuffix(".[key]")
        where = document.where(location)
        match fault["type"]:
            case "extra_forbidden":
                known = _known_keys(model, location[:-1])
                hint = suggestion(str(location[-1]), known) or f" Known keys: {', '.join(sorted(known))}."
                yield Fault(f"{where}: '{field}' is not a key that is known here.{hint}", "unknown-key")
            case "missing":
                yield Fault(f"{where}: '{field}' is missing; add it", "missing-key")
            case "value_error":
                problem = fault["ctx"]["error"]
                rule = "wrong-unit" if isinstance(problem, UnitError) else "wrong-value"
                yield Fault(f"{where}: {field} {problem}" if field else f"{where}: {problem}", rule)
            case kind if kind in EXPECTED:
                found = _short(fault["input"])
                yield Fault(f"{where}: {field} is {found}; expected {EXPECTED[kind]}", "wrong-value")
            case _:
                problem = f"{fault['msg'][0].lower()}{fault['msg'][1:]}"
                yield Fault(f"{where}: {field} is {_short(fault['input'])}; {problem}", "wrong-value")


def _short(found: object) -> str:
    text = repr(found)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _known_keys(model: type[BaseModel], location: Location) -> set[str]:
    """The keys that a model allows at a location, as far as its schema tells."""
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})

    def keys(node: dict[str, Any], rest: Location) -> set[str]:
        if "$ref" in node:
            node = definitions[node["$ref"].rsplit("/", 1)[1]]
        found = {key for option in node.get("anyOf", []) for key in keys(option, rest)}
        if not rest:
            return found | set(node.get("properties", {}))
        inner = node.get("properties", {}).get(rest[0]) or node.get("additionalProperties") or node.get("items")
        return found | (keys(inner, rest[1:]) if isinstance(inner, dict) else set())

    return keys(schema, location)


def read_csv(path: Path, text: str | None = None) -> pd.DataFrame:
    """The cells of a CSV (or its ``text``) as text, missing ones NA. Raises EstimatorError at a row of wrong length."""
    import pandas as pd

    try:
        lines = list(csv.reader(io.StringIO(read_text(path) if text is None else text)))
    except csv.Error as error:
        raise EstimatorError(f"{path}: this is no CSV ({error}); check what this file is") from None
    header = [name.strip() for name in lines[0]] if lines else []
    if not any(header):
        raise EstimatorError(f"{path}: the file is empty; expected a line of column names")
    other = next((mark for mark in ";\t|" if len(header) == 1 and mark in header[0]), None)
    if other:
        raise EstimatorError(
            f"{path}:1: the columns are separated by {other!r}; expected commas, so save it as CSV again"
        )
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise EstimatorError(f"{path}:1: the column '{min(twice)}' stands twice; delete one")
    body = [(number, line) for number, line in enumerate(lines[1:], start=2) if any(line)]
    for number, line in body:
        if len(line) != len(header):
            raise EstimatorError(f"{path}:{number}: found {len(line)} cells, expected {len(header)}; mend the row")
    frame = pd.DataFrame([line for _, line in body], columns=header, dtype="string[python]")
    return frame.apply(lambda cells: cells.str.strip()).replace("", pd.NA)


def read_text(path: Path) -> str:
    """The text of a file. Raises EstimatorError where it is missing, a folder, or no text."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise EstimatorError(f"{path}: there is no such file; check the path") from None
    except IsADirectoryError:
        raise EstimatorError(f"{path}: this is a folder; name the file in it") from None
    except UnicodeDecodeError:
        raise EstimatorError(f"{path}: expected text, found other bytes; check what this file is") from None
    except OSError as error:
        raise EstimatorError(f"{path}: cannot be read ({error.strerror}); check the path") from None


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all: to a temporary file beside it, then renamed."""
    temporary, path = None, path.resolve()  # a link stays a link
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_text(text, encoding="utf-8")  # a pipe or a device is written to, never replaced
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8", newline="") as file:
            temporary = Path(file.name)
            file.write(text)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise EstimatorError(f"{path}: cannot be written ({error.strerror}); choose another place") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sha256(*paths: Path) -> str:
    """Hex digest of the bytes of one or several files, in the order given."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                digest.update(part)
    return digest.hexdigest()
