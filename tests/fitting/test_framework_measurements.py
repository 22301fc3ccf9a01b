"""What is shipped of the kernels that a framework timed."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from estimator.core import library
from estimator.fitting import framework_measurements


def timed(count: int, shortest_s: float, **columns: object) -> pd.DataFrame:
    times = [shortest_s * (1 + place) for place in range(count)]
    return pd.DataFrame({"time_s": times}).assign(device="toy", precision="fp32", library="torch", **columns)


def test_long_rows_are_chosen_evenly() -> None:
    products = timed(1000, 1e-5, op_class="gemm", data_set="neusight-bmm", batch=2, m=8, n=8, k=8)
    streams = timed(3, 1e-2, op_class="elementwise", data_set="neusight-vector", op="relu", bytes=1e9)
    others = timed(9, 1e-2, op_class="normalization", data_set="neusight-vector", op="softmax", bytes=1e9)
    actual = framework_measurements.chosen(pd.concat([products, streams, others], ignore_index=True))
    assert actual["op_class"].tolist() == ["gemm"] * 40 + ["elementwise"] * 3
    assert actual["kernel"].fillna("").tolist() == [""] * 40 + ["relu"] * 3
    times = actual["time_s"].iloc[:40]
    assert (times.iloc[0], times.iloc[-1]) == (1e-3, 1e-2)
    assert times.diff().dropna().between(2.2e-4, 2.4e-4).all()


@pytest.mark.parametrize("name", library.names("devices", "measurements/*.torch.csv"))
def test_no_launch_is_much_of_a_shipped_time(name: str) -> None:
    rows = pd.read_csv(library.names("devices", "measurements/*.torch.csv")[name])
    assert rows["time_s"].min() >= framework_measurements.SHORTEST_S
    assert set(rows["op_class"]) <= {"gemm", "convolution", "elementwise"}


@pytest.mark.slow
def test_the_shipped_tables_are_those_that_it_writes(public_data: Callable[[str], Path], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    framework_measurements.main(public_data("data/neusight").parent, tmp_path)
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    shipped = library.names("devices", "measurements/*.torch.csv").values()
    assert written.items() >= {path.name: path.read_text() for path in shipped}.items()
