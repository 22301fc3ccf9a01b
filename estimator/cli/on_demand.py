"""Commands loaded on demand: help loads all of them, a command only itself."""

from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperGroup

from estimator.cli.command import EstimatorCommand

if TYPE_CHECKING:
    from typer._click import Command

MODULES = {  # of the package commands, by the command; help lists them in this order, that of the pipeline
    "capture": "capture",
    "ingest": "ingest",
    "devices": "catalogue",
    "systems": "catalogue",
    "measurements": "measurements",
    "measure": "measure",
    "validate": "validate",
    "selftest": "selftest",
    "predict": "predict",
    "estimate": "estimate",
    "compare": "compare",
    "memory": "memory",
    "sweep": "sweep",
    "scale": "scale",
    "presets": "presets",
    "fom": "fom",
    "report": "report",
    "init": "init",
}


class CommandsOnDemand(TyperGroup):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast("MutableMapping[str, Command]", Commands())


class Commands(Mapping[str, "Command"]):
    """The commands by name, each loaded when first used."""

    def __getitem__(self, name: str) -> "Command":
        return load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


@cache
def load(name: str) -> "Command":
    """The command of that name, with its options and examples."""
    module = import_module(f"estimator.cli.commands.{MODULES[name]}")
    if group := getattr(module, "app", None):
        return typer.main.get_command(group)
    examples = module.EXAMPLES if isinstance(module.EXAMPLES, str) else module.EXAMPLES[name]
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=getattr(module, "COMMAND", EstimatorCommand), epilog=examples)(getattr(module, name))
    return typer.main.get_command(app)
