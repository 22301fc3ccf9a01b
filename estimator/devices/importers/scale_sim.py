"""Reader of SCALE-Sim's compute report: cycles per layer of a systolic array, timed by a clock, shaped by a topology.

The report names layers by number and has no shapes; those stand in the topology file that the simulator was given, of
convolutions or of GEMMs. Total Cycles hold stalls, not the prefetch of the first operands.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from estimator.core import csv_files
from estimator.core.errors import EstimatorError
from estimator.devices.importers.columns import Tell, numbers
from estimator.devices.importers.declared import Declared, first_line

FORMAT = "SCALE-Sim COMPUTE_REPORT.csv"
TAKES_TOPOLOGY = True
LAYER, CYCLES = "LayerID", "Total Cycles"
GEMM = {"M": "m", "N": "n", "K": "k"}
CONVOLUTION = {
    "IFMAP Height": "conv_h", "IFMAP Width": "conv_w", "Filter Height": "conv_r", "Filter Width": "conv_s",
    "Channels": "conv_c", "Num Filter": "conv_k", "Strides": "stride_h",
}  # fmt: skip
ONE_IMAGE = {"conv_n": "1", "pad_h": "0", "pad_w": "0", "pass": "forward"}  # the sizes hold the padding


def recognises(head: bytes) -> bool:
    """Whether the first line is the report's."""
    return {LAYER, CYCLES} <= {header.strip() for header in first_line(head).split(",")}


def read(path: Path, said: Declared, tell: Tell) -> Iterator[pd.DataFrame]:
    """One row per layer. Raises EstimatorError where clock or topology are not said, or do not fit."""
    report = csv_files.read_csv(path)
    shapes = _layers(said.topology, path)
    clock = _clock(said.clock, path)
    if len(report) != len(shapes):
        raise EstimatorError(
            f"{path}: found {len(report)} layers, expected the {len(shapes)} of {said.topology}; give its own topology"
        )
    layers = numbers(report[LAYER])
    if layers.tolist() != list(range(len(shapes))):
        raise EstimatorError(f"{path}: {LAYER} does not count from 0 to {len(shapes) - 1}; run the simulator again")
    cycles = numbers(report[CYCLES])
    library = said.library or "SCALE-Sim (simulated)"
    yield shapes.assign(time_s=(cycles / clock).astype(object).where(cycles.notna(), report[CYCLES]), library=library)


def _clock(text: str | None, path: Path) -> float:
    if text is None:
        raise EstimatorError(f"{path}: the report counts cycles; say --clock, such as '1 GHz'")
    return Declared.hertz(text)


def _layers(topology: Path | None, path: Path) -> pd.DataFrame:
    """The shapes of the layers of a topology file."""
    if topology is None:
        raise EstimatorError(
            f"{path}: the report names no shapes; say --topology, the CSV that the simulator was given"
        )
    found = csv_files.read_csv(topology).dropna(how="all")
    for op_class, names, more in (("gemm", GEMM, {}), ("convolution", CONVOLUTION, ONE_IMAGE)):
        if names.keys() <= set(found):
            shapes = found[list(names)].rename(columns=names).assign(op_class=op_class, **more)
            return shapes.assign(stride_w=shapes["stride_h"]) if "stride_h" in shapes else shapes
    raise EstimatorError(f"{topology}: found no layers; expected columns {', '.join(GEMM)} or {', '.join(CONVOLUTION)}")
