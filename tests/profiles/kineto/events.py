"""Events of a Kineto trace, and the reading of a trace made of them."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from estimator.core.types import Profile, Workload
from estimator.profiles import kineto
from estimator.profiles.dump import Dump

Event = dict[str, Any]
MM: dict[str, Any] = {"Input Dims": [[4, 8], [8, 8]], "Input type": ["float", "float"]}
TENSOR: dict[str, Any] = {"Input Dims": [[4, 8]], "Input type": ["float"]}


def event(name: str, ts: float, dur: float, cat: str = "cpu_op", /, tid: int = 1, **args: Any) -> Event:
    """A complete event of one thread [µs]."""
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def launch(ts: float, correlation: int, name: str = "cudaLaunchKernel") -> Event:
    """A call of the runtime by thread 1."""
    return event(name, ts, 1, "cuda_runtime", correlation=correlation)


def kernel(name: str, ts: float, dur: float, correlation: int, device: int = 0, stream: int = 7) -> Event:
    """A kernel on a device."""
    return event(name, ts, dur, "kernel", stream, correlation=correlation, device=device, stream=stream)


def step(number: int, ts: float, dur: float) -> Event:
    """A mark of the profiler's schedule."""
    return event(f"ProfilerStep#{number}", ts, dur, "user_annotation")


def read(tmp_path: Path, *events: Event, workload: Workload | None = None, **metadata: Any) -> Profile:
    """The profile of a trace of these events."""
    path = tmp_path / "kineto.json"
    path.write_text(json.dumps(metadata | {"traceEvents": events}))
    return kineto.read([Dump(path)], workload or Workload(name="toy"))


def op(name: str, ts: float, sequence: int, /, dur: float = 5, **args: Any) -> Event:
    """An op with a number of autograd's."""
    described: dict[str, Any] = {**(args or TENSOR), "Sequence number": sequence}
    return event(name, ts, dur, **described)


def ends(ts: float, *sizes: int) -> Event:
    """The end of the gradient of one parameter of this size."""
    described: dict[str, Any] = {"Input Dims": [[*sizes]], "Input type": ["float"]}
    return event("torch::autograd::AccumulateGrad", ts, 2, **described)


def mark(name: str, ts: float, dur: float = 5) -> Event:
    """A mark of the program."""
    return event(name, ts, dur, "user_annotation")


def places(profile: Profile) -> dict[str, str]:
    """The places of each op of the forward pass that has some."""
    table = profile.ops[profile.ops["phase"].eq("forward")]
    return {str(name): text for name, text in zip(table["op"], table["places"], strict=True) if not pd.isna(text)}


FORWARD = (op("aten::mm", 0, 7, **MM), op("aten::cos", 10, 8), op("aten::tanh", 20, 8), op("aten::mm", 30, 9, **MM))
BACKWARD = (
    event("autograd::engine::evaluate_function: MmBackward0", 60, 10), event("aten::mm", 62, 5, **MM), ends(72, 8, 8),
    ends(76, 8, 8), ends(80, 8),
)  # fmt: skip
MICRO_BATCHES = (*FORWARD, *BACKWARD, *({**each, "ts": each["ts"] + 200} for each in (*FORWARD, *BACKWARD)))
UPDATE = (mark("Optimizer.step#SGD.step", 90, 20), event("aten::add_", 92, 2, **TENSOR))
