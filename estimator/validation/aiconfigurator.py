"""aiconfigurator's bf16 matrix products (ai-dynamo/aiconfigurator, Apache-2.0): medians over serving frameworks.

The frameworks differ by 1 to 7 % on one shape; weights stay in the cache over repeats.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from estimator.validation.tables import published

if TYPE_CHECKING:
    import pandas as pd

FILES = ("aiconfigurator/gemm_bf16.parquet",)
DEVICES = {"gb200_sxm": "gb200", "b300_sxm": "b300-sxm", "gb300_sxm": "gb300"}
SOURCE = "aiconfigurator systems data (ai-dynamo/aiconfigurator, Apache-2.0)"
GEMM = {"device": "device", "precision": "precision", "m": "m", "n": "n", "k": "k"}
CONSTANTS = {"op_class": "gemm", "batch": 1, "trans_a": "n", "trans_b": "t", "cache": "warm", "source": SOURCE}


def read(path: Path) -> pd.DataFrame:
    """The rows of the table."""
    return published(path, GEMM).assign(**CONSTANTS, data_set="aiconfigurator")
