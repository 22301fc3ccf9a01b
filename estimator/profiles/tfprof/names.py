"""What TensorFlow's names tell: an op's type, and which of a GPU's pseudo-devices count its kernels once.

A GPU's kernels stand on ``/device:GPU:0/stream:all`` and again on each ``stream:N``; ``/memcpy`` holds its copies;
what stands on the GPU itself (``/gpu:0``) is the host's time of launching them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

import pandas as pd

from estimator.profiles import phases

GPU = re.compile(r"(?i)gpu:(\d+)(?:/(stream:\w+|memcpy))?")
NUMBERED = r"_\d+$"
TYPES_FROM_NAMES = "op types are the last parts of the names, for this view has no others"


def op_types(names: pd.Series) -> pd.Series:
    """The op type that each name's last part suggests: ``gradients/dense_1/MatMul_grad/MatMul_1`` → ``MatMul``."""
    return names.str.rsplit("/", n=1).str[-1].str.replace(NUMBERED, "", regex=True)


def no_updates(ops: pd.DataFrame) -> Iterator[str]:
    """A warning where a view of a training step lists no optimizer's updates, which tfprof's trees can leave out."""
    updates = any(phases.UPDATE.search(op_type) for op_type in ops["op_type"].dropna().unique())
    if (ops["phase"] == "backward").any() and not updates:
        yield "this view lists no optimizer's updates, which tfprof's scope views leave out; make its op view"


def counted(devices: Iterable[str]) -> set[str]:
    """The devices on which each kernel and copy stands once: streams in place of launches, all in place of each."""
    known = set(devices)
    parts = {device: GPU.search(device) for device in known}
    lanes = {(match[1], match[2] or "") for match in parts.values() if match}
    return {device for device, match in parts.items() if match is None or _counts(match[1], match[2] or "", lanes)}


def launches(device: str) -> bool:
    """Whether the device is a GPU itself, whose times are the host's, of launching."""
    match = GPU.search(device)
    return match is not None and not match[2]


def _counts(gpu: str, lane: str, lanes: Collection[tuple[str, str]]) -> bool:
    streams = {name for number, name in lanes if number == gpu and name.startswith("stream:")}
    if lane == "memcpy":
        return not streams or "stream:all" in streams  # else the copies stand on the streams as well
    if not lane:
        return not streams
    return lane == "stream:all" or "stream:all" not in streams
