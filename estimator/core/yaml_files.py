"""YAML files that people write, read so that every fault names its line."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from estimator.core.errors import EstimatorError, Fault, suggestion
from estimator.core.files import read_text
from estimator.core.units import UnitError

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[str | int, ...]
Faults = Iterator[tuple[Location, str]]  # location and sentence of each fault
EXPECTED = {  # pydantic's fault types → the expected value in words
    "dict_type": "keys with values",
    "tuple_type": "a list, such as [a, b]",
    "string_type": "text",
    "too_short": "more entries",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "float_parsing": "a number",
    "float_type": "a number",
}
THOUSANDS = re.compile(r"\d{3}(\s.*)?")  # what stands behind a comma between thousands, and a unit
INTEGER, FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
OCTAL = re.compile(r"[-+]?0[0-7_]+")  # what YAML 1.1 counts by eights
PROBLEMS = {  # of YAML, in words that say what to do
    "found character that cannot start any token": "a tab or sign that cannot stand here: indent by blanks, quote text",
    "mapping values are not allowed in this context": "a colon in a text: put the text in quotes",
}
FILE_KINDS = {  # key that only files of one kind have at their top → the kind
    "estimator_version": "a result that 'estimator report' wrote",
    "units_of_work": "a study, for 'estimator fom' and 'estimator report'",
    "peak": "a device, which --to and --on take",
    "devices_per_node": "a system, which 'estimator scale --system' takes",
    "framework": "a workload, which belongs beside a dump",
}
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader, if any, is ten times as fast
MERGE = "tag:yaml.org,2002:merge"
MOST_VALUES = 100_000  # limit for files with aliases of aliases


@dataclass(frozen=True)
class Document:
    """The content of one YAML file, the line of each value, and faults for duplicate keys."""

    path: Path
    data: dict[str, Any]
    lines: dict[Location, int]
    faults: tuple[Fault, ...] = ()

    def where(self, location: Location) -> str:
        """``file:line`` of the nearest known place at or above ``location``; the path alone where no line is known."""
        while location and location not in self.lines:
            location = location[:-1]
        return f"{self.path}:{self.lines[location]}" if location in self.lines else str(self.path)


def read_yaml(path: Path) -> Document:
    """Read one YAML mapping with plain keys; :func:`check` refuses duplicate keys. Raises EstimatorError."""
    text = read_text(path)
    try:
        root = yaml.compose(text, Loader=LOADER)
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
        problem = getattr(error, "problem", None) or "unreadable characters"
        problem = PROBLEMS.get(problem, problem)
        raise EstimatorError(f"{path}:{line}: this is not YAML ({problem}); mend the line") from None
    if not isinstance(root, yaml.MappingNode):
        kinds = {yaml.SequenceNode: "a list", yaml.ScalarNode: "a single value"}
        kind = kinds.get(type(root), "nothing")
        raise EstimatorError(f"{path}: expected 'key: value' lines, found {kind}; see 'estimator init'")
    lines: dict[Location, int] = {}
    duplicates: list[Fault] = []
    try:
        data = _construct(root, (), lines, duplicates, path)
    except (yaml.YAMLError, ValueError, AttributeError, TypeError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", -1) + 1
        raise EstimatorError(
            f"{path}{f':{line}' * bool(line)}: a value cannot be read; write it as plain text"
        ) from None
    except RecursionError:
        raise EstimatorError(f"{path}: a value contains itself or is nested too deeply; flatten it") from None
    return Document(path, data, lines, tuple(duplicates))


def _construct(node: yaml.Node, at: Location, lines: dict[Location, int], faults: list[Fault], path: Path) -> Any:
    lines.setdefault(at, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        return [_construct(item, (*at, i), lines, faults, path) for i, item in enumerate(node.value)]
    if len(lines) > MOST_VALUES:
        if ("estimator_version",) in lines:
            raise EstimatorError(f"{path}: this is the results of a report; give its study.yaml")
        raise EstimatorError(f"{path}: there are more than {MOST_VALUES} values; delete what is not needed")
    if not isinstance(node, yaml.MappingNode):
        _refuse_other_bases(node, at, path)
        return yaml.constructor.SafeConstructor().construct_object(node)
    _refuse_commas_in_numbers(node, path)
    out: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = str(key_node.value)
        line = key_node.start_mark.line + 1
        if key_node.tag == MERGE:
            raise EstimatorError(f"{path}:{line}: merge keys ('<<') are not read; write their keys out")
        if key in out:
            first = lines[(*at, key)]
            sentence = f"{path}:{line}: the key '{key}' stands twice (first on line {first}); delete one"
            faults.append(Fault(sentence, "duplicate-key"))
            continue
        lines[(*at, key)] = line
        out[key] = _construct(value_node, (*at, key), lines, faults, path)
    return out


def plain(content: object) -> Any:
    """What a program gives in place of a file, as reading the file would give it: texts as keys, paths as texts."""
    if isinstance(content, Mapping):
        return {str(key): plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(value) for value in content]
    return str(content) if isinstance(content, Path) else content


def _refuse_other_bases(node: yaml.Node, at: Location, path: Path) -> None:
    """Raise EstimatorError for 010 and 1:30, which YAML 1.1 reads as 8 and 90."""
    text, numeric = str(node.value), node.tag in (INTEGER, FLOAT)
    if numeric and ":" in text:
        problem, instead = "which YAML counts by sixties", "a plain number"
    elif numeric and OCTAL.fullmatch(text):
        problem, instead = "which YAML counts by eights", str(int(text, 10))
    else:
        return
    where, subject = f"{path}:{node.start_mark.line + 1}", ".".join(map(str, at))
    sentence = f"{where}: {subject} is {text}, {problem}; write {instead}, or '{text}' in quotes where it is a text"
    raise EstimatorError(Fault(sentence, "yaml"))


def _refuse_commas_in_numbers(node: yaml.MappingNode, path: Path) -> None:
    """Raise EstimatorError where braces hold a number such as 1,000: YAML ends the value at its comma."""
    pairs = [(str(key.value), value.value, key.start_mark.line + 1) for key, value in node.value]
    for (key, value, line), (rest, nothing, _) in pairwise(pairs):
        if node.flow_style and THOUSANDS.fullmatch(rest) and nothing == "" and str(value).isdigit():
            raise EstimatorError(
                Fault(f"{path}:{line}: {key} is {value},{rest}; a number has no commas, so write {value}{rest}", "yaml")
            )


def expected(kind: str, written: object) -> str:
    """The expected value of a pydantic fault of a type in EXPECTED, in words."""
    has_commas = kind.startswith(("int", "float")) and "," in str(written)
    return f"{EXPECTED[kind]}{' without commas' if has_commas else ''}"


def check(model: type[Model], document: Document) -> Model:
    """Validate a document against a pydantic model. Raises EstimatorError with all faults, each with its line."""
    try:
        validated = model.model_validate(document.data)
    except ValidationError as error:
        _refuse_other_kinds(model, document)
        raise EstimatorError(*document.faults, *_faults(model, document, error)) from None
    if document.faults:
        raise EstimatorError(*document.faults)
    return validated


def _refuse_other_kinds(model: type[BaseModel], document: Document) -> None:
    """Raise EstimatorError where a file is of another kind: the model knows few of its keys."""
    known = _known_keys(model, ())
    unknown = [key for key in document.data if key not in known]
    kind = next((kind for key, kind in FILE_KINDS.items() if key in unknown), "")
    if kind and 2 * len(unknown) > len(document.data):
        wanted = next((kind for key, kind in FILE_KINDS.items() if key in known), "another file")
        raise EstimatorError(Fault(f"{document.path}: this is {kind}; expected {wanted}", "unknown-key"))


def remainder(model: type[Model], document: Document, spare: Mapping[str, Any]) -> tuple[Model | None, set[str]]:
    """A document without its faulty values, and the top-level keys that then come from ``spare``.

    None where nothing valid remains.
    """
    data = copy.deepcopy(document.data)
    while True:
        try:
            return model.model_validate({**spare, **data}), spare.keys() - data.keys()
        except ValidationError as error:
            places = {_location_in_file(data, fault["loc"]) for fault in error.errors()}
        if () in places:  # the document as a whole is faulty
            places |= {(key,) for key in spare if key in data}
        if places == {()}:
            return None, set()
        for place in places - {()}:
            _delete(data, place)


def _location_in_file(data: object, location: Location) -> Location:
    """The location in the file of a model's value, which the file may write in a shorter form."""
    place: Location = ()
    for part in location:
        if isinstance(data, dict) and part in data:
            data, place = data[part], (*place, part)
    return place


def _delete(data: Any, place: Location) -> None:
    for key in place[:-1]:
        data = data.get(key, {})
    data.pop(place[-1], None)


def _faults(model: type[BaseModel], document: Document, error: ValidationError) -> Iterator[Fault]:
    for fault in error.errors():
        location = tuple(part for part in fault["loc"])
        field = ".".join(str(part) for part in location).removesuffix(".[key]")
        where = document.where(location)
        match fault["type"]:
            case "extra_forbidden":
                hint = _longer_keys(model, location, fault["input"]) or _unknown_key_hint(model, location)
                yield Fault(f"{where}: '{field}' is not a key that is known here.{hint}", "unknown-key")
            case "literal_error" if location[-1] == "[key]":
                hint = _nearest(field, re.findall(r"'([^']+)'", fault["ctx"]["expected"]))
                yield Fault(f"{where}: '{field}' is not a key that is known here.{hint}", "unknown-key")
            case "missing":
                yield Fault(f"{where}: '{field}' is missing; add it", "missing-key")
            case "value_error":
                problem = fault["ctx"]["error"]
                rule = "wrong-unit" if isinstance(problem, UnitError) else "wrong-value"
                yield Fault(f"{where}: {field} {problem}" if field else f"{where}: {problem}", rule)
            case "model_type" | "model_attributes_type":
                keys = ", ".join(sorted(_known_keys(model, location)))
                value = _short(fault["input"])
                yield Fault(f"{where}: {field} is {value}; expected keys with values, of {keys}", "wrong-value")
            case kind if kind in EXPECTED:
                value = _short(fault["input"])
                yield Fault(f"{where}: {field} is {value}; expected {expected(kind, fault['input'])}", "wrong-value")
            case _:
                problem = f"{fault['msg'][0].lower()}{fault['msg'][1:]}"
                yield Fault(f"{where}: {field} is {_short(fault['input'])}; {problem}", "wrong-value")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _unknown_key_hint(model: type[BaseModel], location: Location) -> str:
    """A hint for an unknown key: it may belong to a single value, else the nearest known keys."""
    key = str(location[-1])
    parts = _schema(model).get("$defs", {}).values()
    if any({"value", key} <= part.get("properties", {}).keys() for part in parts):
        return f" It belongs to one value: write {{value: …, {key}: …}} there."
    return _nearest(key, sorted(_known_keys(model, location[:-1])))


def _longer_keys(model: type[BaseModel], location: Location, value: object) -> str:
    """A hint at the keys that begin with the unknown word and take its value as a quantity; empty where none does."""
    names = [name for name in model.model_fields if len(location) == 1 and name.startswith(f"{location[0]}_")]
    fitting = [name for name in names if not isinstance(_taken(model, name, value), str | None)]
    return f" Did you mean {' or '.join(fitting)}?" if fitting else ""


def _taken(model: type[BaseModel], name: str, value: object) -> object:
    """What a field makes of a value; None where it refuses it."""
    field = model.model_fields[name]
    kind: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    with suppress(ValidationError):
        return TypeAdapter(kind).validate_python(value)
    return None


def _nearest(field: str, known: Sequence[str]) -> str:
    return suggestion(field.rsplit(".", 1)[-1], known) or f" Known keys: {', '.join(known)}."


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a model, made once: a file may have many faults. Callers must not change it."""
    return model.model_json_schema()


def _known_keys(model: type[BaseModel], location: Location) -> set[str]:
    """The keys that a model's schema allows at a location."""
    schema = _schema(model)
    definitions = schema.get("$defs", {})

    def keys(node: dict[str, Any], rest: Location) -> set[str]:
        if "$ref" in node:
            node = definitions[node["$ref"].rsplit("/", 1)[1]]
        allowed = {key for option in node.get("anyOf", []) for key in keys(option, rest)}
        if not rest:
            return allowed | set(node.get("properties", {}))
        inner = node.get("properties", {}).get(rest[0]) or node.get("additionalProperties") or node.get("items")
        return allowed | (keys(inner, rest[1:]) if isinstance(inner, dict) else set())

    return keys(schema, location)
