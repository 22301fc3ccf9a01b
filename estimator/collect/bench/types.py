"""Names that all sections share."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

Row = dict[str, Any]  # cells by column
Run = Callable[[], Any]  # one call of an op
Sample = tuple[float, bool]  # seconds, and whether something else took the processor meanwhile
TimeCalls = Callable[[int], Sample]  # the time of so many calls
Conv = namedtuple("Conv", "n c h w k r s stride pad dilation groups direction")  # sizes as in jobs; the pass
Pool = namedtuple("Pool", "maxima n c h w r s p q stride padding direction")  # padding as TensorFlow calls it
ITEMSIZE = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2}
DTYPE = {"fp64": "float64", "fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16"}
LAUNCH = "launch"  # an addition of one element
CAST = "cast"  # from fp32 to a narrower precision


class Kernel(NamedTuple):
    """A memory-bound operator: its class, the tensors that one call reads and writes, the FLOP for each element.

    It may go along the rows of its arrays, the channels, or the windows of an image.
    """

    op_class: str
    reads: int
    writes: int
    flop_per_element: int
    along: str


class LeftOutError(Exception):
    """Why a shape is not measured here, or not within this budget."""


class FaultError(Exception):
    """What is wrong with the input, in one sentence."""
