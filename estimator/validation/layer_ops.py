"""NeuSight's per-op rows of whole transformers (sitar-lab/NeuSight, MIT) → the kernels that one pass runs, counted.

``per_op.csv`` lists what a traced PyTorch model calls, with one of its equal layers: rows from the first to the last
that name layer 0 run ``num_layer`` times, all others once. Each time holds the overhead of timing one call; what a call
without work takes is subtracted. Views, shape arithmetic, and copies that copy nothing are no kernels: an op that was
faster than half of what its traffic needs moved nothing.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from estimator.core import csv_files, physics
from estimator.core.errors import EstimatorError
from estimator.core.types import ITEMSIZE
from estimator.validation.neusight import device_of

if TYPE_CHECKING:
    import pandas as pd

FILE = "neusight/per_op.csv"
COLUMNS = ("device", "name", "Name", "op", "target", "input_shapes", "output_shape")
TIMES = ("fw_latency", "bw_latency", "acc_latency")  # ms
LAYER = r"layers?_0_|_h_0_"  # names of the layer that was traced
ADDRESS = r"(?: of type object)? at 0x[0-9a-f]+"
PRECISION = "fp32"
OPS = (  # what is called, by the first pattern found in its name: op, op class
    (r"LayerNorm|layer_norm|\.ln_", "ln", "normalization"),
    (r"softmax", "softmax", "normalization"),
    (r"[Dd]ropout|\.drop$", "dropout", "elementwise"),
    (r"embedding|embed_tokens|\.w[tp]e$", "embedding", "embedding"),
    (r"addmm", "addmm", "gemm"),
    (r"matmul|\bbmm\b", "bmm", "gemm"),
    (r"\.(?:dense|query|key|value|[qkv]_proj|out_proj|fc[12]|decoder)$|lm_head|classifier|seq_rel", "linear", "gemm"),
    (r"\b(?:add|sub)\b", "add", "elementwise"),
    (r"\bmul\b", "mul", "elementwise"),
    (r"\btruediv\b", "div", "elementwise"),
    (r"\bpow\b", "pow", "elementwise"),
    (r"\btanh\b", "tanh", "elementwise"),
    (r"\bgelu\b", "gelu", "elementwise"),
    (r"activation", "relu", "elementwise"),
    (r"\b(?:where|max|lt)\b|masked_fill", "where", "elementwise"),
    (r"contiguous|reshape|\bto\b|\btype\b|type_as|\bbool\b|\blong\b", "copy", "movement"),
)
MOVED_NOTHING = 0.5  # of the roofline time of its traffic: a faster op left its operands where they are
NO_CALL = 1.5  # times what a call without work takes: a faster op launched nothing


def read_ops(folder: Path) -> pd.DataFrame:
    """One row per op of each run (``device``, the device file's name, and ``model``) that ran a kernel.

    ``op``, ``op_class``; ``layer``, whether it is part of the layer that was traced; ``batch``, ``m``, ``n``, ``k`` and
    transposes of a product, ``bytes``, ``flop``, ``row_length`` of other ops; ``forward_s`` and ``backward_s`` [s] of
    one call, without the overhead of timing. Raises EstimatorError where the table cannot be read.
    """
    import pandas as pd

    path = folder / FILE
    table = csv_files.read_csv(path)
    if lacking := [name for name in (*COLUMNS, *TIMES) if name not in table]:
        raise EstimatorError(f"{path}: the column '{lacking[0]}' is missing; check that this is the public table")
    table[list(TIMES)] = table[list(TIMES)].astype(float)
    calls = pd.concat([_calls(run) for _, run in table.groupby(["device", "name"], sort=False)], ignore_index=True)
    return pd.concat([_timed(ops) for _, ops in calls.groupby("device", sort=False)], ignore_index=True)


def _calls(run: pd.DataFrame) -> pd.DataFrame:
    """The ops of one run, and whether each belongs to the layer that was traced."""
    import pandas as pd

    named = np.flatnonzero(run["Name"].str.contains(LAYER))
    rows = [_op(str(target), inputs, output) for target, inputs, output in _shapes(run)]
    places = np.arange(len(run))
    return pd.DataFrame(rows).assign(
        device=run["device"].to_numpy(),
        model=run["name"].to_numpy(),
        layer=(places >= named.min(initial=len(run))) & (places <= named.max(initial=-1)),
        listed=run["op"].isin(["call_function", "call_method", "call_module"]).to_numpy(),
        **{name: 1e-3 * run[name].to_numpy() for name in TIMES},
    )


def _shapes(run: pd.DataFrame) -> Iterator[tuple[str, list[tuple[int, ...]], tuple[int, ...]]]:
    targets = run["target"].fillna("").str.replace(ADDRESS, "", regex=True)
    for target, inputs, output in zip(targets, run["input_shapes"], run["output_shape"], strict=True):
        operands = ast.literal_eval(inputs) if isinstance(inputs, str) else []
        yield target, [tuple(shape) for shape in operands], ast.literal_eval(output)


def _op(target: str, inputs: list[tuple[int, ...]], output: tuple[int, ...]) -> dict[str, Any]:
    """Kind and dimensions of one op; without a kind where it computes a shape or a view."""
    op, op_class = _kind(target) if math.prod(output) > 1 else (None, None)
    if op_class == "gemm":
        return {"op": op, "op_class": op_class, **_product(str(op), inputs, output)}
    elements = math.prod(output)
    read = elements if op == "embedding" else sum(math.prod(shape) for shape in inputs if math.prod(shape) > 1)
    row_length = output[-1] if op_class == "normalization" else None
    moved = float(physics.streaming_bytes(read + elements, 1, 0, ITEMSIZE[PRECISION]))
    return {"op": op, "op_class": op_class, "bytes": moved, "flop": float(elements), "row_length": row_length}


def _kind(target: str) -> tuple[str | None, str | None]:
    return next(((op, op_class) for pattern, op, op_class in OPS if re.search(pattern, target)), (None, None))


def _product(op: str, inputs: list[tuple[int, ...]], output: tuple[int, ...]) -> dict[str, Any]:
    """Dimensions of a product; a linear layer stores its weights as [n, k], and all leading dimensions are rows."""
    *leading, m, n = output if len(output) > 1 else (1, *output)
    k = inputs[1][-1] if op == "addmm" else inputs[0][-1]
    batch = math.prod(leading) if op == "bmm" else 1
    rows = m if op == "bmm" else m * math.prod(leading)
    return {"batch": batch, "m": rows, "n": n, "k": k, "trans_a": "n", "trans_b": "t" if op == "linear" else "n"}


def _timed(ops: pd.DataFrame) -> pd.DataFrame:
    """The ops of one device that ran a kernel there, with times that leave out the overhead of timing."""
    spec = device_of(str(ops["device"].iloc[0]))
    if spec is None or spec.memory_bandwidth is None:
        return ops.iloc[:0]
    idle = ops.loc[ops["op"].isna() & ops["listed"] & (ops["fw_latency"] > 0), "fw_latency"].quantile(0.25)
    least = MOVED_NOTHING * ops["bytes"].fillna(0.0) / spec.memory_bandwidth.value
    ran = ops["op"].notna() & ops["listed"] & (ops["fw_latency"] > np.maximum(least, NO_CALL * idle))
    forward, backward, accumulate = ((ops[name] - idle).clip(lower=0.0) for name in TIMES)
    timed = ops.assign(device=spec.name, forward_s=forward, backward_s=backward + accumulate)
    return timed[ran].drop(columns=["listed", *TIMES])
