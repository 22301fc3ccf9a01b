"""The example runs: every cell of ``docs/example.md`` in its order, in one namespace, and what each shows is drawn."""

import ast
import re
from typing import Any

import pytest

from tests.conftest import ROOT

CELLS = re.compile(r"^```\{code-cell\}\n(.*?)^```$", re.M | re.S)
PAGE = (ROOT / "docs" / "example.md").read_text(encoding="utf-8")


def run(cell: str, names: dict[str, Any]) -> object:
    """Run a cell as a notebook does; the value of its last line, if that is an expression."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "example.md", "exec"), names)
    return eval(compile(ast.Expression(last.value), "example.md", "eval"), names) if last else None  # type: ignore[attr-defined]


def shown(value: object) -> str | bytes:
    """What a notebook shows of a value: a picture, HTML, or its text."""
    for name in ("_repr_png_", "_repr_html_"):
        if actual := getattr(value, name, lambda: None)():
            assert isinstance(actual, str | bytes)
            return actual
    return repr(value)


@pytest.mark.slow
def test_every_cell_runs_and_shows_something() -> None:
    names: dict[str, Any] = {}
    outputs = [shown(run(cell, names)) for cell in CELLS.findall(PAGE)]
    assert len(outputs) == 10
    assert sum(output.startswith(b"\x89PNG") for output in outputs if isinstance(output, bytes)) == 3
    assert sum(output.startswith("<div>") for output in outputs if isinstance(output, str)) == 5
    assert outputs[0] == repr(names["profile"])
    assert names["h100"].step_s.mid < names["v100"].step_s.mid


def test_each_cell_has_a_sentence_before_it() -> None:
    _, *between = CELLS.split(PAGE)[:-1][::2]
    assert all(text.strip().endswith(".") and "\n" not in text.strip() for text in between)


def test_it_is_a_notebook_for_myst() -> None:
    assert PAGE.startswith("---\nfile_format: mystnb\nkernelspec:\n  name: python3\n")
