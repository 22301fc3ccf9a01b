"""What the program calls its rows, calls, samples and shapes, and why a shape is not measured."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
Run = Callable[[], Any]
Timed = tuple[float, bool]  # seconds, and whether something else took the processor meanwhile
Timer = Callable[[int], Timed]  # times so many calls
Conv = namedtuple("Conv", "n c h w k r s stride pad dilation groups what")  # sizes as in ops below; the pass timed
Pool = namedtuple("Pool", "maxima n c h w r s p q stride padding what")  # padding as TensorFlow calls it
ITEMSIZE = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2}
DTYPE = {"fp64": "float64", "fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16"}


class LeftOutError(Exception):
    """Why a shape is not measured here, or not within this budget."""


class FaultError(Exception):
    """What is wrong with the input, in one sentence."""
