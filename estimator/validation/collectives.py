"""Collectives on devices and machines never seen: from specifications, and from half of their own sizes.

GPUs of one node are those of TRUTH. MPI is timed on two machines by many algorithms (HLC-Lab/pico, MIT): each series of
one algorithm is a table as a user would have it. Half of the sizes are every second one, from the smallest on; the
others are judged. Coefficients are fitted without the family of the judged device.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from estimator.core.schema import MEASUREMENTS, WORK
from estimator.core.types import DeviceSpec, Flags, Floats, RunPlan
from estimator.devices import load_device, load_system
from estimator.devices.measurements import with_measured
from estimator.devices.measurements.links import alpha_beta
from estimator.model import SourceRun, TargetDevice, coefficients, predict
from estimator.model.coefficients import Coefficients
from estimator.validation.left_out import fitted_without
from estimator.validation.protocol import Method
from estimator.validation.step_intervals import our_columns
from estimator.validation.tables import EVERY_DEVICE, PublishedRows, read_columns

if TYPE_CHECKING:
    import pandas as pd

_, MPI = FILES = ("collectives/aiconfigurator.csv.gz", "collectives/pico.csv.gz")
PROBLEMS = {
    "collectives": "collectives of a node, specs only",
    "collectives-own": "collectives of a node, half of the sizes",
    "collectives-mpi": "MPI collectives, half of the sizes",
}
OP_CLASSES = ("collective",)
ALPHA_BETA = "two parameters"  # α and β of each series, by its own half of the sizes
TABLE = ["device", "library", "kernel", "precision"]  # columns that rows of one table share
SERIES = [*TABLE, "operator", "ranks"]
LEAST_SIZES = 4  # of a series, half of which are judged
DRAWS = 400
SYSTEMS = {"fugaku": "a64fx", "lumi": None}  # a machine's name in the table, as a system; the device of its nodes
OPERATORS = {
    "allreduce": "all_reduce", "alltoall": "all_to_all", "gather": "collective_gather", "reduce": "collective_reduce",
    "reduce_scatter": "reduce_scatter",
}  # fmt: skip
COLUMNS = ("system", "nodes", "tasks_per_node", "collective", "library", "algorithm", "bytes", "median_us", "source")


def read_rows(folder: str | Path) -> PublishedRows:
    """Read MPI's collectives as MEASUREMENTS, each with the bytes of its whole message.

    Raises EstimatorError for unreadable tables.
    """
    table = read_columns(Path(folder) / MPI, COLUMNS)
    of_node = table["tasks_per_node"].astype(float)
    rows = table.assign(
        device=table["system"], op_class="collective", operator=table["collective"].map(OPERATORS), precision="fp32",
        ranks=of_node * table["nodes"].astype(float), ranks_per_node=of_node, kernel=table["algorithm"],
        time_s=table["median_us"].astype(float) * 1e-6,
    )  # fmt: skip
    known = rows[rows["operator"].notna() & rows["device"].isin(SYSTEMS)]
    return PublishedRows(MEASUREMENTS.conform(known[[name for name in MEASUREMENTS.names() if name in known]], MPI))


def judge(truth: pd.DataFrame, mpi: PublishedRows, method: Method) -> dict[str, pd.DataFrame]:
    """Judge every row by coefficients fitted without its device's family.

    Columns: KEYS, with one group of all rows; ``target``, ``op`` in words, measured ``time_s``, a column of predicted
    times [s] per method, ``low_s`` and ``high_s`` of ours.
    """
    import pandas as pd

    gpus = truth[truth["op_class"] == "collective"]
    by_family = [(fitted_without(str(family), truth, method), rows) for family, rows in gpus.groupby("family")]
    everything = fitted_without("", truth, method)
    frames = {
        "collectives": [_predicted(rows, rows.iloc[:0], fitted) for fitted, rows in _tables(by_family)],
        "collectives-own": [_predicted_half(rows, fitted) for fitted, rows in _tables(by_family)],
        "collectives-mpi": [_predicted_half(rows, fitted) for fitted, rows in _tables([(everything, mpi.rows)])],
    }
    return {name: _describe(pd.concat(parts, ignore_index=True)) for name, parts in frames.items()}


def _tables(parts: list[tuple[Coefficients, pd.DataFrame]]) -> Iterator[tuple[Coefficients, pd.DataFrame]]:
    """Yield the rows of one device and library, as a user has them."""
    for fitted, rows in parts:
        for _, table in rows.groupby(TABLE, dropna=False):
            yield fitted, table


def _predicted_half(rows: pd.DataFrame, fitted: Coefficients) -> pd.DataFrame:
    """The odd sizes of each series, predicted from the even ones."""
    enough = rows.groupby(SERIES, dropna=False)["bytes"].transform("nunique") >= LEAST_SIZES
    rows = rows[enough]
    is_own = _even_sizes(rows)
    judged, own = rows[~is_own], rows[is_own]
    return _predicted(judged, own, fitted).assign(**{ALPHA_BETA: _alpha_beta(judged, own)})


def _even_sizes(rows: pd.DataFrame) -> Flags:
    place = rows.groupby(SERIES, dropna=False)["bytes"].rank(method="dense") - 1
    return np.asarray(place % 2 == 0, dtype=bool)


def _predicted(judged: pd.DataFrame, own: pd.DataFrame, fitted: Coefficients) -> pd.DataFrame:
    """The judged rows with our times and intervals [s], as the ladder of evidence gives them."""
    if judged.empty:
        return judged
    measurements = MEASUREMENTS.conform(own[[name for name in MEASUREMENTS.names() if name in own]], "own rows")
    device = with_measured(_device(str(judged["device"].iloc[0])), measurements)
    work = WORK.conform(judged.assign(op=judged["operator"], time_s=0.0, calls=1.0)[_of_work(judged)], "collectives")
    with coefficients.replaced(fitted):
        prediction = predict(work, SourceRun(), TargetDevice(device, measurements), RunPlan(device.name, draws=DRAWS))
    return judged.assign(**our_columns(prediction.samples))


def _of_work(rows: pd.DataFrame) -> list[str]:
    return [name for name in WORK.names() if name in rows or name in ("op", "time_s", "calls")]


def _device(name: str) -> DeviceSpec:
    """A device by itself, or that of a system's nodes, in its network; one task a node is alone there."""
    if name not in SYSTEMS:
        return load_device(name)
    network, node = load_system(name).network.model_copy(update={"linked_devices": 1}), SYSTEMS[name]
    device = load_device(node) if node else DeviceSpec(name=name, specifications="unknown")
    return device.model_copy(update={"network": network})


def _alpha_beta(judged: pd.DataFrame, own: pd.DataFrame) -> Floats:
    """α + β·S of each judged row [s] by its series' own rows."""
    out = np.full(len(judged), np.nan)
    own_series = dict(iter(own.groupby(SERIES, dropna=False)))
    for key, places in judged.groupby(SERIES, dropna=False).indices.items():
        known = own_series[key]
        latency, per_byte = alpha_beta(known["bytes"].to_numpy(dtype=float), known["time_s"].to_numpy(dtype=float))
        out[places] = latency + per_byte * judged["bytes"].iloc[places].to_numpy(dtype=float)
    return out


def _describe(rows: pd.DataFrame) -> pd.DataFrame:
    """The judged rows with KEYS and what they are in words."""
    words = rows["operator"] + " over " + rows["ranks"].astype(str) + " x " + rows["device"]
    known = {"data_set": "collectives", "device": EVERY_DEVICE, "op": words, "target": rows["device"]}
    family = rows["family"] if "family" in rows else rows["device"]
    return rows.assign(**known, family=family, path="vector")
