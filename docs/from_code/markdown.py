"""Markdown as text: tables, cells, code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

CODE = re.compile(r"(`[^`]*`)")
MARKS = re.compile(r"[<*$_\[]")


def cell(text: object) -> str:
    """Text that stands in a cell of a table: on one line, and with its marks as they are, but for code in backticks."""
    line = " ".join(str(text).replace("``", "`").split()).replace("|", r"\|")
    return "".join(part if part.startswith("`") else MARKS.sub(r"\\\g<0>", part) for part in CODE.split(line))


def code(text: object) -> str:
    """Text as code in a cell; nothing for nothing."""
    return f"`{text}`".replace("|", r"\|") if str(text) else ""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> str:
    """A table of cells that are Markdown already; columns named in ``right`` hold numbers."""
    rule = ["---:" if heading in right else "---" for heading in headings]
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, rule, *rows))
