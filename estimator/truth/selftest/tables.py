"""Products and streams of the workloads' shapes, measured in each setting several times, never a workload itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pandas as pd

from estimator.core import csv_files, files
from estimator.core.errors import EstimatorError
from estimator.core.schema import MEASUREMENTS, STREAMING
from estimator.core.types import DeviceSpec
from estimator.devices import load_device
from estimator.devices.measure import kit, sweep
from estimator.studies.profile_shapes import profile_shapes
from estimator.truth.selftest.folder import Folder
from estimator.truth.selftest.settings import Setting, ended, in_setting

BUDGET_S = 75  # of measuring in one setting, once, the start of the library included


def measure(folder: Folder, number: int, setting: Setting) -> None:
    """Time every shape of the captures in a setting, unless that is there. Raises EstimatorError where it fails."""
    output = folder.table(number, setting)
    if output.with_suffix(".yaml").exists():
        return
    captures = [str(path) for path in sorted(folder.captures(setting).iterdir())]
    needed = _distinct(profile_shapes(captures, setting.precision)[0])
    shapes = pd.concat([sweep.anchors([setting.precision], quick=True), needed], ignore_index=True)
    files.write_text(output.with_suffix(".shapes"), kit.csv_text(shapes))
    command = ["--backend", "tensorflow", "--device", "cpu", "--quick", "--threads", str(setting.threads), "--shapes",
               str(output.with_suffix(".shapes")), "--budget", f"{BUDGET_S} s", "-o", str(output)]  # fmt: skip
    with in_setting(setting):
        done = subprocess.run(
            [sys.executable, "-m", "estimator", "measure", *command], env={**os.environ, "PYTHONSAFEPATH": "1"},
            capture_output=True, text=True,
        )  # fmt: skip
    if done.returncode:
        raise ended(setting, "estimator measure", done.stderr)
    if load_device(str(output.with_suffix(".yaml"))).peak_of(setting.precision).matrix is None:
        raise EstimatorError(
            f"estimator selftest: setting {setting.name}: products in {setting.precision} are no faster than in fp32 "
            "here; leave it out"
        )


def _distinct(shapes: pd.DataFrame) -> pd.DataFrame:
    """Every product and convolution, and of streams one for each class and half octave of bytes, in the cache's state
    that steps leave: warm.
    """
    size = np.log2(shapes["bytes"].astype(float)).mul(2).round()
    streams = shapes["op_class"].isin(STREAMING)
    thinned = ~streams | ~shapes.assign(size=size)[["op_class", "size"]].duplicated()
    return shapes.assign(cache=streams.map({True: "warm", False: None}))[thinned]


def merge(folder: Folder, setting: Setting, numbers: Sequence[int]) -> None:
    """The fastest row of each shape, and the device file of the highest peak, so that no row beats it."""
    tables = [folder.table(number, setting) for number in numbers]
    read = [MEASUREMENTS.conform(csv_files.read_csv(t.with_suffix(".csv")), setting.name) for t in tables]
    rows = pd.concat(read, ignore_index=True)
    fastest = rows.loc[rows.groupby(sweep.OF_A_SHAPE, dropna=False)["time_s"].idxmin()]
    best = max(tables, key=lambda table: highest_rate(load_device(str(table.with_suffix(".yaml"))), setting.precision))
    files.write_text(folder.device(setting), files.read_text(best.with_suffix(".yaml")))
    files.write_text(folder.device(setting).with_suffix(".csv"), kit.csv_text(fastest.sort_index()))


def highest_rate(device: DeviceSpec, precision: str) -> float:
    """The highest rate [FLOP/s] that any product reached in a precision."""
    found = device.peak_of(precision).matrix
    return found.value if found else float("nan")
