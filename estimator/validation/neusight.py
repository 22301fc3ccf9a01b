"""NeuSight's kernels (sitar-lab/NeuSight, MIT): one call each from an eager framework in fp32, tf32 switched off.

Times include the launch of such a call (25 to 70 us). Softmax and layer norm run over the last of two dimensions.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from estimator.core import physics
from estimator.core.types import ITEMSIZE, DeviceSpec
from estimator.devices.specs.catalogue import source_device
from estimator.validation.tables import published

if TYPE_CHECKING:
    import pandas as pd

FILES = ("neusight/gemm.parquet", "neusight/vector_ops.parquet", "neusight/conv.parquet")
DEVICES: dict[str, str] = {}
SOURCE = "NeuSight kernel measurements (sitar-lab/NeuSight, MIT)"
GEMM = {"device": "device", "op": "op", "batch": "batch", "m": "m", "n": "n", "k": "k", "kernel": "kernel"}
VECTOR = {"device": "device", "op": "op", "rows": "B", "row_length": "H", "kernel": "kernel"}
CONVOLUTION = {
    "device": "device", "conv_n": "B", "conv_c": "Input_Channel", "conv_h": "Input_Size", "conv_w": "Input_Size",
    "conv_k": "Output_Channel", "conv_r": "Kernel_Szie", "conv_s": "Kernel_Szie", "stride_h": "Stride",
    "stride_w": "Stride", "pad_h": "Padding", "pad_w": "Padding", "kernel": "kernel",
}  # fmt: skip
READS = dict.fromkeys(("add", "div", "mul", "pow"), 2)  # tensors read; one where the other operand is a scalar
CLASSES = {"softmax": "normalization", "ln": "normalization"}


def read(path: Path) -> pd.DataFrame:
    """The rows of one of the three tables."""
    reader = {"gemm": _gemm, "vector_ops": _vector, "conv": _convolution}[path.stem]
    return reader(path).assign(precision="fp32", library="torch, eager", source=SOURCE)


def device_of(name: str) -> DeviceSpec | None:
    """The device of a NeuSight name, whose blanks may be underscores; None where unknown."""
    return source_device(name) or source_device(name.replace("_", " "))


def _gemm(path: Path) -> pd.DataFrame:
    rows = published(path, GEMM)
    op = rows.pop("op")
    trans_b = op.eq("linear").map({True: "t", False: "n"})  # a linear layer stores its weights as [n, k]
    return rows.assign(op_class="gemm", trans_a="n", trans_b=trans_b, data_set="neusight-" + op)


def _vector(path: Path) -> pd.DataFrame:
    rows = published(path, VECTOR)
    op, elements = rows["op"], rows.pop("rows") * rows["row_length"]
    by_row = op.isin(CLASSES)
    return rows.assign(
        op_class=op.map(CLASSES).fillna("elementwise"),
        bytes=physics.streaming_bytes(elements, op.map(READS).fillna(1), 1, ITEMSIZE["fp32"]),
        row_length=rows["row_length"].where(by_row),
        data_set="neusight-vector",
    )


def _convolution(path: Path) -> pd.DataFrame:
    return published(path, CONVOLUTION).assign(**{"pass": "forward"}, op_class="convolution", data_set="neusight-conv")
