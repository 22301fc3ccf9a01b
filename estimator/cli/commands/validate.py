"""The command that shows errors of predictions on unseen devices."""

from pathlib import Path
from typing import Annotated

import typer

from estimator.cli.emit import emit
from estimator.cli.options import CsvFile, Json

EXAMPLES = """\b
Example: estimator validate
Example: estimator validate --data public --problem gemm --problem convolution
Example: estimator validate --data public --problem power
"""
DATA_HELP = (
    "Folder of public data sets (deepbench, neusight, aiconfigurator, vidur, scaling, power): judge all again, with "
    "extra 'fit'. All problems take about 40 minutes on two cores, less with --quick."
)


def _complete(incomplete: str) -> list[str]:
    from estimator.validation.validate import TITLES

    return [name for name in TITLES if name.startswith(incomplete)]


Data = Annotated[Path | None, typer.Option("--data", metavar="DIR", help=DATA_HELP)]
Problems = Annotated[
    list[str] | None,
    typer.Option("--problem", metavar="NAME", autocompletion=_complete, help="Only this problem; repeatable."),
]
Quick = Annotated[bool, typer.Option("--quick", help="Judge at most 3000 rows of each data set on each device.")]


def validate(
    data: Data = None, problem: Problems = None, quick: Quick = False, csv: CsvFile = None, as_json: Json = False
) -> None:
    """How far predictions are off on devices never seen.

    These are held-out errors on public measurements. One device family at a time is left out of all data sets, and
    predicted from the other families. Simple methods are judged on the same rows. Without --data it prints the table of
    the shipped fit.
    """
    from estimator.cli import documents, terminal
    from estimator.cli.render.validate import render_validate
    from estimator.core.files import write_text
    from estimator.fitting import power
    from estimator.fitting.fitted_model import fitted_side_by_side
    from estimator.validation import validate as validation

    if quick and data is None:
        raise typer.BadParameter("--quick changes nothing without --data; leave it out")
    if data is None:
        result = validation.shipped(problem or [])
    else:
        with terminal.progress("device families", as_json) as progress:
            result = validation.validate(
                data, fitted_side_by_side, problem or [], fit_power=power.fit, quick=quick, progress=progress
            )
    emit(documents.held_out_errors(result, data), render_validate, as_json)
    if csv:
        write_text(csv, result.held_out.to_csv(index=False, lineterminator="\n"))
