"""The command that lists the published definitions of figures of merit."""

from typing import Annotated

import typer

from estimator.cli.emit import emit
from estimator.cli.options import Json

EXAMPLES = """\b
Example: estimator presets
Example: estimator presets ssi
"""
Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Presets; all of them by default.")]


def presets(names: Names = None, as_json: Json = False) -> None:
    """Published figures of merit that a study can name.

    A study names one by 'figure_of_merit: {preset: ...}'. Each has its sources.
    """
    from estimator.cli import documents
    from estimator.cli.render.presets import render_presets

    emit(documents.presets(names or ()), render_presets, as_json)
