"""The command that writes a study to start from."""

from pathlib import Path
from typing import Annotated

import typer

from estimator.cli.emit import emit
from estimator.cli.options import Json

EXAMPLES = "Example: estimator init my-study && estimator report my-study/study.yaml"


def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")], as_json: Json = False) -> None:
    """Write a commented study, device and profile to start from."""
    from estimator.cli import documents
    from estimator.cli.render.written import render_written
    from estimator.studies.starter import write_starter

    emit(documents.written(write_starter(folder)), render_written, as_json)
