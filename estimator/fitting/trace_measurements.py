"""``python -m estimator.fitting.trace_measurements DEVICE DUMP… --source TEXT``: shipped rows of kernels that public
traces of real runs timed on a device.

Writes devices/measurements/DEVICE.traces.csv: of each product, convolution and attention of known sizes the median time
of a call. Short calls are left out, as their time is mostly that of a start.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from estimator.collect.measure.kit import csv_text
from estimator.core.files import write_text
from estimator.core.schema import MATRIX, MEASUREMENTS
from estimator.fitting.framework_measurements import HERE
from estimator.profiles import read_profile
from estimator.work import count_work

SHORTEST_S = 2e-5
DIGITS = 4
OF_A_ROW = ("time_s", "repeats", "source", "kernel", "flop", "bytes")  # do not tell shapes apart


def timed_calls(dump: Path) -> pd.DataFrame:
    """The calls of a dump's ops of known sizes, as MEASUREMENTS without device and source."""
    profile = read_profile(dump)
    work = count_work(profile.ops, profile.workload, profile.where).work
    timed = (work["work_source"] == "shapes") & (work["calls"] >= 1) & work["op_class"].isin(MATRIX)
    calls = work[timed & (work["time_s"] >= SHORTEST_S * work["calls"])]
    by_amounts = calls["op_class"] == "attention"
    amounts = {name: (calls[name] / calls["calls"]).where(by_amounts) for name in ("flop", "bytes")}
    number = (calls["calls"] * profile.steps).round()
    return calls.assign(**amounts, time_s=calls["time_s"] / calls["calls"], repeats=number, kernel=None)


def measurements(calls: pd.DataFrame) -> pd.DataFrame:
    """One row per shape: the median over the ops of that shape."""
    columns = [name for name in MEASUREMENTS.names() if name in calls]
    keys = [name for name in columns if name not in OF_A_ROW] + ["flop", "bytes"]
    groups = calls[columns].groupby(keys, dropna=False, sort=False)
    rows = groups.agg(time_s=("time_s", "median"), repeats=("repeats", "sum"), source=("source", "first")).reset_index()
    return MEASUREMENTS.conform(rows.assign(time_s=[float(f"{t:.{DIGITS}g}") for t in rows["time_s"]]), "traces")


def main(
    device: Annotated[str, typer.Argument(help="catalogue name of the device")],
    dumps: Annotated[list[Path], typer.Argument(help="dumps, each of one run on it")],
    source: Annotated[str, typer.Option(help="where the dumps were published, and their licence")],
    out: Path = HERE,
) -> None:
    """Write the rows of one device."""
    parts = [timed_calls(dump).assign(source=f"{source}: {dump.name}") for dump in dumps]
    calls = pd.concat(parts, ignore_index=True).assign(device=device, library="traces, PyTorch")
    write_text(out / f"{device}.traces.csv", csv_text(measurements(calls)))


if __name__ == "__main__":
    typer.run(main)
