"""The codes of notes: which are warnings, and where in the program each arises."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import estimator
from estimator.core.notes import WARNINGS
from from_code.markdown import code, table

PACKAGE = Path(estimator.__file__).parent
MAKERS = ("Note", "with_code")  # whose first argument is a code


def markdown() -> str:
    """Every code that a module of the program gives a note."""
    modules: dict[str, dict[str, None]] = {name: {} for name in WARNINGS}
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in _codes(ast.parse(path.read_text(encoding="utf-8"))):
            modules.setdefault(name, {})[path.relative_to(PACKAGE).as_posix()] = None
    rows = ([code(name), _kind(name), ", ".join(map(code, modules[name]))] for name in sorted(modules))
    return table(["code", "kind", "arises in"], rows)


def _kind(name: str) -> str:
    return "warning" if name in WARNINGS else "assumption"


def _codes(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant):
                yield str(first.value)
