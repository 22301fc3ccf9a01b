"""``python -m estimator.fitting.ship DATA``: the coefficients that are shipped, from public measurements.

Writes estimator/model/coefficients: a readable file for each model; held_out.csv, the errors on families that were left
out, by the same fit; and held_out_pairs.csv, those of each whole model from one device to another. Deterministic; needs
the extra 'fit'.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
import yaml

from estimator.core.files import write_text
from estimator.fitting import fitted_model
from estimator.model.coefficients import Coefficients, StepFactorCoefficients
from estimator.model.convolution_coefficients import PublishedShape
from estimator.validation import scores, whole_models
from estimator.validation.data import read_truth
from estimator.validation.selftest import results
from estimator.validation.validate import METHODS, validate

HERE = Path(__file__).parents[1] / "model" / "coefficients"
FITTED = ("gemm", "convolution", "memory_bound", "step_factor")
DIGITS = 4
LIMIT = float(np.log(2.0))  # a class off by more than a factor of 2 is unlike what the models were fitted to
SOURCE = (
    "NeuSight whole models (sitar-lab/NeuSight, MIT), and self-tests (estimator/validation/selftest/results); "
    "python -m estimator.fitting.ship"
)
WRITTEN = (
    "# Fitted, not written by hand: python -m estimator.fitting.ship; held_out.csv says how far off it is elsewhere.\n"
)


def write(c: Coefficients, folder: Path) -> None:
    """Write each fitted model's coefficients as text."""
    for name in FITTED:
        numbers = _rounded(getattr(c, name).model_dump(exclude={"published"}, exclude_none=True))
        write_text(folder / f"{name}.yaml", WRITTEN + yaml.safe_dump(numbers, sort_keys=False, width=120))
    rows = [",".join(map(str, row)) for row in c.convolution.published or ()]
    write_text(folder / "convolution_shapes.csv", "\n".join([",".join(PublishedShape._fields), *rows, ""]))


def step_factor(data: Path, truth: pd.DataFrame, c: Coefficients) -> StepFactorCoefficients:
    """How much of what whole models take beyond their kernels on one device they take on others too."""
    runs = whole_models.read_runs(data)
    missed = whole_models.misses(fitted_model.predictor(c), runs, truth, set(runs.whole_s.index.unique("device")))
    return StepFactorCoefficients(
        source=SOURCE,
        class_bias_share=whole_models.shared_weight(missed),
        class_bias_limit=LIMIT,
        in_step_std=results.spread(results.kept()),
    )


def _rounded(value: Any) -> Any:
    """Numbers to DIGITS significant ones."""
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return [_rounded(each) for each in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def main(data: Annotated[Path, typer.Argument(help="folder of public data sets")], out: Path = HERE) -> None:
    """Fit all coefficients and judge them."""
    truth, notes = read_truth(data)
    c = fitted_model.fit(truth)
    write(c.model_copy(update={"step_factor": step_factor(data, truth, c)}), out)
    found = validate(
        data,
        fitted_model.fitted_side_by_side,
        progress=lambda done, total: typer.echo(f"{done} of {total} families judged", err=True),
    )
    for name, table in (("held_out", found.held_out), ("held_out_pairs", scores.of_pairs(found.judged, METHODS[0]))):
        write_text(out / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))
    for note in notes:
        typer.echo(note, err=True)


if __name__ == "__main__":
    typer.run(main)
