"""The program ``measure.py``: the modules of ``estimator.collect.bench`` joined to one file of plain Python."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files

from estimator.collect.bench.operators import DIRECTIONS, KERNELS, STAND_INS

PACKAGE = "estimator.collect.bench"
MAIN = "command"  # the module that is run; its docstring is the program's
TABLE = "operators"  # the module that reads core/operators.csv; the program contains its data
WIDTH = 120
LINTER_COMMENTS = re.compile(r"  # (noqa|type: ignore|fmt: skip).*$", re.MULTILINE)


@dataclass(frozen=True)
class Module:
    """One module of the package: docstring, external imports, modules needed, and body."""

    name: str
    docstring: str
    imports: frozenset[tuple[str, str]]  # module and name; no name where a module itself is imported
    needs: tuple[str, ...]
    body: str


def program() -> str:
    """The text of measure.py: the command's docstring, all imports, and a section for each module."""
    modules = list(_in_order(MAIN, set()))
    main = modules[-1]
    head = [
        f'"""{main.docstring}\n"""',
        "from __future__ import annotations",
        _import_lines(modules),
        _contents(modules),
    ]
    return "\n\n".join(head) + "\n\n\n" + "\n\n\n".join(map(_section, modules)) + "\n"


def _in_order(name: str, seen: set[str]) -> Iterator[Module]:
    """Yield the modules that a module needs, then itself; each once."""
    if name not in seen:
        seen.add(name)
        module = with_table(read_module(name)) if name == TABLE else read_module(name)
        for dependency in module.needs:
            yield from _in_order(dependency, seen)
        yield module


def read_module(name: str) -> Module:
    """Read a module of the package; its imports stand at the top."""
    text = (files(PACKAGE) / f"{name}.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    statements = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    needs = [node for node in statements if isinstance(node, ast.ImportFrom) and _is_internal(node)]
    external = [node for node in statements if node not in needs and node.names[0].name != "annotations"]
    body = "\n".join(text.splitlines()[statements[-1].end_lineno :]).strip("\n")
    return Module(
        name, ast.get_docstring(tree) or "", frozenset(_imported(external)),
        tuple(str(node.module).removeprefix(f"{PACKAGE}.") for node in needs), LINTER_COMMENTS.sub("", body),
    )  # fmt: skip


def with_table(module: Module) -> Module:
    """The module with the data of operators.csv in place of the code that reads it."""
    kernels = {name: f"Kernel({', '.join(map(json.dumps, kernel))})" for name, kernel in KERNELS.items()}
    stand_ins, directions = (
        {name: json.dumps(value) for name, value in table.items()} for table in (STAND_INS, DIRECTIONS)
    )
    tables = [
        _dict_text(
            "KERNELS", "operator: class, tensors read and written, FLOP per element, what it goes along", kernels
        ),
        _dict_text("STAND_INS", "class, or operator without a kernel: the operator timed in its place", stand_ins),
        _dict_text("DIRECTIONS", "operator on images: its pass", directions),
    ]
    return replace(module, imports=frozenset(), body="\n".join(tables))


def _dict_text(name: str, comment: str, items: Mapping[str, str]) -> str:
    lines = [f'    "{key}": {value},' for key, value in items.items()]
    return "\n".join([f"{name} = {{  # {comment}", *lines, "}"])


def _is_internal(node: ast.ImportFrom) -> bool:
    return str(node.module).startswith(PACKAGE)


def _imported(statements: Iterable[ast.Import | ast.ImportFrom]) -> Iterator[tuple[str, str]]:
    for node in statements:
        for alias in node.names:
            yield (str(node.module), alias.name) if isinstance(node, ast.ImportFrom) else (alias.name, "")


def _import_lines(modules: Iterable[Module]) -> str:
    """The external imports of all modules, each once."""
    imports = frozenset[tuple[str, str]]().union(*(module.imports for module in modules))
    modules_imported = [f"import {name}" for name, member in sorted(imports) if not member]
    names = {
        name: sorted(member for owner, member in imports if owner == name and member) for name, _ in sorted(imports)
    }
    return "\n".join(
        [*modules_imported, *(f"from {name} import {', '.join(owner)}" for name, owner in names.items() if owner)]
    )


def _contents(modules: Iterable[Module]) -> str:
    """A comment that names the sections in their order."""
    return textwrap.fill(
        f"Sections: {', '.join(map(_title, modules))}.", WIDTH, initial_indent="# ", subsequent_indent="# "
    )


def _section(module: Module) -> str:
    """The section of a module: a line with its name, its docstring as a comment, and its body."""
    comment = "" if module.name == MAIN else textwrap.indent(f"{module.docstring}\n", "# ")
    return f"# {f' {_title(module)}':->{WIDTH - 2}}\n{comment}\n{module.body}"


def _title(module: Module) -> str:
    return module.name.replace("_", " ")
