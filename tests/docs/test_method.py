"""The pages of docs/method name what is there: functions, constants with their values, files, and equations."""

import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT

PAGES = sorted((ROOT / "docs" / "method").glob("*.md"))
NAME = re.compile(r"`(estimator(?:\.\w+)+)`")
VALUE = re.compile(r"`(estimator(?:\.\w+)+)`\s=\s([-\d.e]+(?:,\s[-\d.e]+)*)")
FILE = re.compile(r"`((?:estimator|tests|docs|devices|profiles|reports)/[\w./-]+)`")
EQUATION = re.compile(  # its name, the functions that compute it, its source
    r"^\*\*([^*]+)\.\*\*(?:(?!^\*\*).)*?^\*Computed by\* (.+?)\.\n\*Source:\* (.+?)\.\n", re.MULTILINE | re.DOTALL
)
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def actual(name: str) -> Any:
    """The module, or the attribute or entry of one, that a dotted name means."""
    parts = name.split(".")
    module = next(place for place in range(len(parts), 0, -1) if _is_module(".".join(parts[:place])))
    value: Any = importlib.import_module(".".join(parts[:module]))
    for part in parts[module:]:
        value = value[part] if isinstance(value, Mapping) else getattr(value, part)
    return value


def _is_module(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        return False
    return True


def equations(page: Path) -> list[str]:
    """The lines of the list of all equations that are those of a page."""
    actual = EQUATION.findall(page.read_text(encoding="utf-8"))
    lines = [f"- **{name}**: {functions}. *Source:* {source}." for name, functions, source in actual]
    return [f"## [{page.stem}]({page.name})", *lines] if lines else []


def test_there_are_pages() -> None:
    assert len(PAGES) > 10


@pages
def test_every_name_can_be_imported(page: Path) -> None:
    for name in set(NAME.findall(page.read_text(encoding="utf-8"))):
        assert actual(name) is not None, name


@pages
def test_every_value_is_that_of_the_code(page: Path) -> None:
    for name, written in VALUE.findall(page.read_text(encoding="utf-8")):
        values = [float(number.rstrip(".")) for number in re.split(r",\s", written)]
        np.testing.assert_allclose(np.ravel(actual(name)), values, err_msg=name)


@pages
def test_every_file_is_there(page: Path) -> None:
    assert [path for path in FILE.findall(page.read_text(encoding="utf-8")) if not (ROOT / path).exists()] == []


def test_the_list_of_equations_holds_those_of_all_pages() -> None:
    lists = (ROOT / "docs" / "method" / "equations.md").read_text(encoding="utf-8").splitlines()
    held = [line for line in lists if line.startswith(("## ", "- "))]
    assert held == [line for page in _in_order() for line in equations(page)]


def _in_order() -> list[Path]:
    """The pages as the index lists them."""
    listed = PAGES[0].with_name("index.md").read_text(encoding="utf-8").partition("{toctree}")[2].splitlines()
    return [page for name in listed if (page := PAGES[0].with_name(f"{name}.md")) in PAGES]


@pages
def test_every_equation_has_a_name(page: Path) -> None:
    named = re.findall(r"^\*Computed by\* .+\n\*Source:\*", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(equations(page)[1:]) == len(named)
