"""Self-tests that were run by hand, and the coefficient that follows."""

import pandas as pd
import pytest

from estimator.core.interval import Z
from estimator.model.coefficients import shipped
from estimator.validation.selftest import results
from estimator.validation.selftest.judge import COLUMNS


def test_every_run_has_its_rows_processor_and_date() -> None:
    rows = results.stored_rows()
    assert set(rows) == {*COLUMNS, "processor", "date"}
    assert rows.notna().all(axis=None)
    assert not rows.duplicated(["workload", "source", "target", "measured_s"]).any()


def test_intervals_would_hold_nine_in_ten_rows() -> None:
    rows = pd.DataFrame({"predicted_s": [1.0] * 10 + [2.0], "measured_s": [1.0] * 9 + [1.5, 2.0]})
    rows = rows.assign(processor="a")
    assert results.residual_std(rows) == 0.0
    wide = rows.assign(predicted_s=3.0 * rows["measured_s"])
    assert results.residual_std(wide) == pytest.approx(1.0986 / Z, rel=1e-3)


def test_processors_have_the_same_weight() -> None:
    usual = pd.DataFrame({"predicted_s": [1.0] * 100, "measured_s": 1.0, "processor": "a"})
    unlike = pd.DataFrame({"predicted_s": [1.1] * 5 + [3.0] * 5, "measured_s": 1.0, "processor": "b"})
    assert results.residual_std(pd.concat([usual, unlike], ignore_index=True)) == pytest.approx(1.0986 / Z, rel=1e-3)
    assert results.residual_std(pd.concat([usual, unlike[:5]], ignore_index=True)) == pytest.approx(
        0.0953 / Z, rel=1e-3
    )


def test_the_shipped_coefficient_follows_from_the_runs() -> None:
    assert shipped().step_factor.in_step_std == pytest.approx(results.residual_std(results.stored_rows()), rel=1e-3)
