"""The sizes of recurrent layers, read from the RECURRENT columns of any table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from estimator.core import physics
from estimator.core.passes import passes_of
from estimator.core.schema import GATES, numbers
from estimator.core.types import Floats, itemsizes

if TYPE_CHECKING:
    import pandas as pd

CELL_OF_GATES = {gates: cell for cell, gates in GATES.items()}


@dataclass(frozen=True)
class RecurrentShape:
    """Recurrent layers, one entry per row; NaN where unknown."""

    gates: Floats
    hidden: Floats  # width of the state
    input_width: Floats  # 0 where the input is multiplied with no weights
    sequences: Floats
    timesteps: Floats

    @classmethod
    def from_table(cls, rows: pd.DataFrame) -> RecurrentShape:
        """The layers of any table's rows; a missing column has its default."""
        sizes = (numbers(rows, name) for name in ("hidden", "input_width", "sequences", "timesteps"))
        return cls(_gates(rows), *sizes)

    def weights(self) -> Floats:
        """Elements of the weights, without biases."""
        return np.asarray(self.gates * self.hidden * (self.hidden + self.input_width))

    def flop(self) -> Floats:
        """FLOP of one pass."""
        samples = self.sequences * self.timesteps
        return physics.gemm_flop(1.0, self.gates * self.hidden, samples, self.hidden + self.input_width)

    def bytes(self, itemsize: ArrayLike) -> Floats:
        """Compulsory traffic of one pass [B]: weights, input and result once each; ``itemsize``: bytes per element."""
        samples = self.sequences * self.timesteps
        return np.asarray(np.asarray(itemsize) * (self.weights() + samples * (self.input_width + self.hidden)))


def amounts_of(rows: pd.DataFrame) -> tuple[Floats, Floats]:
    """FLOP and bytes of one call of each row's layer, in all passes that it holds."""
    shape, passes = RecurrentShape.from_table(rows), passes_of(rows)
    return passes * shape.flop(), passes * shape.bytes(itemsizes(rows["precision"]))


def _gates(rows: pd.DataFrame) -> Floats:
    if "cell" not in rows:
        return np.full(len(rows), np.nan)
    codes, cells = rows["cell"].factorize()  # most tables have none: a hundred times as fast as to map each row
    return np.asarray(np.array([*(GATES[cell] for cell in cells), np.nan])[codes])
