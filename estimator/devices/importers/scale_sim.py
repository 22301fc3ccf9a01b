"""Reader of SCALE-Sim's compute report: cycles per layer of a systolic array, timed by a clock, shaped by a topology.

The report numbers layers and has no shapes; these come from the simulator's topology file, of convolutions or of
GEMMs. Total Cycles include stalls, but not the prefetch of the first operands.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from estimator.core import csv_files
from estimator.core.errors import EstimatorError
from estimator.devices.importers.columns import AddNote, to_floats
from estimator.devices.importers.declared import Declared, first_line

FORMAT = "SCALE-Sim COMPUTE_REPORT.csv"
TAKES_TOPOLOGY = True
LAYER, CYCLES = "LayerID", "Total Cycles"
GEMM = {"M": "m", "N": "n", "K": "k"}
CONVOLUTION = {
    "IFMAP Height": "conv_h", "IFMAP Width": "conv_w", "Filter Height": "conv_r", "Filter Width": "conv_s",
    "Channels": "conv_c", "Num Filter": "conv_k", "Strides": "stride_h",
}  # fmt: skip
ONE_IMAGE = {"conv_n": "1", "pad_h": "0", "pad_w": "0", "pass": "forward"}  # the sizes include the padding


def recognises(head: bytes) -> bool:
    """Whether the first line is that of a compute report."""
    return {LAYER, CYCLES} <= {header.strip() for header in first_line(head).split(",")}


def read(path: Path, declared: Declared, add_note: AddNote) -> Iterator[pd.DataFrame]:
    """One row per layer. Raises EstimatorError where clock or topology are missing or do not fit."""
    report = csv_files.read_csv(path)
    shapes = _layers(declared.topology, path)
    clock = _parse_clock(declared.clock, path)
    if len(report) != len(shapes):
        raise EstimatorError(
            f"{path}: found {len(report)} layers, expected the {len(shapes)} of {declared.topology}; "
            "give its own topology"
        )
    layers = to_floats(report[LAYER])
    if layers.tolist() != list(range(len(shapes))):
        raise EstimatorError(f"{path}: {LAYER} does not count from 0 to {len(shapes) - 1}; run the simulator again")
    cycles = to_floats(report[CYCLES])
    library = declared.library or "SCALE-Sim (simulated)"
    yield shapes.assign(time_s=(cycles / clock).astype(object).where(cycles.notna(), report[CYCLES]), library=library)


def _parse_clock(text: str | None, path: Path) -> float:
    if text is None:
        raise EstimatorError(f"{path}: the report counts cycles; say --clock, such as '1 GHz'")
    return Declared.parse_clock(text)


def _layers(topology: Path | None, path: Path) -> pd.DataFrame:
    """The shapes of the layers of a topology file."""
    if topology is None:
        raise EstimatorError(
            f"{path}: the report names no shapes; say --topology, the CSV that the simulator was given"
        )
    table = csv_files.read_csv(topology).dropna(how="all")
    for op_class, names, constants in (("gemm", GEMM, {}), ("convolution", CONVOLUTION, ONE_IMAGE)):
        if names.keys() <= set(table):
            shapes = table[list(names)].rename(columns=names).assign(op_class=op_class, **constants)
            return shapes.assign(stride_w=shapes["stride_h"]) if "stride_h" in shapes else shapes
    raise EstimatorError(f"{topology}: found no layers; expected columns {', '.join(GEMM)} or {', '.join(CONVOLUTION)}")
