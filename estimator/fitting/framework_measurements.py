"""``python -m estimator.fitting.framework_measurements DATA``: the shipped rows of kernels timed in PyTorch (NeuSight).

Writes devices/measurements/NAME.torch.csv: of each device some hundred products, and convolutions and streams where it
timed them. A call there takes 25 to 70 us to launch, which is no part of a profile's kernels: so only what takes a
millisecond counts, spread evenly in the order of the times.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from estimator.collect.measure.kit import csv_text
from estimator.core.files import write_text
from estimator.core.operators import with_operators
from estimator.core.schema import MEASUREMENTS
from estimator.devices.specs.catalogue import source_device
from estimator.validation import neusight

HERE = Path(__file__).parents[2] / "devices" / "measurements"
FRAMEWORK = "torch"
SHORTEST_S = 1e-3
DIGITS = 5
# of each op, as many as a table of DeepBench has: more make errors on the others hardly smaller; no softmax, no layer
# norm, as those go by the length of their rows, which MEASUREMENTS do not tell
ROWS = {
    "neusight-linear": 120, "neusight-bmm": 40, "neusight-conv": 120, "add": 5, "relu": 5, "gelu": 5, "tanh": 5,
}  # fmt: skip


def chosen(rows: pd.DataFrame) -> pd.DataFrame:
    """Those of one device's rows that are shipped, as MEASUREMENTS, in the order of ROWS and of their times."""
    op = rows["op"].fillna(rows["data_set"])
    long = rows.assign(op=op, kernel=rows["op"])[rows["time_s"] >= SHORTEST_S].sort_values("time_s", kind="stable")
    parts = [_evenly(long[long["op"] == name], count) for name, count in ROWS.items()]
    selected = pd.concat(parts, ignore_index=True)
    times = selected["time_s"].map(lambda time: float(f"{time:.{DIGITS}g}"))
    rows = MEASUREMENTS.conform(selected.assign(time_s=times).reindex(columns=MEASUREMENTS.names()), "chosen rows")
    return with_operators(rows)


def _evenly(rows: pd.DataFrame, count: int) -> pd.DataFrame:
    """So many of the rows, or all, at even distances from the first to the last."""
    return rows.iloc[np.unique(np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(int))]


def main(data: Annotated[Path, typer.Argument(help="folder of public data sets")], out: Path = HERE) -> None:
    """Write a table for each device of NeuSight that the catalogue holds."""
    rows = pd.concat([neusight.read(data / name) for name in neusight.FILES], ignore_index=True)
    for name, of_device in rows.groupby("device"):
        device = source_device(str(name))
        if device:
            write_text(out / f"{device.name}.{FRAMEWORK}.csv", csv_text(chosen(of_device.assign(device=device.name))))


if __name__ == "__main__":
    typer.run(main)
