"""Events of a Kineto trace, and the reading of a trace made of them."""

import json
from pathlib import Path
from typing import Any

from estimator.core.types import Profile, Workload
from estimator.profiles import kineto
from estimator.profiles.dump import Dump

Event = dict[str, Any]


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
