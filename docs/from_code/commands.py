"""Every command with its arguments and options, from the command line itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from estimator.cli import app
from from_code.markdown import cell, code, table


def markdown() -> str:
    """One section for each command, in the order of ``estimator --help``."""
    group = typer.main.get_command(app)
    return "\n\n".join(_sections(group, typer.Context(group, info_name="estimator")))


def _sections(group: Any, context: typer.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        own = typer.Context(command, info_name=name, parent=context)
        yield _section(command, own)
        if hasattr(command, "list_commands"):
            yield from _sections(command, own)


def _section(command: Any, context: typer.Context) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    examples = [line.removeprefix("Example: ") for line in _lines(command.epilog)]
    parts = (
        f"## {context.command_path}",
        _paragraphs(command.help),
        f"```text\n{usage}\n```",
        _parameters(command, context),
        _shell(examples),
    )
    return "\n\n".join(part for part in parts if part)


def _paragraphs(text: str) -> str:
    return "\n\n".join(cell(part) for part in text.split("\n\n"))


def _lines(text: str | None) -> list[str]:
    return [line for line in (text or "").replace("\b", "").splitlines() if line.strip()]


def _shell(lines: list[str]) -> str:
    return "```bash\n{}\n```".format("\n".join(lines)) if lines else ""


def _parameters(command: Any, context: typer.Context) -> str:
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    rows = [[code(name), cell(meaning)] for name, meaning in filter(None, records) if name != "--help"]
    return table(["argument or option", "meaning"], rows) if rows else ""
