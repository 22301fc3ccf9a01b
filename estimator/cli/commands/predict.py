"""The command that predicts the shapes of a table."""

from pathlib import Path
from typing import Annotated

import typer

from estimator.cli.emit import emit
from estimator.cli.options import CsvFile, Json, Measured, Seed, Target
from estimator.core.errors import EstimatorError

EXAMPLES = "Example: estimator predict shapes.csv --on h100 --csv times.csv"


def predict(
    shapes: Annotated[Path, typer.Argument(metavar="SHAPES.csv", help="Columns op_class, precision, m, n, k …")],
    on: Target,
    measurements: Measured = None,
    seed: Seed = 0,
    csv: CsvFile = None,
    as_json: Json = False,
) -> None:
    """Predict the time of each shape of a table on a device."""
    from estimator.cli import documents
    from estimator.cli.render.predict import render_predict
    from estimator.core.files import write_text
    from estimator.core.types import RunPlan
    from estimator.devices import load_device
    from estimator.studies.shapes import predict_shapes

    if csv and csv.exists() and csv.samefile(shapes):
        raise EstimatorError(f"{csv}: this is the input itself; choose another file")
    rows, assumptions = predict_shapes(shapes, RunPlan(target=on, measurements=measurements, seed=seed))
    if csv:
        write_text(csv, rows.to_csv(index=False, lineterminator="\n"))
    emit(documents.predicted_shapes(rows, load_device(on).name, assumptions), render_predict, as_json)
