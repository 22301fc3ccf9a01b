"""The type of a key in words, and its unit, from its annotation."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BeforeValidator

from estimator.core import quantities, units
from estimator.core.types import File, Sourced
from estimator.studies import study, terms
from estimator.studies.audit.printed import Printed
from from_code.markdown import cell, code

PLAIN = {str: "text", int: "whole number", float: "number", bool: "true or false", Printed: "number as it is printed"}
WRITTEN = {  # what a validator accepts in words, and the unit
    quantities.seconds: ("time, as `60 h`", "s"),
    quantities.dollars: ("amount, as `3 USD`", "USD"),
    quantities.pue: ("number from 1 on", ""),
    quantities.amount: ("number above zero", ""),
    quantities.share: ("share, as `95 %`", ""),
    study._interval: ("`auto`, or a time", "s"),
    terms._flop: ("amount of arithmetic, as `1065 TFLOP`", "FLOP"),
}


def described(hint: Any) -> tuple[str, str]:
    """Type and unit of a key, as cells of a table."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _validated(args[0], args[1:])
    if origin in (Union, types.UnionType):
        return _either([arg for arg in args if arg is not type(None)])
    if origin is Literal:
        return ", ".join(code(arg) for arg in args), ""
    if origin in (dict, Mapping):
        (_, __), (value, unit) = described(args[0]), described(args[1])
        return f"by name: {value}", unit
    if origin is tuple:
        inner, unit = described(args[0])
        return f"list of {inner}", unit
    return (_link(hint), "") if isinstance(hint, type) and issubclass(hint, File) else (PLAIN.get(hint, cell(hint)), "")


def _either(hints: list[Any]) -> tuple[str, str]:
    words, all_units = zip(*map(described, hints), strict=True)
    return " or ".join(dict.fromkeys(words)), next(filter(None, all_units), "")


def _validated(hint: Any, metadata: tuple[Any, ...]) -> tuple[str, str]:
    for validator in (item.func for item in metadata if isinstance(item, BeforeValidator)):
        if validator in WRITTEN:
            return WRITTEN[validator]
        unit = dict(zip(validator.__code__.co_freevars, validator.__closure__ or (), strict=True)).get("unit")
        if unit is not None and hint is Sourced:
            kind, example = units.KINDS[unit.cell_contents]
            if unit.cell_contents == "1":
                return "number with [source](#sourced)", ""
            return f"{kind.partition(' ')[2]} with [source](#sourced), as `{example}`", unit.cell_contents
    return described(hint)


def name_of(model: type[File]) -> str:
    """What a model is called in the docs."""
    return model.__name__.strip("_").removesuffix("File")


def _link(model: type[File]) -> str:
    return f"[{name_of(model)}](#{name_of(model).lower()})"


def models_in(hint: Any) -> Iterator[type[File]]:
    """Yield every model that an annotation names."""
    if isinstance(hint, type) and issubclass(hint, File):
        yield hint
    for arg in get_args(hint):
        yield from models_in(arg)
