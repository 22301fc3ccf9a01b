"""The program is one file with the whole benchmark, independent of this project."""

import ast
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from estimator.collect import bench
from estimator.collect.bench.operators import DIRECTIONS, KERNELS, STAND_INS
from estimator.collect.measure.program import Module, program, read_module

MODULES = sorted(path.stem for path in Path(bench.__file__).parent.glob("*.py") if path.stem != "__init__")


def named(tree: ast.Module) -> list[str]:
    """What a module defines for all of it to see."""
    targets = [node.targets for node in tree.body if isinstance(node, ast.Assign)]
    targets += [[node.target] for node in tree.body if isinstance(node, ast.AnnAssign)]
    assigned = [node.id for of in targets for target in of for node in ast.walk(target) if isinstance(node, ast.Name)]
    return assigned + [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]


def test_the_program_is_plain_python_3_9() -> None:
    ast.parse(program(), feature_version=(3, 9))


def test_the_program_imports_only_the_standard_library() -> None:
    statements = [node for node in ast.walk(ast.parse(program())) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {alias.name for node in statements if isinstance(node, ast.Import) for alias in node.names}
    modules |= {str(node.module) for node in statements if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in modules} <= sys.stdlib_module_names
    lines = [line for line in program().splitlines() if line.startswith(("import ", "from "))]
    assert len(lines) == len(set(lines)) == len(statements)  # once each, and above the rest


def test_every_module_is_a_section_behind_those_that_it_needs() -> None:
    lines = [line.strip("# -") for line in program().splitlines() if line.startswith("# -----")]
    assert sorted(line.replace(" ", "_") for line in lines) == MODULES
    for place, title in enumerate(lines):
        needs = {name.replace("_", " ") for name in read_module(title.replace(" ", "_")).needs}
        assert needs <= set(lines[:place])


def test_modules_define_distinct_names() -> None:
    tree = ast.parse(program())
    imported = [alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
    imported += [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert [name for name, count in Counter([*named(tree), *imported]).items() if count > 1] == []


@pytest.mark.parametrize("name", MODULES)
def test_modules_can_be_joined(name: str) -> None:
    """Names alone are imported from other modules, as they are called there."""
    text = (Path(bench.__file__).parent / f"{name}.py").read_text()
    for node in ast.walk(ast.parse(text)):
        aliases = node.names if isinstance(node, ast.Import | ast.ImportFrom) else []
        assert [alias.asname for alias in aliases if alias.asname] == []
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("estimator"):
            assert str(node.module).removeprefix("estimator.collect.bench.") in MODULES


def test_the_table_of_the_program_is_that_of_operators_csv() -> None:
    names: dict[str, Any] = {"__name__": "measure"}
    exec(compile(program(), "measure.py", "exec"), names)
    assert (names["KERNELS"], names["STAND_INS"], names["DIRECTIONS"]) == (KERNELS, STAND_INS, DIRECTIONS)
    assert "operators.csv" not in program()


def test_the_program_has_no_linter_comments() -> None:
    assert not [word for word in ("noqa", "type: ignore", "fmt: skip", "estimator") if word in program()]


def test_read_module_splits_a_module() -> None:
    module = read_module("shapes")
    assert isinstance(module, Module)
    assert module.docstring.startswith("The rows of shapes.csv")
    assert ("math", "") in module.imports
    assert "types" in module.needs
    assert module.body.startswith("MAX_SIZE")
