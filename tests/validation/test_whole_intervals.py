"""Intervals of whole models: whose kernels they sum, by what coefficients and own rows, and what is said of them."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.interval import bounds
from estimator.core.schema import WORK
from estimator.core.types import RunPlan
from estimator.devices import load_device
from estimator.model import SourceRun, TargetDevice, coefficients, predict
from estimator.model.coefficients import shipped
from estimator.model.isolated import MIN_LAUNCHES
from estimator.validation import arguments, whole_intervals
from tests.validation.public import truth

DEVICE = "v100-pcie-32gb"
PRODUCT = {"device": DEVICE, "data_set": "neusight-linear", "m": 4096, "n": 4096, "k": 1024}
STREAM = {"device": DEVICE, "data_set": "neusight-vector", "op_class": "elementwise", "op": "add", "bytes": 4e8}


def kernels() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Three kernels of two runs, not in the order of the runs."""
    rows = truth(PRODUCT, STREAM, PRODUCT | {"m": 512}).assign(calls=[3.0, 1.0, 2.0])
    return rows, pd.DataFrame({"device": "a", "model": ["second", "first", "second"]}, index=[7, 8, 9])


def none() -> pd.DataFrame:
    return truth(PRODUCT).iloc[:0]


def ends_of(own: pd.DataFrame) -> pd.DataFrame:
    rows, runs = kernels()
    return whole_intervals.sums(rows, runs, DEVICE, own, shipped())


def test_each_runs_interval_is_that_of_the_sum_of_its_kernels() -> None:
    """The run of one stream against the same op predicted as a user would."""
    found = ends_of(none())
    op = {"op": "add", "op_class": "elementwise", "precision": "fp32", "bytes": 4e8, "calls": 1.0, "time_s": 0.0}
    work = WORK.conform(pd.DataFrame([op]), "test")
    nothing = whole_intervals.measurements(none())
    samples = predict(work, SourceRun(), TargetDevice(load_device(DEVICE), nothing), RunPlan(DEVICE)).samples
    low, _, high = bounds(samples.sum(axis=1))
    assert found.loc[("a", "first")].tolist() == pytest.approx([low, high])
    assert found.loc[("a", "second"), "low_s"] > 3 * 2 * 4096 * 4096 * 1024 / 14.0e12  # three of its calls at the peak


def test_calls_lengthen_a_run() -> None:
    rows, runs = kernels()
    once, twice = (
        whole_intervals.sums(rows.assign(calls=calls * rows["calls"]), runs, DEVICE, none(), shipped())
        for calls in (1.0, 2.0)
    )
    assert (twice / once).to_numpy() == pytest.approx(np.full((2, 2), 2.0), rel=0.01)


def test_the_coefficients_are_those_given() -> None:
    c = shipped()
    slower = c.model_copy(
        update={"gemm": c.gemm.model_copy(update={"sustained": c.gemm.sustained.model_copy(update={"share": 0.4})})}
    )
    rows, runs = kernels()
    found = whole_intervals.sums(rows, runs, DEVICE, none(), slower) / ends_of(none())
    assert (found.loc[("a", "second")] > 1.5).all()
    assert found.loc[("a", "first")].tolist() == pytest.approx([1.0, 1.0])
    assert coefficients.shipped() is c


def test_own_rows_narrow_the_interval_and_move_it() -> None:
    sizes = [{**PRODUCT, "m": m} for m in (1024, 2048, 3072, 6144, 8192)]
    modelled = truth(*sizes)
    own = modelled.assign(time_s=3.0 * modelled["ideal_s"])
    without, with_own = ends_of(none()).loc[("a", "second")], ends_of(own).loc[("a", "second")]
    assert with_own["high_s"] / with_own["low_s"] < 0.9 * without["high_s"] / without["low_s"]
    assert with_own["low_s"] > 1.3 * without["low_s"]


def test_a_frameworks_call_is_no_part_of_a_measured_kernel() -> None:
    rows = truth(PRODUCT, STREAM)
    call_s = arguments.latencies(rows)
    assert call_s[0] > call_s[1] > arguments.KERNEL_LATENCY_S
    barely, hardly = (1.0 + MIN_LAUNCHES) * 1.001, (1.0 + MIN_LAUNCHES) * 0.999
    found = whole_intervals.measurements(rows.assign(time_s=[barely * call_s[0], hardly * call_s[1]]))
    expected_s = (barely - 1.0) * call_s[0] + arguments.KERNEL_LATENCY_S
    assert found["time_s"].tolist() == pytest.approx([expected_s])
    assert found["op_class"].tolist() == ["gemm"]


def judged(errors: dict[str, list[float]], half_width: float) -> pd.DataFrame:
    """Judged rows with the given errors by target: each took 1 s."""
    rows = [(device, 1.0 + error) for device, each in errors.items() for error in each]
    table = pd.DataFrame(rows, columns=["target", "ours"]).assign(source="s", model="m", time_s=1.0)
    return table.assign(low_s=table["ours"] - half_width, high_s=table["ours"] + half_width)


def test_what_holds_is_counted_and_where_it_does_not() -> None:
    rows = judged({"a": [0.0, 0.05, -0.2, 0.3], "b": [0.01]}, 0.1)
    assert whole_intervals.held(rows).tolist() == [True, True, False, False, True]
    assert list(whole_intervals.coverage_notes({"whole": rows})) == [
        "whole: 3 of 5 90 % intervals hold the measured time, 75% with each device counted alike; those that do not "
        "are on a (2)"
    ]
    assert next(whole_intervals.coverage_notes({"whole": judged({"a": [0.0]}, 0.1)})).endswith("are on none")


def test_devices_on_which_the_kit_is_worse_are_named_with_their_intervals() -> None:
    specs = judged({"a": [0.1, -0.1], "b": [0.02]}, 0.05)
    kit = judged({"a": [0.01, -0.01], "b": [-0.04]}, 0.05)
    assert whole_intervals.mean_errors(specs).to_dict() == pytest.approx({"a": 10.0, "b": 2.0})
    *_, comparison = whole_intervals.coverage_notes({"whole": specs, "whole-kit": kit})
    assert comparison == (
        "whole-kit: the kit makes the mean error larger on b (4.0 % with it, 2.0 % without; 100% hold)"
    )
    *_, comparison = whole_intervals.coverage_notes({"whole": kit.iloc[:2], "whole-kit": kit.iloc[:2]})
    assert comparison.endswith("larger on no device")


def test_problems_without_intervals_say_nothing() -> None:
    assert not list(whole_intervals.coverage_notes({"gemm": pd.DataFrame({"time_s": [1.0], "ours": [1.0]})}))
