"""Measurements of the workloads' shapes (products, convolutions, pools, streams) in each setting, several times.

For a prediction, the known rows of a target are those of shapes in the source's captures: no workload ran there.
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
from estimator.collect.measure import measure as measure_shapes
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
from estimator.validation.selftest.settings import Setting, in_setting, process_error

RELATIVE_ERROR = 0.1  # of a median: several short measurements are better than a long one


def needed_shapes(folder: Folder, sources: Sequence[Setting], precision: str) -> pd.DataFrame:
    """The shapes that captured steps of some settings need in a precision, by falling share of the step.

    Those captured in another precision come last.
    """
    tables = []
    for conversion in (None, precision):
        matching = [source for source in sources if (source.precision == precision) is (conversion is None)]
        captures = [str(path) for source in matching for path in sorted(folder.captures(source).iterdir())]
        tables += [profile_shapes(captures, conversion)[0]] if captures else []
    return _distinct(pd.concat(tables, ignore_index=True))


def measure(folder: Folder, occasion: int, setting: Setting, shapes: pd.DataFrame, budget_s: float) -> None:
    """Time shapes in a setting within the budget [s], those timed least often first.

    Raises EstimatorError where it fails.
    """
    output = folder.table(occasion, setting)
    ordered = least_timed_first(shapes, [_rows(table) for table in _tables(folder, setting)])
    to_measure = pd.concat([_anchors(setting, shapes), with_cold_rows(ordered)], ignore_index=True)
    plan = Plan("tensorflow", "cpu", setting.threads, RELATIVE_ERROR, budget_s)

    output.parent.mkdir(parents=True, exist_ok=True)
    try:
        with in_setting(setting):
            measured_files = measure_shapes(to_measure, output, plan, f"estimator selftest, in setting {setting.name}")
    except EstimatorError as error:
        raise process_error(setting, "measuring", str(error)) from None
    if load_device(str(measured_files.device)).peak_of(setting.precision).matrix is None:
        raise EstimatorError(
            f"estimator selftest: setting {setting.name}: no product in {setting.precision} could be measured; leave "
            "it out, or run nothing else meanwhile"
        )


def least_timed_first(shapes: pd.DataFrame, tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Sort the shapes by the number of tables that have timed them; equal ones keep their order.

    The budget does not last for all, and a single measurement may be disturbed.
    """
    shape_ids = _shape_ids(shapes)
    counts = sum((shape_ids.isin(_shape_ids(rows)).astype(int) for rows in tables), start=pd.Series(0, shapes.index))
    return shapes.loc[counts.sort_values(kind="stable").index].reset_index(drop=True)


def _tables(folder: Folder, setting: Setting) -> list[Path]:
    """The paths of a setting's tables, sorted, without suffix."""
    return [path.with_suffix("") for path in sorted((folder.path / "measured").glob(f"*/{setting.name}.csv"))]


def _rows(table: Path) -> pd.DataFrame:
    """The rows of a table; its path may have any suffix."""
    return with_operators(MEASUREMENTS.conform(csv_files.read_csv(table.with_suffix(".csv")), table.stem))


def _anchors(setting: Setting, shapes: pd.DataFrame) -> pd.DataFrame:
    """The shapes that measure bandwidth, launches, and peaks; mixed precision needs those of several formats."""
    return sweep.anchors(list(dict.fromkeys([setting.precision, *_precisions(shapes)])), quick=True)


def _precisions(rows: pd.DataFrame) -> Iterator[str]:
    """The precisions of products and convolutions."""
    return map(str, rows.loc[rows["op_class"].isin(MATRIX).to_numpy(dtype=bool), "precision"].unique())


def _distinct(shapes: pd.DataFrame) -> pd.DataFrame:
    """Distinct shapes; streams have a warm cache, as in a step."""
    with_cache = shapes.assign(cache=shapes["op_class"].isin(UNPOOLED).map({True: "warm", False: None}))
    return SHAPES.conform(with_cache[~_shape_ids(shapes).duplicated()], "shapes")[sweep.SHAPE_COLUMNS]


def _shape_ids(shapes: pd.DataFrame) -> pd.Series:
    """A number per row, equal for equal products, convolutions and pools, and for similar streams.

    Similar streams have the same class, kernel, number of channels, format and half octave of bytes.
    """
    default_kernels = {name: operators()[name].benchmark_kernel for name in UNPOOLED}
    size = np.log2(shapes["bytes"].astype(float)).mul(2).round()
    kernel = shapes["kernel"].fillna(shapes["op_class"].map(default_kernels))
    stream_keys = shapes.assign(kernel=kernel, size=size)[["op_class", "kernel", "conv_c", "precision", "size"]]
    stream_ids = pd.util.hash_pandas_object(stream_keys, index=False).astype("int64")
    return shape_keys(shapes).mask(shapes["op_class"].isin(UNPOOLED), stream_ids)


def merge(folder: Folder, setting: Setting) -> None:
    """Merge the tables of a setting: one row per shape, and a device file with the highest peaks."""
    tables = _tables(folder, setting)
    if not tables:
        raise EstimatorError(f"{folder.path / 'measured'}: holds no table of {setting.name}; choose a new folder")
    all_rows = [_rows(table) for table in tables]
    rows = _merge_rows(pd.concat(all_rows, ignore_index=True))
    clocks = rows["clock"].unique()  # none where they differ
    merged = rows.assign(clock=clocks[0] if len(clocks) == 1 else pd.NA)
    text = yaml.safe_dump(_merge_devices(tables, setting.precision), sort_keys=False, allow_unicode=True)
    files.write_text(folder.device(setting), text)
    files.write_text(folder.device(setting).with_suffix(".csv"), kit.csv_text(merged))


def _merge_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The fastest row of each shape; for memory-bound ops with the median time.

    Memory is faster or slower for some time, and the time of a step is a median too.
    """
    fastest = rows.sort_values("time_s", kind="stable").drop_duplicates(sweep.SHAPE_COLUMNS)
    median_ratio = rows.groupby(sweep.SHAPE_COLUMNS, dropna=False)["time_s"].transform("median") / rows["time_s"]
    factor = median_ratio[fastest.index].mask(fastest["op_class"].isin(MATRIX), 1.0)
    return fastest.assign(**{end: factor * fastest[end] for end in ENDS})


def _merge_devices(tables: Sequence[Path], precision: str) -> dict[str, Any]:
    """The device file with the highest peak in a precision; other peaks are the highest of all files."""
    paths = [table.with_suffix(".yaml") for table in tables]
    devices = [load_device(str(path)) for path in paths]
    contents = [yaml.safe_load(files.read_text(path)) for path in paths]
    best = {
        str(each): int(np.nanargmax([highest_rate(device, each) for device in devices]))
        for each in dict.fromkeys(name for device in devices for name in device.peak)
    }
    return {**contents[best[precision]], "peak": {each: contents[place]["peak"][each] for each, place in best.items()}}


def write_known_rows(folder: Folder, settings: Sequence[Setting]) -> None:
    """Write the known rows of each target for each source: those of shapes in the source's captures."""
    precisions = {setting.precision for setting in settings}
    shapes_by_pair = {
        (source, precision): needed_shapes(folder, [source], precision)
        for source, precision in itertools.product(settings, precisions)
    }
    for target in settings:
        rows = _rows(folder.device(target))
        shape_ids = _shape_ids(rows)
        for source in (setting for setting in settings if setting != target):
            shapes = shapes_by_pair[source, target.precision]
            known_shapes = pd.concat([_anchors(target, shapes), shapes], ignore_index=True)
            files.write_text(
                folder.known_rows(source, target), kit.csv_text(rows[shape_ids.isin(_shape_ids(known_shapes))])
            )


def highest_rate(device: DeviceSpec, precision: str) -> float:
    """The highest rate of any product in a precision [FLOP/s]; NaN where none was timed."""
    peak = device.peak_of(precision).matrix if precision in device.peak else None
    return peak.value if peak else float("nan")
