"""Gradients that travel in a narrower format, or but the largest of them: what is sent, and what devices do for that.

- In fp16 or bf16, a message is cast before it is sent and back when it has come (PyTorch,
  torch.distributed.algorithms.ddp_comm_hooks, ``fp16_compress_hook``).
- Of the largest, each copy of the model sends values and places, which all others gather and add up. What it does not
  send is added to the gradients of the next step (Lin et al., Deep Gradient Compression, 2018, algorithm 4): an update
  of momentum and one of what is kept, then a pass that chooses.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from estimator.core.number_formats import WIDE
from estimator.core.parallel import Split
from estimator.core.schema import WORK
from estimator.core.types import ITEMSIZE

PLACE_BYTES = 4  # of the index of a gradient
ADDED = 3  # passes over a tensor that a sum of two takes


@dataclass(frozen=True)
class Compression:
    """How the gradients of one step travel.

    ``messages``: their number; ``elements``: of all gradients; ``itemsize``: of one as computed [B]; ``format``: in
    which they are sent, where it is another; ``top``: the share that is sent, None: all.
    """

    messages: int
    elements: float
    itemsize: float
    format: str | None = None
    top: float | None = None

    @property
    def value_bytes(self) -> float:
        """Bytes of one gradient as sent."""
        return ITEMSIZE[self.format] if self.format else self.itemsize

    @property
    def share(self) -> float:
        """Bytes that one copy of the model sends, as a share of those of all gradients as computed."""
        each = self.value_bytes if self.top is None else self.top * (self.value_bytes + PLACE_BYTES)
        return each / self.itemsize

    def work(self, copies: int) -> list[pd.DataFrame]:
        """WORK of what one of so many copies of the model does for it in a step; as many rows for any number."""
        rows = _casts(self) if self.top is None else _choice(self, self.top, copies)
        if not rows:
            return []
        table = pd.DataFrame(rows, columns=["op", "operator", "bytes", "from_precision", "to_precision"])
        same = {"op_class": "elementwise", "precision": WIDE, "calls": float(max(self.messages, 1)), "time_s": 0.0}
        return [WORK.conform(table.assign(**same), "compression of gradients")]


Row = tuple[str, str, float, str | None, str | None]


def compression(messages: pd.DataFrame, itemsize: float, split: Split) -> Compression:
    """How the gradients of MESSAGES travel, of which each has so many bytes as computed."""
    narrow = split.gradients if split.gradients and ITEMSIZE[split.gradients] < itemsize else None
    elements = float(messages["bytes"].sum()) / itemsize
    return Compression(len(messages), elements, itemsize, narrow, split.top)


def _casts(how: Compression) -> list[Row]:
    """A cast before a message and one behind it."""
    if how.format is None:
        return []
    size = how.elements * (how.itemsize + how.value_bytes)
    return [
        ("gradients narrowed", "cast", size, WIDE, how.format),
        ("gradients widened", "cast", size, how.format, WIDE),
    ]


def _choice(how: Compression, top: float, copies: int) -> list[Row]:
    """What is kept is updated, the largest chosen, and those of all copies added up."""
    whole, chosen = ITEMSIZE[WIDE] * how.elements, top * how.elements
    sent = how.value_bytes + PLACE_BYTES
    return [
        ("momentum of gradients", "add", ADDED * whole, None, None),
        ("gradients kept", "add", ADDED * whole, None, None),
        ("gradients chosen", "select", whole + chosen * sent, None, None),
        ("gradients added up", "add", whole + copies * chosen * (sent + 2 * ITEMSIZE[WIDE]), None, None),
    ]
