"""The parts of the docs that are made from the code and the shipped files: one file each in ``_parts``.

A page takes one in by ``{include}``. All are made when a build begins, so that none can be out of date.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from from_code import accuracy, api, catalogue, commands, files, gallery, notes, plots, tables

PARTS: dict[str, Callable[[], str]] = {
    "commands.md": commands.markdown,
    "files.md": files.markdown,
    "tables.md": tables.all_tables,
    "operators.md": tables.operators,
    "notes.md": notes.markdown,
    "devices.md": catalogue.devices,
    "systems.md": catalogue.systems,
    "sources.md": catalogue.sources,
    "lints.md": catalogue.lints,
    "api.md": api.markdown,
    "gallery.md": gallery.markdown,
    "errors.md": accuracy.overview,
    "problems.md": accuracy.problems,
    "intervals.md": accuracy.intervals,
    "left-out.md": accuracy.notes,
    "runs.md": accuracy.runs,
    "errors.svg": plots.errors,
    "selftest.svg": plots.selftest,
}


def write(app: Any) -> None:
    """Make every part anew; one that did not change keeps its time, so that Sphinx does not read it again."""
    folder = Path(app.srcdir) / "_parts"
    folder.mkdir(exist_ok=True)
    for name, make in PARTS.items():
        path, text = folder / name, f"{make().strip()}\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Let Sphinx call :func:`write` before it looks for pages."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
