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
TABLE = "operators"  # the module that reads core/operators.csv; the program holds what it reads
WIDTH = 120
FOR_LINTERS = re.compile(r"  # (noqa|type: ignore|fmt: skip).*$", re.MULTILINE)


@dataclass(frozen=True)
class Module:
    """One module of the package: its docstring, what it imports from elsewhere and within the package, and the rest."""

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


def _in_order(name: str, done: set[str]) -> Iterator[Module]:
    """A module behind those that it needs, each once."""
    if name not in done:
        done.add(name)
        module = with_table(read_module(name)) if name == TABLE else read_module(name)
        for needed in module.needs:
            yield from _in_order(needed, done)
        yield module


def read_module(name: str) -> Module:
    """A module of the package, whose imports all stand above the rest."""
    text = (files(PACKAGE) / f"{name}.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    statements = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    needs = [node for node in statements if isinstance(node, ast.ImportFrom) and _within(node)]
    others = [node for node in statements if node not in needs and node.names[0].name != "annotations"]
    body = "\n".join(text.splitlines()[statements[-1].end_lineno :]).strip("\n")
    return Module(
        name, ast.get_docstring(tree) or "", frozenset(_imported(others)),
        tuple(str(node.module).removeprefix(f"{PACKAGE}.") for node in needs), FOR_LINTERS.sub("", body),
    )  # fmt: skip


def with_table(module: Module) -> Module:
    """The module with the rows of operators.csv in place of what reads them."""
    kernels = {name: f"Kernel({', '.join(map(json.dumps, kernel))})" for name, kernel in KERNELS.items()}
    stand_ins, directions = ({k: json.dumps(v) for k, v in table.items()} for table in (STAND_INS, DIRECTIONS))
    tables = [
        _literal("KERNELS", "operator: class, tensors read and written, FLOP per element, what it goes along", kernels),
        _literal("STAND_INS", "class, or operator without a kernel: the operator timed in its place", stand_ins),
        _literal("DIRECTIONS", "operator on images: its pass", directions),
    ]
    return replace(module, imports=frozenset(), body="\n".join(tables))


def _literal(name: str, about: str, items: Mapping[str, str]) -> str:
    lines = [f'    "{key}": {value},' for key, value in items.items()]
    return "\n".join([f"{name} = {{  # {about}", *lines, "}"])


def _within(node: ast.ImportFrom) -> bool:
    return str(node.module).startswith(PACKAGE)


def _imported(statements: Iterable[ast.Import | ast.ImportFrom]) -> Iterator[tuple[str, str]]:
    for node in statements:
        for alias in node.names:
            yield (str(node.module), alias.name) if isinstance(node, ast.ImportFrom) else (alias.name, "")


def _import_lines(modules: Iterable[Module]) -> str:
    """What the modules import from elsewhere, once."""
    imports = frozenset[tuple[str, str]]().union(*(module.imports for module in modules))
    plain = [f"import {name}" for name, member in sorted(imports) if not member]
    names = {name: sorted(member for of, member in imports if of == name and member) for name, _ in sorted(imports)}
    return "\n".join([*plain, *(f"from {name} import {', '.join(of)}" for name, of in names.items() if of)])


def _contents(modules: Iterable[Module]) -> str:
    """A comment that names the sections in their order."""
    return textwrap.fill(
        f"Sections: {', '.join(map(_title, modules))}.", WIDTH, initial_indent="# ", subsequent_indent="# "
    )


def _section(module: Module) -> str:
    """A module below a line with its name; its docstring is a comment there."""
    about = "" if module.name == MAIN else textwrap.indent(f"{module.docstring}\n", "# ")
    return f"# {f' {_title(module)}':->{WIDTH - 2}}\n{about}\n{module.body}"


def _title(module: Module) -> str:
    return module.name.replace("_", " ")
