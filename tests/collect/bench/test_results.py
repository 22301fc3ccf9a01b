"""The results of a run."""

from pathlib import Path

import pytest

from estimator.collect.bench.sweep import COLUMNS
from estimator.collect.bench.timing import FEWEST_REPEATS
from estimator.core.operators import timed_streams
from estimator.core.schema import MEASUREMENTS
from tests.collect.bench.runs import measure


@pytest.mark.slow
def test_the_rows_are_those_of_measurements(folder: Path) -> None:
    assert measure(folder) == 0
    assert set(COLUMNS) <= set(MEASUREMENTS.names())
    import pandas as pd

    rows = MEASUREMENTS.conform(pd.read_csv(folder / "out.csv", dtype="string[python]"), "out.csv")
    assert (rows["time_low_s"] <= rows["time_s"]).all()
    assert (rows["time_s"] <= rows["time_high_s"]).all()
    assert (rows["repeats"] >= FEWEST_REPEATS).all()
    assert rows[["library", "threads", "source"]].notna().all(axis=None)
    assert set(rows["clock"]) == {"1000 MHz"}
    streams = rows[rows["kernel"].isin(timed_streams())]
    assert set(streams["cache"]) == {"cold", "warm"}
    assert (streams["bytes"] > 0).all()
