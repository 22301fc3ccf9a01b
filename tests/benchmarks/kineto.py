"""Reading a large Kineto trace against ``json.load`` alone: python tests/benchmarks/kineto.py [MB]

Writes a trace as PyTorch does (several threads and streams, shapes, annotations, flows), then times both in fresh
processes, interleaved, without their imports, and prints the ratio of the medians. Memory is the peak resident set of
the reading process (VmHWM), imports and mapped pages of the file included, over the size of the file.
"""

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RUNS = 3
MEGABYTES = 200  # imports alone take 116 MB
GOALS = {"time": 0.5, "memory": 1.5}
START = """
import json, sys, time
from pathlib import Path
import pandas, estimator.profiles.kineto as kineto
from estimator.core.types import Workload
from estimator.profiles.dump import Dump
path = Path(sys.argv[1])
start = time.perf_counter()
"""
COMMANDS = {
    "json.load": "json.load(path.open())",
    "read": "profile = kineto.read([Dump(path)], Workload(name='benchmark'))",
    "plain": """
import sys; sys.path.insert(0, '.')
from tests.profiles import plain_trace
from estimator.profiles import chrome_trace
chrome_trace.scan = plain_trace.scan
profile = kineto.read([Dump(path)], Workload(name='benchmark'))""",
}
END = """
seconds = time.perf_counter() - start
peak = [line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')]
print(json.dumps({'seconds': seconds, 'peak': int(peak[0]) * 1024}))
"""
SAVE = """
rows = profile.ops.sort_values(list(profile.ops.columns)).to_csv(index=False)
print(json.dumps([rows, profile.steps, profile.wall_step_s, profile.busy_step_s, profile.warnings]))
"""

LAYERS = ((1000, 500), (500, 100), (100, 50))
OP = """  {{
    "ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 77, "tid": {tid},
    "ts": {ts:.3f}, "dur": {dur:.3f},
    "args": {{
      "External id": {id},"Record function id": 0, "Sequence number": {id}, "Fwd thread id": 0, "Concrete Inputs": {values}, "Input type": {types}, "Input Strides": {strides}, "Input Dims": {dims}, "Ev Idx": {id}
    }}
  }}"""  # noqa: E501
LAUNCH = """  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 77, "tid": {tid},
    "ts": {ts:.3f}, "dur": {dur:.3f},
    "args": {{
      "External id": {id}, "cbid": 211, "correlation": {id}
    }}
  }},
  {{
    "ph": "s", "id": {id}, "pid": 77, "tid": {tid}, "ts": {ts:.3f},
    "cat": "ac2g", "name": "ac2g"
  }}"""
KERNEL = """  {{
    "ph": "X", "cat": "kernel", "name": "void cutlass::Kernel<cutlass_80_simt_sgemm_{k}x64_8x5_nn_align1>(Params)",
    "pid": 0, "tid": {stream}, "ts": {ts:.3f}, "dur": {dur:.3f},
    "args": {{
      "External id": {id}, "queued": 0, "device": 0, "context": 1, "stream": {stream}, "correlation": {id}, "registers per thread": 128, "shared memory": 34816, "blocks per SM": 0.67, "warps per SM": 5.37, "grid": [10, 9, 1], "block": [256, 1, 1], "est. achieved occupancy %": 8
    }}
  }}"""  # noqa: E501
MARK = """  {{
    "ph": "X", "cat": "user_annotation", "name": "{name}", "pid": 77, "tid": 77, "ts": {ts:.3f}, "dur": {dur:.3f},
    "args": {{ "External id": {id}, "Ev Idx": {id} }}
  }}"""


def write_trace(path: Path, size: int, *, gpu: bool = True) -> None:
    """A trace of about ``size`` bytes."""
    with path.open("w") as file:
        file.write('{"schemaVersion": 1, "deviceProperties": [], "record_shapes": 1, "traceEvents": [\n')
        for step in itertools.count():
            file.write(",\n".join(_step(step, gpu=gpu)))
            if file.tell() >= size:
                break
            file.write(",\n")
        file.write('\n], "traceName": "benchmark.json"}\n')


def _step(step: int, *, gpu: bool) -> Iterator[str]:
    """One step: four threads, each with linear layers on a stream of its own."""
    start, id_ = 4361661867327.288 + 2000.125 * step, 1000 * step
    yield MARK.format(name=f"ProfilerStep#{step}", ts=start, dur=2000.1, id=id_)
    yield MARK.format(name="Optimizer.step#SGD.step", ts=start + 1700, dur=250.5, id=id_ + 1)
    for thread, layer in itertools.product(range(4), range(12)):
        id_ += 4
        inputs, outputs = LAYERS[layer % 3]
        at = {"ts": start + 150 * layer, "tid": 77 + thread, "stream": 7 + thread, "k": 32 << layer % 3}
        yield from _layer(at, id_, inputs, outputs, gpu=gpu)


def _layer(at: dict[str, float], id_: int, m: int, n: int, *, gpu: bool) -> Iterator[str]:
    wide, high = f"[100, {m}], [{n}, {m}], [{n}]", f"[{m}, 1], [{m}, 1], [1]"
    yield OP.format_map(
        at
        | {"name": "aten::linear", "dur": 120.25, "id": id_, "dims": f"[{wide}]", "strides": f"[{high}]"}
        | {"types": '["float", "float", "float"]', "values": '["", "", ""]'}
    )
    scalars = {"types": '["float", "Scalar", "Scalar"]', "values": '["", "0", "1"]'}
    yield OP.format_map(
        at
        | {"name": "aten::transpose", "dur": 7.5, "ts": at["ts"] + 1.25, "id": id_ + 1, **scalars}
        | {"dims": f"[[{n}, {m}], [], []]", "strides": f"[[{m}, 1], [], []]"}
    )
    yield OP.format_map(
        at
        | {"name": "aten::addmm", "dur": 100.125, "ts": at["ts"] + 10.5, "id": id_ + 2}
        | {"dims": f"[[{n}], [100, {m}], [{m}, {n}], [], []]", "strides": f"[[1], [{m}, 1], [1, {m}], [], []]"}
        | {"types": '["float", "float", "float", "Scalar", "Scalar"]', "values": '["", "", "", "1", "1"]'}
    )
    if gpu:
        yield LAUNCH.format_map(at | {"ts": at["ts"] + 15, "dur": 4.5, "id": id_ + 2})
        yield KERNEL.format_map(at | {"ts": at["ts"] + 300, "dur": 90.75, "id": id_ + 2})


def run(what: str, path: Path, end: str) -> Any:
    """What one command prints, in a process of its own."""
    command = [sys.executable, "-c", START + COMMANDS[what] + end, str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kineto.json"
        write_trace(path, size * 10**6)
        runs: dict[str, list[Any]] = {"json.load": [], "read": []}
        for _ in range(RUNS):
            for what, actual in runs.items():
                actual.append(run(what, path, END))
        times = {what: statistics.median(one["seconds"] for one in actual) for what, actual in runs.items()}
        peak = max(one["peak"] for one in runs["read"])
        print(f"time: {times['read'] / times['json.load']:.2f} x json.load of {times['json.load']:.2f} s (goal 0.5)")
        print(f"memory: {peak / path.stat().st_size:.2f} x the file of {path.stat().st_size / 1e6:.0f} MB (goal 1.5)")
        same = run("read", path, SAVE) == run("plain", path, SAVE)
        print(f"the same as the plain reader's: {'yes' if same else 'NO'}")


if __name__ == "__main__":
    main()
