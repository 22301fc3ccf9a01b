"""The codes of notes: what each means, of which kind it is, and where in the program each arises."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import estimator
from estimator.core.notes import KIND_OF, MEANINGS
from from_code.markdown import cell, code, table

PACKAGE = Path(estimator.__file__).parent
MAKERS = ("Note", "with_code")  # whose first argument is a code


def markdown() -> str:
    """Every code of ``core/notes.py``."""
    modules = places()
    rows = (
        [code(n), KIND_OF[n].replace("-", " "), cell(MEANINGS[n]), ", ".join(map(code, modules[n]))]
        for n in sorted(MEANINGS)
    )
    return table(["code", "kind", "meaning", "arises in"], rows)


def places() -> dict[str, list[str]]:
    """The modules that give a note each code. Raises LookupError where one gives a code that is not a literal."""
    modules: dict[str, dict[str, None]] = {name: {} for name in MEANINGS}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        for found in _codes(ast.parse(path.read_text(encoding="utf-8"))) if name != "core/notes.py" else ():
            modules[found][name] = None
    return {name: list(found) for name, found in modules.items()}


def _codes(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
            first = node.args[0]
            yield str(first.value) if isinstance(first, ast.Constant) else ast.unparse(first)
