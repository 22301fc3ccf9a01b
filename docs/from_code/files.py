"""The files that people write: every key with its type, unit, default and meaning, from the models that read them."""

from __future__ import annotations

from functools import cache
from inspect import getdoc
from typing import Any, get_type_hints

from pydantic_core import PydanticUndefined
from sphinx.pycode import ModuleAnalyzer

from estimator.core.types import DeviceSpec, File, Network, Sourced, SystemSpec, Workload
from estimator.profiles.layers.model import DEFAULTS, Layers
from estimator.profiles.workload import Provenance
from estimator.studies.study import Study
from from_code.markdown import cell, code, table
from from_code.types_of_keys import described, models_in, name_of

Model = type[File]
FILLED_IN = ((Sourced, "unit"), (Network, "measured"))  # fields that no file gives: the program fills them in
WRITTEN_AS = {"relative_uncertainty": "uncertainty"}

GROUPS: dict[str, tuple[Model, ...]] = {  # file → its own model, and others in it that no key of it names
    "Device file": (DeviceSpec, Sourced),
    "System file": (SystemSpec,),
    "study.yaml": (Study,),
    "workload.yaml": (Workload,),
    "provenance.yaml": (Provenance,),
    "layers.yaml": (Layers,),
}


def markdown() -> str:
    """The keys of every file; a model that several files hold stands with the first."""
    reached: dict[Model, None] = {}
    return "\n\n".join([*(_group(title, roots, reached) for title, roots in GROUPS.items()), _kinds()])


def _group(title: str, roots: tuple[Model, ...], reached: dict[Model, None]) -> str:
    """A section for each model and for each model in it, in the order in which keys lead to them."""
    own, waiting = list[Model](), list(roots)
    while waiting:
        model = waiting.pop(0)
        if model not in reached:
            reached[model] = None
            own.append(model)
            waiting += [inner for hint in _hints(model).values() for inner in models_in(hint)]
    parts = [_section(model, heading=model not in roots[:1]) for model in own]
    return "\n\n".join([f"## {title}", *parts])


def _kinds() -> str:
    """What each kind of ``layers.yaml`` sets where nothing is given."""
    rows = [[code(k), ", ".join(code(f"{n}: {_plain(v)}") for n, v in own.items())] for k, own in DEFAULTS.items()]
    return "### Defaults of each kind\n\n" + table(["kind", "its own defaults"], rows)


def _section(model: Model, *, heading: bool) -> str:
    """One model: its docstring, and a row for each key."""
    doc = cell(getdoc(model) or "")
    rows = (_row(model, name, hint) for name, hint in _hints(model).items())
    title = f"### {name_of(model)}\n\n" if heading else ""
    return f"{title}{doc}\n\n" + table(["key", "type", "unit", "default", "meaning"], rows)


def _row(model: Model, name: str, hint: Any) -> list[str]:
    kind, unit = described(hint)
    return [code(WRITTEN_AS.get(name, name)), kind, unit, _default(model, name), cell(_meaning(model, name))]


def _hints(model: Model) -> dict[str, Any]:
    hints = get_type_hints(model, include_extras=True)
    filled_in = [name for owner, name in FILLED_IN if issubclass(model, owner)]
    return {name: hint for name, hint in hints.items() if name in model.model_fields and name not in filled_in}


def _default(model: Model, name: str) -> str:
    field = model.model_fields[name]
    if field.default is PydanticUndefined:
        return "" if field.default_factory else "required"
    shown = not isinstance(field.default, File) and field.default not in (None, (), {})
    return code(_plain(field.default)) if shown else ""


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _meaning(model: Model, name: str) -> str:
    """What a key means: the comment ``#:`` at its field. Raises LookupError where there is none."""
    for owner in model.__mro__:
        found = _comments(owner.__module__).get((owner.__qualname__, name))
        if found:
            return " ".join(found).strip()
    raise LookupError(f"{model.__module__}.{model.__qualname__}.{name} has no meaning; write '#: …' behind the field")


@cache
def _comments(module: str) -> dict[tuple[str, str], list[str]]:
    return ModuleAnalyzer.for_module(module).find_attr_docs() if module.startswith("estimator") else {}
