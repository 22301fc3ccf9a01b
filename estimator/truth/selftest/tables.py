"""Shapes of the workloads' products, convolutions, pools and streams, measured in each setting several times, never a
workload itself.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core import csv_files, files
from estimator.core.errors import EstimatorError
from estimator.core.schema import MEASUREMENTS, SHAPES, STREAMING
from estimator.core.types import DeviceSpec
from estimator.devices import load_device
from estimator.devices.measure import Plan, kit, sweep
from estimator.devices.measure import measure as measured
from estimator.studies.profile_shapes import in_both_states, profile_shapes
from estimator.truth.selftest.folder import Folder
from estimator.truth.selftest.settings import Setting, ended, in_setting

FIRST_S, AGAIN_S = 90.0, 45.0  # of measuring in one setting, the first time and each time after it
MOST = 100  # shapes that are measured again, those that take most of any workload's step


def needed(folder: Folder, setting: Setting) -> pd.DataFrame:
    """The shapes of the captures in a setting, those that take most of a step first."""
    captures = [str(path) for path in sorted(folder.captures(setting).iterdir())]
    return _distinct(profile_shapes(captures, setting.precision)[0])


def measure(folder: Folder, number: int, setting: Setting, found: pd.DataFrame) -> None:
    """Time the shapes found in a setting: all the first time, then those that take most of a step, by turns.

    Raises EstimatorError where it fails.
    """
    output = folder.table(number, setting)
    asked = in_both_states(again(found, number) if number else found)
    shapes = pd.concat([sweep.anchors([setting.precision], quick=True), asked], ignore_index=True)
    plan = Plan("tensorflow", "cpu", setting.threads, budget_s=AGAIN_S if number else FIRST_S)

    output.parent.mkdir(parents=True, exist_ok=True)
    try:
        with in_setting(setting):
            made = measured(shapes, output, plan, f"estimator selftest, in setting {setting.name}")
    except EstimatorError as error:
        raise ended(setting, "measuring", str(error)) from None
    if load_device(str(made.device)).peak_of(setting.precision).matrix is None:
        raise EstimatorError(
            f"estimator selftest: setting {setting.name}: no product in {setting.precision} could be measured; leave "
            "it out, or run nothing else meanwhile"
        )


def again(found: pd.DataFrame, number: int) -> pd.DataFrame:
    """The shapes that take most of a step, every other one first, and the next time the others: no budget lasts for
    all, and one measurement alone may be a disturbed one.
    """
    kept = found[:MOST]
    return pd.concat([kept[1 - number % 2 :: 2], kept[number % 2 :: 2]], ignore_index=True)


def _distinct(shapes: pd.DataFrame) -> pd.DataFrame:
    """Every product, convolution and pool, and one stream for each class, kernel, number of channels, format and half
    octave of bytes, in the state of the cache that steps leave: warm.
    """
    size = np.log2(shapes["bytes"].astype(float)).mul(2).round()
    streams = shapes["op_class"].isin(STREAMING) & (shapes["op_class"] != "pooling")
    thinned = ~streams | ~shapes.assign(size=size)[["op_class", "kernel", "conv_c", "precision", "size"]].duplicated()
    known = shapes.assign(cache=streams.map({True: "warm", False: None}))
    return SHAPES.conform(known[thinned], "shapes")[sweep.OF_A_SHAPE]


def merge(folder: Folder, setting: Setting) -> None:
    """All rows, of which evidence is the median for each shape, and the device file of the highest peak, so that no row
    beats it.
    """
    tables = [path.with_suffix("") for path in sorted((folder.path / "measured").glob(f"*/{setting.name}.csv"))]
    if not tables:
        raise EstimatorError(f"{folder.path / 'measured'}: holds no table of {setting.name}; choose a new folder")
    read = [MEASUREMENTS.conform(csv_files.read_csv(t.with_suffix(".csv")), setting.name) for t in tables]
    rows = pd.concat(read, ignore_index=True)
    clocks = rows["clock"].unique()  # of several times it is none
    kept = rows.assign(clock=clocks[0] if len(clocks) == 1 else pd.NA)
    best = max(tables, key=lambda table: highest_rate(load_device(str(table.with_suffix(".yaml"))), setting.precision))
    files.write_text(folder.device(setting), files.read_text(best.with_suffix(".yaml")))
    files.write_text(folder.device(setting).with_suffix(".csv"), kit.csv_text(kept))


def highest_rate(device: DeviceSpec, precision: str) -> float:
    """The highest rate [FLOP/s] that any product reached in a precision."""
    found = device.peak_of(precision).matrix
    return found.value if found else float("nan")
