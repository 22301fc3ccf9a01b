"""aiconfigurator's bf16 matrix products and collectives of one node (ai-dynamo/aiconfigurator, Apache-2.0).

Products are medians over serving frameworks, which differ by 1 to 7 % on one shape; weights stay in the cache over
repeats. Collectives of "eager" kernels are left out: they time a framework's calls and a copy of the message too.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from estimator.core.number_formats import known_format
from estimator.validation.tables import published, read_columns

if TYPE_CHECKING:
    import pandas as pd

FILES = ("aiconfigurator/gemm_bf16.parquet", "collectives/aiconfigurator.csv.gz")
DEVICES = {
    "gb200_sxm": "gb200", "b300_sxm": "b300-sxm", "gb300_sxm": "gb300", "A100 SXM 80GB": "a100-sxm4-80gb",
    "RTX PRO 6000 (server)": "rtx-pro-6000-server",
}  # fmt: skip
SOURCE = "aiconfigurator systems data (ai-dynamo/aiconfigurator, Apache-2.0)"
GEMM = {"device": "device", "precision": "precision", "m": "m", "n": "n", "k": "k"}
CONSTANTS = {"op_class": "gemm", "batch": 1, "trans_a": "n", "trans_b": "t", "cache": "warm", "source": SOURCE}
COLLECTIVES = ("device", "library", "version", "collective", "kernel", "dtype", "gpus", "bytes", "time_us", "source")
LIBRARIES = ("nccl", "oneccl")  # all others are kernels of inference engines


def read(path: Path) -> pd.DataFrame:
    """The rows of one of the two tables."""
    if path.name.startswith("gemm"):
        return published(path, GEMM).assign(**CONSTANTS, data_set="aiconfigurator")
    return _collectives(read_columns(path, COLLECTIVES))


def _collectives(table: pd.DataFrame) -> pd.DataFrame:
    """Collectives, each with the bytes of its whole message; oneCCL's all-gather counts those of one rank."""
    import pandas as pd

    table = table[~table["kernel"].str.contains("eager")]
    ranks, size = table["gpus"].astype(float), table["bytes"].astype(float)
    by_library = table["library"].isin(LIBRARIES)
    of_one_rank = (table["library"] == "oneccl") & (table["collective"] == "all_gather")
    operator = table["collective"].where(by_library, "custom_all_reduce")
    columns = {
        "device": table["device"], "op_class": "collective", "op": operator, "operator": operator,
        "kernel": table["kernel"], "precision": table["dtype"].map(known_format), "ranks": ranks,
        "bytes": size.mask(of_one_rank, size * ranks), "time_s": table["time_us"].astype(float) * 1e-6,
        "library": table["library"] + " " + table["version"], "source": table["source"],
        "data_set": "aiconfigurator-" + operator,
    }  # fmt: skip
    return pd.DataFrame(columns)
