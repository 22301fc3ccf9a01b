"""Steps judged without the family of their device: what is fitted, and what is predicted by it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from estimator.core.csv_files import read_csv
from estimator.model import coefficients
from estimator.validation.left_out import by_family, unmeasured
from estimator.validation.protocol import FittedPredictor, Predictor

TRUTH = pd.DataFrame({"family": ["volta", "kepler", "turing"]})
ROWS = pd.DataFrame({"device": ["t4", "v100", "v100-pcie-32gb"], "time_s": [1.0, 2.0, 3.0]})


def test_a_family_is_predicted_by_what_the_others_taught() -> None:
    fitted_on: list[list[str]] = []

    def method(truth: pd.DataFrame) -> Predictor:
        fitted_on.append(list(truth["family"]))
        fits.append(coefficients.shipped().model_copy())
        return FittedPredictor(lambda rows, own: own["x"], fits[-1])

    fits: list[coefficients.Coefficients] = []
    seen: list[coefficients.Coefficients] = []

    def predict(rows: pd.DataFrame) -> pd.DataFrame:
        seen.append(coefficients.shipped())
        return rows.assign(ours=rows["time_s"] * 2)

    actual = by_family(TRUTH, ROWS, method, predict)
    assert fitted_on == [["volta", "kepler"], ["kepler", "turing"]]  # without turing, without volta
    assert actual["family"].tolist() == ["turing", "volta", "volta"]
    assert actual["ours"].tolist() == [2.0, 4.0, 6.0]
    assert all(used is fit for used, fit in zip(seen, fits, strict=True))


def test_a_method_without_coefficients_is_refused() -> None:
    with pytest.raises(TypeError, match="has no coefficients to predict steps by"):
        by_family(TRUTH, ROWS, lambda truth: lambda rows, own: own["x"], lambda rows: rows)


def test_rows_get_what_is_predicted_without_measurements() -> None:
    def predict(row: Mapping[str, Any], table: str) -> dict[str, float]:
        assert read_csv(Path(table)).empty
        return {"ours": row["time_s"] / 2}

    assert unmeasured(ROWS, predict)["ours"].tolist() == [0.5, 1.0, 1.5]
