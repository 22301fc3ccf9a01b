"""Rows of kernels that traces of real runs timed."""

import pandas as pd
import pytest

from estimator.core import library
from estimator.core.schema import MATRIX
from estimator.fitting import trace_measurements
from estimator.fitting.trace_measurements import SHORTEST_S, measurements, timed_calls

NAMES = library.names("devices", "measurements/*.traces.csv")


def test_a_row_is_the_median_of_its_shape() -> None:
    calls = pd.DataFrame({
        "op_class": "gemm", "operator": "gemm", "precision": "bf16", "m": [8, 8, 8, 9], "n": 8, "k": 8, "flop": None,
        "bytes": None, "time_s": [1e-4, 3e-4, 2e-4, 5e-4], "repeats": [1, 2, 3, 4], "source": "a paper",
    })  # fmt: skip
    actual = measurements(calls)
    assert actual["time_s"].tolist() == [2e-4, 5e-4]
    assert actual["repeats"].tolist() == [6, 4]


def test_calls_of_a_dump_are_timed_one_by_one() -> None:
    calls = timed_calls(library.names("profiles", "*")["p1b2"])
    assert set(calls["op_class"]) == {"gemm"}
    assert calls["flop"].isna().all()
    assert (calls["time_s"] >= SHORTEST_S).all()


@pytest.mark.parametrize("name", NAMES)
def test_shipped_rows_are_long_enough_and_of_known_classes(name: str) -> None:
    rows = pd.read_csv(NAMES[name])
    assert set(rows["op_class"]) <= set(MATRIX)
    assert rows["time_s"].min() >= trace_measurements.SHORTEST_S
