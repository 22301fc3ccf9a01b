"""Names shared by all sections."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

Row = dict[str, Any]  # cells by column
Run = Callable[[], Any]  # one call of an op
Sample = tuple[float, bool]  # seconds, and whether other processes disturbed it
TimeCalls = Callable[[int], Sample]  # number of calls → their time
Conv = namedtuple("Conv", "n c h w k r s stride pad dilation groups direction")  # sizes as in jobs; direction: the pass
Pool = namedtuple("Pool", "maxima n c h w r s p q stride padding direction")  # padding: TensorFlow's name
ITEMSIZE = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2}
DTYPE = {"fp64": "float64", "fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16"}
LAUNCH = "launch"  # an addition of one element
CAST = "cast"  # from fp32 to a narrower precision


class Kernel(NamedTuple):
    """A memory-bound operator: class, tensors read and written by one call, FLOP per element.

    ``along``: rows, channels or windows of an image, or empty.
    """

    op_class: str
    reads: int
    writes: int
    flop_per_element: int
    along: str


class LeftOutError(Exception):
    """The reason why a shape is not measured."""


class FaultError(Exception):
    """A fault of the input, in one sentence."""
