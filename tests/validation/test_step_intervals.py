"""Intervals of whole steps, and how often they hold."""

import pandas as pd
import pytest

from estimator.model.coefficients import shipped
from estimator.validation.step_intervals import coverage_notes, mean_errors, step_intervals
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
        "whole: 2 of 3 90 % intervals hold the measured step; 75 % with each device counted alike, fewest on a, 50 %"
    ]
    assert not list(coverage_notes({"gemm": rows[["time_s"]]}))


def judged(errors: dict[str, list[float]], half_width: float) -> pd.DataFrame:
    """Judged steps of 1 s with these errors by target."""
    rows = [(device, 1.0 + error) for device, each in errors.items() for error in each]
    table = pd.DataFrame(rows, columns=["target", "ours"]).assign(time_s=1.0)
    return table.assign(low_s=table["ours"] - half_width, high_s=table["ours"] + half_width)


def test_devices_on_which_the_kit_is_worse_are_named_with_their_intervals() -> None:
    specs = judged({"a": [0.1, -0.1], "b": [0.02, 0.02]}, 0.05)
    kit = judged({"a": [0.01, -0.01], "b": [-0.04, 0.06]}, 0.05)
    assert mean_errors(specs).to_dict() == pytest.approx({"a": 10.0, "b": 2.0})
    *_, comparison = coverage_notes({"whole": specs, "whole-kit": kit})
    assert comparison == (
        "whole-kit: the kit makes the mean error larger on b (5.0 % with it, 2.0 % without; 50 % hold)"
    )
    *_, comparison = coverage_notes({"whole-kit": kit.iloc[:2], "whole": specs.iloc[:2]})
    assert comparison == "whole-kit: the kit makes the mean error larger on no device"
    *_, comparison = coverage_notes({"whole": kit, "whole-kit": kit})
    assert comparison.endswith("on no device"), "the same error is not a larger one"
    assert len(list(coverage_notes({"whole-kit": kit}))) == 1, "nothing to compare with"
