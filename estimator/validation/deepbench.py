"""DeepBench's published training results (baidu-research/DeepBench, Apache-2.0): products and convolutions.

fp16 operands are summed in fp32, on tensor units or on fp32 units.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from estimator.validation.tables import published

if TYPE_CHECKING:
    import pandas as pd

FILES = ("deepbench/gemm.csv", "deepbench/conv.csv")
DEVICES = {"IA_KNL7210": "xeon-phi-7210"}
COMMON = {"device": "device", "precision": "precision", "library": "library", "source": "source", "mode": "mode"}
GEMM = {**COMMON, "m": "m", "n": "n", "k": "k", "trans_a": "a_t", "trans_b": "b_t"}
CONVOLUTION = {
    **COMMON, **{f"conv_{x}": x for x in "nchwkrs"},
    "stride_h": "stride_h", "stride_w": "stride_w", "pad_h": "pad_h", "pad_w": "pad_w", "pass": "op",
    "kernel": "fwd_algo",
}  # fmt: skip
PRECISIONS = {
    "Float": "fp32",
    "16 bit inputs, 32 bit multiplication, 32 bit addition": "fp16",
    "16 bit inputs, 16 bit multiplication, 32 bit addition": "fp16",
}
PASSES = {"fwd": "forward", "bwd_inputs": "grad_input", "bwd_params": "grad_weights", "bwd": "backward"}


def read(path: Path) -> pd.DataFrame:
    """The floating-point training rows of one of the two tables."""
    is_gemm = path.stem == "gemm"
    rows = published(path, GEMM if is_gemm else CONVOLUTION)
    rows = rows[rows.pop("mode").eq("train") & rows["precision"].isin(PRECISIONS)]
    precision = rows["precision"].map(PRECISIONS)
    rows = rows.assign(precision=precision, accumulate=precision.where(precision == "fp32", "fp32"))
    if is_gemm:
        transposes = {name: rows[name].str.lower() for name in ("trans_a", "trans_b")}
        return rows.assign(op_class="gemm", batch=1, data_set="deepbench-" + precision, **transposes)
    passes = rows["pass"].map(PASSES)
    kernel = rows["kernel"].where(passes == "forward")  # the algorithm named is the forward pass's
    constants = {"pass": passes, "kernel": kernel, "groups": 1}
    return rows.assign(op_class="convolution", data_set="deepbench-conv-" + precision, **constants)
