"""Names in TensorFlow's dumps: op types, and the pseudo-devices of a GPU on which each kernel counts once.

``/device:GPU:0/stream:all`` holds a GPU's kernels, which each ``stream:N`` repeats; ``/memcpy`` holds its copies; the
GPU itself (``/gpu:0``) holds the host's time of launching.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

import pandas as pd

from estimator.core.types import Workload
from estimator.profiles import modes, phases
from estimator.profiles.frameworks import TENSORFLOW, with_framework

GPU = re.compile(r"(?i)gpu:(\d+)(?:/(stream:\w+|memcpy))?")
NUMBERED = r"_\d+$"
LAUNCHES_LEFT_OUT = "the host's time of launching kernels is left out: it overlaps with them"
NO_STREAM = "{device} has no stream beside it: its times may be those of launching kernels alone"
ROOT = "_TFProfRoot"  # of tfprof's trees
SECONDS = {"us": 1e-6, "ms": 1e-3, "sec": 1.0}  # as tfprof writes times, bytes and counts
BYTES = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
COUNT = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9}
TYPES_FROM_NAMES = "op types are the last parts of the names, because this view has no types"


def op_types(names: pd.Series) -> pd.Series:
    """The op type that each name's last part suggests: ``gradients/dense_1/MatMul_grad/MatMul_1`` → ``MatMul``."""
    return names.str.rsplit("/", n=1).str[-1].str.replace(NUMBERED, "", regex=True)


def as_profiled(workload: Workload, ops: pd.DataFrame) -> Workload:
    """The workload as TensorFlow's, and as inference where its ops tell so."""
    is_inference = modes.is_inference(ops["op"], ops["op_type"], ops["time_s"])
    return modes.with_mode(with_framework(workload, TENSORFLOW), is_inference)


def warn_missing_updates(ops: pd.DataFrame) -> Iterator[str]:
    """Yield a warning where a training step has no optimizer's updates, which tfprof's trees can leave out."""
    updates = any(phases.UPDATE.search(op_type) for op_type in ops["op_type"].dropna().unique())
    if (ops["phase"] == "backward").any() and not updates:
        yield "this view lists no optimizer's updates, which tfprof's scope views leave out; make its op view"


def select_counted(devices: Iterable[str]) -> set[str]:
    """The devices that together hold each kernel and copy once: streams, not launches; ``stream:all`` before others."""
    parts = {device: GPU.search(device) for device in set(devices)}
    lanes = {(match[1], match[2] or "") for match in parts.values() if match}
    return {device for device, match in parts.items() if match is None or _is_counted(match[1], match[2] or "", lanes)}


def is_launch_device(device: str) -> bool:
    """Whether the device is a GPU itself, whose times are those of launching on the host."""
    match = GPU.search(device)
    return match is not None and not match[2]


def _is_counted(gpu: str, lane: str, lanes: Collection[tuple[str, str]]) -> bool:
    streams = {name for number, name in lanes if number == gpu and name.startswith("stream:")}
    if lane == "memcpy":
        return not streams or "stream:all" in streams  # otherwise the streams hold the copies as well
    if not lane:
        return not streams
    return lane == "stream:all" or "stream:all" not in streams
