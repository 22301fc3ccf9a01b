"""``python -m estimator.fitting.ship DATA``: fit the shipped coefficients to public measurements.

Writes estimator/model/coefficients: a readable file for each model; held_out.csv, the errors of the same fit on
left-out families; and held_out_pairs.csv, those of each whole model from one device to another. Deterministic; needs
the extra 'fit'.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from estimator.core.files import write_text
from estimator.fitting import fitted_model, power
from estimator.model.coefficients import Coefficients, StepFactorCoefficients
from estimator.model.convolution_coefficients import PublishedShape
from estimator.validation import power as power_rows
from estimator.validation import scores, whole_models
from estimator.validation.data import read_truth
from estimator.validation.selftest import results
from estimator.validation.tables import lacking
from estimator.validation.validate import METHODS, validate

COEFFICIENTS_FOLDER = Path(__file__).parents[1] / "model" / "coefficients"
CHOSEN = {  # each file of coefficients → what of it no fit moves
    "gemm": "balance and scales",
    "convolution": "hyperparameters",
    "memory_bound": "streaming_std, cache and unit_elements",
    "collectives": "all but latency, steps, ll_share, one_shot_s and the efficiencies of fabric and pcie",
    "step_factor": "nothing",
    "power": "idle_std, busy and reading_std",
}
DIGITS = 4
SOURCE = "self-tests (estimator/validation/selftest/results); python -m estimator.fitting.ship"


def write(coefficients: Coefficients, folder: Path) -> None:
    """Write each fitted model's coefficients as text."""
    for name in CHOSEN:
        numbers = _round(getattr(coefficients, name).model_dump(exclude={"published"}, exclude_none=True))
        write_text(folder / f"{name}.yaml", header(name) + yaml.safe_dump(numbers, sort_keys=False, width=120))
    rows = [",".join(map(str, row)) for row in coefficients.convolution.published or ()]
    write_text(folder / "convolution_shapes.csv", "\n".join([",".join(PublishedShape._fields), *rows, ""]))


def header(name: str) -> str:
    """The comment on top of a file of coefficients."""
    return (
        "# Written by python -m estimator.fitting.ship; held_out.csv says how far off it is elsewhere.\n"
        f"# Chosen, and not moved by the fit: {CHOSEN[name]}.\n"
    )


def step_factor() -> StepFactorCoefficients:
    """Fit the spread of the step factor to the stored self-tests."""
    return StepFactorCoefficients(source=SOURCE, in_step_std=results.residual_std(results.stored_rows()))


def _round(value: Any) -> Any:
    """Round numbers to DIGITS significant digits."""
    if isinstance(value, dict):
        return {name: _round(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return [_round(each) for each in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def main(
    data: Annotated[Path, typer.Argument(help="folder of public data sets")], out: Path = COEFFICIENTS_FOLDER
) -> None:
    """Fit all coefficients and validate them."""
    truth, _ = read_truth(data)
    coefficients = fitted_model.fit(truth)
    update: dict[str, Any] = {"step_factor": step_factor()}
    if not lacking(data, power_rows.FILES):
        update["power"] = power.fit(power_rows.read_rows(data))
    write(coefficients.model_copy(update=update), out)
    validation = validate(
        data,
        fitted_model.fitted_side_by_side,
        fit_power=power.fit,
        progress=lambda done, total: typer.echo(f"{done} of {total} families judged", err=True),
    )
    of_whole_models = {name: rows for name, rows in validation.judged.items() if name in whole_models.PROBLEMS}
    for name, table in (
        ("held_out", validation.held_out),
        ("held_out_pairs", scores.of_pairs(of_whole_models, METHODS[0])),
    ):
        write_text(out / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))
    for note in validation.notes:  # those of read_truth, and which problems could not be judged
        typer.echo(note, err=True)


if __name__ == "__main__":
    typer.run(main)
