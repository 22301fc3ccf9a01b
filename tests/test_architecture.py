"""Imports point one way.

cli → { api, fitting → validation } → studies → { collect, pipeline } → { profiles … reports } → core.

Tests mirror the tree: estimator/A/B.py has tests/A/test_B.py, and a package estimator/A/B/ tests/A/B/test_B.py.
"""

import ast
import re
from collections.abc import Callable, Collection, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

from estimator.work.operators import rule_of

TESTS = Path(__file__).resolve().parent
PACKAGE = TESTS.parent / "estimator"
STAGES = {"profiles", "work", "devices", "model", "rollup", "reports"}
ALLOWED = {
    "core": set(),
    **{stage: {"core"} for stage in STAGES},
    "pipeline": STAGES | {"core"},
    "collect": {"core", "profiles", "devices"},
    "studies": STAGES | {"core", "pipeline", "collect"},
    "validation": STAGES | {"core", "pipeline", "collect", "studies"},
    "fitting": STAGES | {"core", "pipeline", "collect", "studies", "validation"},
    "api": STAGES | {"core", "pipeline", "studies"},  # what programs call, and what commands print
    "cli": STAGES | {"core", "pipeline", "collect", "studies", "validation", "fitting", "api"},
    "__main__": {"cli", "core"},
    "__init__": {"api", "core", "devices", "profiles"},
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{a.name}" if node.module == "estimator" else str(node.module) for a in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("estimator.")}
    return rooms - {"__version__"}


def of_modules(find: Callable[[Path], Collection[str]]) -> dict[str, Collection[str]]:
    """What is wrong with each module, by its path; nothing of the others."""
    actual = {str(path.relative_to(PACKAGE)): find(path) for path in MODULES}
    return {path: faults for path, faults in actual.items() if faults}


def test_imports_point_one_way() -> None:
    assert of_modules(lambda path: imported_rooms(path) - {room(path)} - ALLOWED[room(path)]) == {}


def test_no_modules_import_each_other_in_a_circle() -> None:
    """So that any of them can be imported first."""
    modules = {_module(path): path for path in MODULES}
    TopologicalSorter({name: _imported_modules(path, modules) for name, path in modules.items()}).prepare()


def _module(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def _imported_modules(path: Path, modules: Mapping[str, Path]) -> set[str]:
    """The modules that a module imports while it loads, with the packages that they are in and it is not."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = {
        f"{node.module}.{alias.name}"
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    loaded = {part for name in named for part in _with_packages(name)} - _with_packages(_module(path))
    return loaded & modules.keys()


def _with_packages(name: str) -> set[str]:
    parts = name.split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts) + 1)}


def test_every_room_is_in_the_picture() -> None:
    assert {room(path) for path in MODULES} <= ALLOWED.keys()


def test_the_benchmark_is_imported_by_what_measures_alone() -> None:
    """Facts on the machine stand in a module of their own."""
    benchmark = re.compile(r"estimator\.collect\.bench(?!\.machine)")
    inside = [PACKAGE / "collect" / name for name in ("bench", "measure")]
    others = [path for path in MODULES if not set(inside) & set(path.parents)]
    assert [path.name for path in others if benchmark.search(path.read_text())] == []


def called(path: Path) -> set[str]:
    return {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def test_only_the_command_line_prints_and_exits() -> None:
    talks = {"print", "exit", "quit", "input"}
    assert of_modules(lambda path: set() if room(path) in ("cli", "__main__") else called(path) & talks) == {}


KNOWS_NAMES = (  # what identifies a format of dumps, or of a public table; the vocabulary; what runs
    "profiles", "validation/layer_ops.py", "work/operators", "collect",
)  # fmt: skip
NAME = re.compile(r"[A-Za-z_$][\w$]*(?:::\w+)?")
DISTINCT = re.compile(r"_?[A-Z][a-z]+\d*[A-Z]\w*|\w+::\w+|__\w+\$\w+")  # no word of a sentence


def texts(path: Path) -> list[str]:
    """The string constants of a module, without its docstrings."""
    tree = ast.parse(path.read_text())
    bodies = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    docstrings = {id(node.body[0].value) for node in bodies if node.body and isinstance(node.body[0], ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings]
    return [node.value for node in constants if isinstance(node.value, str)]


def op_names(text: str) -> list[str]:
    """What a text holds of a framework's or a library's names of ops."""
    return [name for name in NAME.findall(text) if DISTINCT.fullmatch(name) and rule_of(name)]


def misplaced(path: Path) -> list[str]:
    """Names of ops that a module holds and may not know."""
    may_know = path.relative_to(PACKAGE).as_posix().startswith(KNOWS_NAMES)
    return [] if may_know else [name for text in texts(path) for name in op_names(text)]


def test_names_of_ops_are_known_in_one_place() -> None:
    assert of_modules(misplaced) == {}


def test_names_of_ops_are_found() -> None:
    assert op_names("a MatMul, aten::relu_ and __cudnn$convForward; All, Max, DeepBench") == [
        "MatMul", "aten::relu_", "__cudnn$convForward",
    ]  # fmt: skip


def test_every_module_has_a_test_file_of_its_own() -> None:
    lacking = [path for path in MODULES if has_behaviour(path) and not mirrored(path).exists()]
    assert not lacking, f"write {', '.join(str(mirrored(path).relative_to(TESTS.parent)) for path in lacking)}"


def has_behaviour(path: Path) -> bool:
    """Whether any function of a module does more than declare: types, tables and names alone need no test."""
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    return any(not is_constant(part) for function in functions for part in function.body)


def is_constant(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring or an ellipsis."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def mirrored(path: Path) -> Path:
    name = path.parent.name if path.stem == "__init__" else path.stem
    return TESTS / path.parent.relative_to(PACKAGE) / f"test_{name}.py"
