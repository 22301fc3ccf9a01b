"""NeuSight's per-op rows of whole transformers (sitar-lab/NeuSight, MIT) → kernels of one pass.

``per_op.csv`` lists the calls of a traced PyTorch model with one of its equal layers: rows from the first to the last
that name layer 0 run ``num_layer`` times, all others once. The time of a call without work is subtracted from each
time. Views, shape arithmetic and empty copies are no kernels: an op faster than half the time of its traffic moved
nothing.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from estimator.core import physics
from estimator.core.types import ITEMSIZE
from estimator.validation.neusight import device_of
from estimator.validation.tables import read_columns

if TYPE_CHECKING:
    import pandas as pd

FILE = "neusight/per_op.csv"
COLUMNS = ("device", "name", "Name", "op", "target", "input_shapes", "output_shape")
TIMES = ("fw_latency", "bw_latency", "acc_latency")  # ms
LAYER = r"layers?_0_|_h_0_"  # names of the traced layer
ADDRESS = r"(?: of type object)? at 0x[0-9a-f]+"
PRECISION = "fp32"
OPS = (  # pattern of the called name, op, op class; the first match counts
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
MIN_TRAFFIC_SHARE = 0.5  # of the roofline time of its traffic; a faster op moved nothing
MIN_CALLS = 1.5  # times a call without work; a faster op launched nothing


def read_ops(folder: Path) -> pd.DataFrame:
    """Read the ops that ran a kernel: one row per op of each run (``device``, our name, and ``model``).

    ``op``, ``op_class``; ``layer``, whether it belongs to the traced layer; ``batch``, ``m``, ``n``, ``k`` and
    transposes of a product, ``bytes``, ``flop``, ``row_length`` of other ops; ``forward_s`` and ``backward_s`` [s] of
    one call, without the overhead of timing. Raises EstimatorError where the table cannot be read.
    """
    import pandas as pd

    table = read_columns(folder / FILE, (*COLUMNS, *TIMES))
    table[list(TIMES)] = table[list(TIMES)].astype(float)
    calls = pd.concat([_run_ops(run) for _, run in table.groupby(["device", "name"], sort=False)], ignore_index=True)
    return pd.concat([_timed_kernels(ops) for _, ops in calls.groupby("device", sort=False)], ignore_index=True)


def _run_ops(run: pd.DataFrame) -> pd.DataFrame:
    """The ops of one run, and whether each belongs to the traced layer."""
    import pandas as pd

    layer_positions = np.flatnonzero(run["Name"].str.contains(LAYER))
    described = [_describe_op(str(target), inputs, output) for target, inputs, output in _shapes(run)]
    positions = np.arange(len(run))
    return pd.DataFrame(described).assign(
        device=run["device"].to_numpy(),
        model=run["name"].to_numpy(),
        layer=(positions >= layer_positions.min(initial=len(run))) & (positions <= layer_positions.max(initial=-1)),
        listed=run["op"].isin(["call_function", "call_method", "call_module"]).to_numpy(),
        **{name: 1e-3 * run[name].to_numpy() for name in TIMES},
    )


def _shapes(run: pd.DataFrame) -> Iterator[tuple[str, list[tuple[int, ...]], tuple[int, ...]]]:
    targets = run["target"].fillna("").str.replace(ADDRESS, "", regex=True)
    for target, inputs, output in zip(targets, run["input_shapes"], run["output_shape"], strict=True):
        operands = ast.literal_eval(inputs) if isinstance(inputs, str) else []
        yield target, [tuple(shape) for shape in operands], ast.literal_eval(output)


def _describe_op(target: str, inputs: list[tuple[int, ...]], output: tuple[int, ...]) -> dict[str, Any]:
    """Kind and dimensions of one op; no kind where it computes a shape or a view."""
    op, op_class = _kind(target) if math.prod(output) > 1 else (None, None)
    if op_class == "gemm":
        return {"op": op, "op_class": op_class, **_product(str(op), inputs, output)}
    elements = math.prod(output)
    elements_read = elements if op == "embedding" else sum(math.prod(shape) for shape in inputs if math.prod(shape) > 1)
    row_length = output[-1] if op_class == "normalization" else None
    bytes_ = float(physics.streaming_bytes(elements_read + elements, 1, 0, ITEMSIZE[PRECISION]))
    return {"op": op, "op_class": op_class, "bytes": bytes_, "flop": float(elements), "row_length": row_length}


def _kind(target: str) -> tuple[str | None, str | None]:
    return next(((op, op_class) for pattern, op, op_class in OPS if re.search(pattern, target)), (None, None))


def _product(op: str, inputs: list[tuple[int, ...]], output: tuple[int, ...]) -> dict[str, Any]:
    """Dimensions of a product; a linear layer stores its weights as [n, k], and all leading dimensions are rows."""
    *leading, m, n = output if len(output) > 1 else (1, *output)
    k = inputs[1][-1] if op == "addmm" else inputs[0][-1]
    batch = math.prod(leading) if op == "bmm" else 1
    rows = m if op == "bmm" else m * math.prod(leading)
    return {"batch": batch, "m": rows, "n": n, "k": k, "trans_a": "n", "trans_b": "t" if op == "linear" else "n"}


def _timed_kernels(ops: pd.DataFrame) -> pd.DataFrame:
    """The ops of one device that ran a kernel, with times without the overhead of a call."""
    spec = device_of(str(ops["device"].iloc[0]))
    if spec is None or spec.memory_bandwidth is None:
        return ops.iloc[:0]
    call_s = ops.loc[ops["op"].isna() & ops["listed"] & (ops["fw_latency"] > 0), "fw_latency"].quantile(0.25)
    min_s = MIN_TRAFFIC_SHARE * ops["bytes"].fillna(0.0) / spec.memory_bandwidth.value
    ran_kernel = ops["op"].notna() & ops["listed"] & (ops["fw_latency"] > np.maximum(min_s, MIN_CALLS * call_s))
    forward, backward, accumulate = ((ops[name] - call_s).clip(lower=0.0) for name in TIMES)
    timed = ops.assign(device=spec.name, forward_s=forward, backward_s=backward + accumulate)
    return timed[ran_kernel].drop(columns=["listed", *TIMES])
