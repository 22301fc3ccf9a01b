"""Vidur's fp16 linear layers of language models (microsoft/vidur, MIT), as they ran in a serving engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from estimator.validation.tables import published

if TYPE_CHECKING:
    import pandas as pd

FILES = ("vidur/gemm.parquet",)
DEVICES: dict[str, str] = {}
SOURCE = "Vidur compute profiles (microsoft/vidur, MIT)"
GEMM = {"device": "device", "precision": "precision", "m": "m", "n": "n", "k": "k"}
CONSTANTS = {"op_class": "gemm", "batch": 1, "trans_a": "n", "trans_b": "t", "source": SOURCE}


def read(path: Path) -> pd.DataFrame:
    """The rows of the table; a shape of several models is one row, with their median time."""
    rows = published(path, GEMM).groupby(list(GEMM), as_index=False)["time_s"].median()
    return rows.assign(**CONSTANTS, data_set="vidur")
