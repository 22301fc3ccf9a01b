"""Shapes of the workloads' products, convolutions, pools and streams, measured in each setting several times, never a
workload itself.

Of a target, a prediction knows the shapes that the source's captures ask for there, as of a machine on which nothing
ran.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from estimator.collect.measure import Plan, kit, sweep
from estimator.collect.measure import measure as measured
from estimator.core import csv_files, files
from estimator.core.errors import EstimatorError
from estimator.core.operators import operators, with_operators
from estimator.core.schema import MATRIX, MEASUREMENTS, SHAPES, UNPOOLED
from estimator.core.types import DeviceSpec
from estimator.devices import load_device
from estimator.model.measured_rows import ENDS
from estimator.model.shape_keys import shape_keys
from estimator.studies.profile_shapes import profile_shapes, with_cold_rows
from estimator.validation.selftest.folder import Folder
from estimator.validation.selftest.settings import Setting, ended, in_setting

ALIKE = 0.1  # relative error of a median: it is better to time a shape at several moments than long at one


def needed(folder: Folder, sources: Sequence[Setting], precision: str) -> pd.DataFrame:
    """The shapes that steps captured in some settings need in a precision, those that take most of a step first, what
    was captured in another precision last.
    """
    found = []
    for crossed in (None, precision):
        several = [source for source in sources if (source.precision == precision) is (crossed is None)]
        captures = [str(path) for source in several for path in sorted(folder.captures(source).iterdir())]
        found += [profile_shapes(captures, crossed)[0]] if captures else []
    return _distinct(pd.concat(found, ignore_index=True))


def measure(folder: Folder, number: int, setting: Setting, found: pd.DataFrame, budget_s: float) -> None:
    """Time the shapes found in a setting, as many as the budget [s] lasts for, those first that were timed least often.

    Raises EstimatorError where it fails.
    """
    output = folder.table(number, setting)
    asked = least_timed_first(found, [_rows(table) for table in _tables(folder, setting)])
    shapes = pd.concat([_anchors(setting, found), with_cold_rows(asked)], ignore_index=True)
    plan = Plan("tensorflow", "cpu", setting.threads, ALIKE, budget_s)

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


def least_timed_first(found: pd.DataFrame, timed: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The shapes in the order of how many tables have timed them, of as many those first that take most of a step: no
    budget lasts for all, and one measurement alone may be a disturbed one.
    """
    sorts = _sorts(found)
    times = sum((sorts.isin(_sorts(rows)).astype(int) for rows in timed), start=pd.Series(0, found.index))
    return found.loc[times.sort_values(kind="stable").index].reset_index(drop=True)


def _tables(folder: Folder, setting: Setting) -> list[Path]:
    """Those of a setting, in order, without their endings."""
    return [path.with_suffix("") for path in sorted((folder.path / "measured").glob(f"*/{setting.name}.csv"))]


def _rows(table: Path) -> pd.DataFrame:
    """The rows of a table, whatever its path ends in."""
    return with_operators(MEASUREMENTS.conform(csv_files.read_csv(table.with_suffix(".csv")), table.stem))


def _anchors(setting: Setting, found: pd.DataFrame) -> pd.DataFrame:
    """What tells bandwidth, launches, and the peaks of the precisions that products need: mixed ones keep some wide."""
    return sweep.anchors(list(dict.fromkeys([setting.precision, *_precisions(found)])), quick=True)


def _precisions(rows: pd.DataFrame) -> Iterator[str]:
    """Of products and convolutions."""
    return map(str, rows.loc[rows["op_class"].isin(MATRIX).to_numpy(dtype=bool), "precision"].unique())


def _distinct(shapes: pd.DataFrame) -> pd.DataFrame:
    """One shape of each sort, in the state of the cache that steps leave streams in: warm."""
    known = shapes.assign(cache=shapes["op_class"].isin(UNPOOLED).map({True: "warm", False: None}))
    return SHAPES.conform(known[~_sorts(shapes).duplicated()], "shapes")[sweep.OF_A_SHAPE]


def _sorts(shapes: pd.DataFrame) -> pd.Series:
    """Numbers, alike for one product, convolution or pool, and for streams of one class, kernel, number of channels,
    format and half octave of bytes.
    """
    stand_ins = {name: operators()[name].benchmark_kernel for name in UNPOOLED}
    size = np.log2(shapes["bytes"].astype(float)).mul(2).round()
    kernel = shapes["kernel"].fillna(shapes["op_class"].map(stand_ins))
    alike = shapes.assign(kernel=kernel, size=size)[["op_class", "kernel", "conv_c", "precision", "size"]]
    streams = pd.util.hash_pandas_object(alike, index=False).astype("int64")
    return shape_keys(shapes).mask(shapes["op_class"].isin(UNPOOLED), streams)


def merge(folder: Folder, setting: Setting) -> None:
    """One row of each shape, and the device file of the highest peaks, so that no row beats them."""
    tables = _tables(folder, setting)
    if not tables:
        raise EstimatorError(f"{folder.path / 'measured'}: holds no table of {setting.name}; choose a new folder")
    read = [_rows(table) for table in tables]
    rows = _of_tables(pd.concat(read, ignore_index=True))
    clocks = rows["clock"].unique()  # of several times it is none
    kept = rows.assign(clock=clocks[0] if len(clocks) == 1 else pd.NA)
    text = yaml.safe_dump(_of_highest_peaks(tables, setting.precision), sort_keys=False, allow_unicode=True)
    files.write_text(folder.device(setting), text)
    files.write_text(folder.device(setting).with_suffix(".csv"), kit.csv_text(kept))


def _of_tables(rows: pd.DataFrame) -> pd.DataFrame:
    """The fastest row of each shape, of what memory binds in the median time: memory is now faster and now slower for a
    while, and a step's time is its median too.
    """
    least = rows.sort_values("time_s", kind="stable").drop_duplicates(sweep.OF_A_SHAPE)
    longer = rows.groupby(sweep.OF_A_SHAPE, dropna=False)["time_s"].transform("median") / rows["time_s"]
    by = longer[least.index].mask(least["op_class"].isin(MATRIX), 1.0)
    return least.assign(**{end: by * least[end] for end in ENDS})


def _of_highest_peaks(tables: Sequence[Path], precision: str) -> dict[str, Any]:
    """The device file beside the table that has the highest peak in a precision, with those that others have higher."""
    paths = [table.with_suffix(".yaml") for table in tables]
    devices, texts = [load_device(str(path)) for path in paths], [yaml.safe_load(files.read_text(p)) for p in paths]
    best = {str(p): int(np.nanargmax([highest_rate(d, p) for d in devices])) for d in devices for p in d.peak}
    return {**texts[best[precision]], "peak": {p: texts[number]["peak"][p] for p, number in best.items()}}


def tell(folder: Folder, settings: Sequence[Setting]) -> None:
    """Write down what each source knows of each target that is merged: the rows of shapes that its captures ask for."""
    precisions = {setting.precision for setting in settings}
    found = {(source, p): needed(folder, [source], p) for source, p in itertools.product(settings, precisions)}
    for target in settings:
        rows = _rows(folder.device(target))
        sorts = _sorts(rows)
        for source in (setting for setting in settings if setting != target):
            shapes = found[source, target.precision]
            asked = pd.concat([_anchors(target, shapes), shapes], ignore_index=True)
            files.write_text(folder.known(source, target), kit.csv_text(rows[sorts.isin(_sorts(asked))]))


def highest_rate(device: DeviceSpec, precision: str) -> float:
    """The highest rate [FLOP/s] that any product reached in a precision; NaN where none was timed."""
    found = device.peak_of(precision).matrix if precision in device.peak else None
    return found.value if found else float("nan")
