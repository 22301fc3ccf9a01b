"""The sizes of recurrent layers, read from the RECURRENT columns of any table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from estimator.core import physics
from estimator.core.schema import numbers
from estimator.core.types import Floats

if TYPE_CHECKING:
    import pandas as pd

GATES = {"vanilla": 1, "gru": 3, "lstm": 4}  # products of a cell's width at each step


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
        cells = rows["cell"].map(GATES) if "cell" in rows else np.full(len(rows), np.nan)
        sizes = (numbers(rows, name) for name in ("hidden", "input_width", "sequences", "timesteps"))
        return cls(np.asarray(cells, dtype=float), *sizes)

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
