"""Small TensorFlow dumps, and helpers shared by tests of their readers."""

from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, Workload
from estimator.profiles import messages, read_profile
from estimator.profiles.dump import Dump
from estimator.work import count_work

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
WIDTHS, BATCH = (29532, 1000, 500, 100, 50, 1), 100  # P1B3's layers
PRODUCTS = [BATCH * a * b for a, b in pairwise(WIDTHS)]
P1B3_FLOP = 2 * (3 * sum(PRODUCTS) - PRODUCTS[0])  # the first layer needs no input's gradient
ENDS = 1000  # [ns]


def matrix_flop(profile: Profile) -> float:
    """FLOP of the matrix products of one step."""
    work = count_work(profile.ops, profile.workload).work
    return float(work.loc[work["op_class"] == "gemm", "flop"].sum())


def traced(*ops: dict[str, Any], metadata: Any = None) -> Any:
    """RunMetadata of ops, each with name, label, shape of the result, start and duration [ns], and device."""
    metadata = metadata or messages.get("RunMetadata")()
    for i, op in enumerate(ops):
        device = op.get("device", CPU)
        known = next((d for d in metadata.step_stats.dev_stats if d.device == device), None)
        stats = (known or metadata.step_stats.dev_stats.add(device=device)).node_stats.add(
            node_name=op["name"],
            timeline_label=op.get("label", ""),
            all_start_nanos=op.get("start", 10_000 + ENDS * i),
            op_end_rel_nanos=op.get("duration", ENDS),
            all_end_rel_nanos=op.get("duration", ENDS),
        )
        if "shape" in op:
            tensor = stats.output.add(slot=op.get("slot", 0)).tensor_description
            tensor.dtype = op.get("dtype", 1)
            for size in op["shape"]:
                tensor.shape.dim.add(size=size)
    return metadata


def fused_step(**product: Any) -> Any:
    """A step whose product runs in the kernel of the op after it."""
    op = {"name": "d/Relu", "label": "[mklcpu 1B 1B] d/Relu = _MklNativeFusedMatMul(x, w, b, ^x)", "shape": (4, 2)}
    return traced(
        {"name": "x", "label": "x = _Arg()", "shape": (4, 3)},
        {"name": "w", "label": "w = VariableV2()", "shape": (3, 2)},
        {"name": "b", "label": "b = VariableV2()", "shape": (2,)},
        op | product,
    )


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """The content with some bytes changed, inserted or cut off."""
    out = bytearray(content)
    for _ in range(draw(st.integers(1, 5))):
        at, size = draw(st.integers(0, len(out))), draw(st.integers(0, 3))
        out[at : at + size] = draw(st.binary(max_size=3))
    return bytes(out[: draw(st.one_of(st.none(), st.integers(0, len(out))))])


def read_or_refuse(reader: ModuleType, path: Path, content: bytes) -> None:
    """Read any content with one reader: a Profile whose work can be counted, or an EstimatorError."""
    path.write_bytes(content)
    reader.recognises(content)
    try:
        profile = reader.read([Dump(path)], Workload(name="damaged", batch_size=4))
        count_work(profile.ops, profile.workload)
    except EstimatorError as error:
        assert error.faults


def refusal(path: Path, content: bytes) -> str:
    """The message of the error that reading a dump raises."""
    path.write_bytes(content)
    with pytest.raises(EstimatorError) as caught:
        matrix_flop(read_profile(path, batch=4))
    return str(caught.value)
