"""Intervals of whole steps, and how often they hold."""

import pandas as pd
import pytest

from estimator.model.coefficients import shipped
from estimator.validation.step_intervals import coverage_notes, step_intervals
from tests.validation.public import truth

DEVICE = "v100-pcie-32gb"
BY = ["run", "device"]
PRODUCT = {"device": DEVICE, "data_set": "neusight-linear", "m": 4096, "n": 4096, "k": 4096}


def launched(*calls: float) -> pd.DataFrame:
    """One product a step, called so many times."""
    rows = truth(*(PRODUCT for _ in calls))
    return rows.assign(calls=calls, run=[f"step {i}" for i in range(len(calls))])


def test_the_interval_of_a_step_grows_with_its_calls() -> None:
    stated = step_intervals(launched(1.0, 3.0), BY, DEVICE, truth(PRODUCT).iloc[:0], shipped())
    once, thrice = (stated[name] for name in (("step 0", DEVICE), ("step 1", DEVICE)))
    assert thrice == pytest.approx([3 * end for end in once], rel=0.05)
    assert once[0] > 2 * 4096**3 / 15e12, "the peak of fp32 bounds the time from below"
    assert 1.1 < once[1] / once[0] < 3.0


def test_measured_shapes_narrow_the_interval() -> None:
    rows = launched(1.0)
    measured = truth({**PRODUCT, "time_s": 0.011})
    before, after = (
        step_intervals(rows, BY, DEVICE, own, shipped())["step 0", DEVICE] for own in (measured.iloc[:0], measured)
    )
    assert after[1] / after[0] < before[1] / before[0]


def test_intervals_that_hold_are_counted() -> None:
    rows = pd.DataFrame(
        {"target": ["a", "a", "b"], "time_s": [1.0, 2.0, 3.0], "low_s": [0.5, 2.5, 2.0], "high_s": [1.5, 3.0, 4.0]}
    )
    assert list(coverage_notes({"whole": rows})) == [
        "whole: 2 of 3 90 % intervals hold the measured step; fewest on a, 50 %"
    ]
    assert not list(coverage_notes({"gemm": rows[["time_s"]]}))
