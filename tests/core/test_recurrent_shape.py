"""The sizes of recurrent layers, read from any table."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.recurrent_shape import RecurrentShape
from estimator.core.schema import MEASUREMENTS, WORK

LAYER = {"cell": "lstm", "hidden": 30, "sequences": 8, "timesteps": 7}


def shape_of(**row: object) -> RecurrentShape:
    return RecurrentShape.from_table(pd.DataFrame([{**LAYER, **row}]))


def test_a_missing_column_and_a_missing_value_mean_the_default() -> None:
    row = {"op": "a", "time_s": 1.0, "op_class": "recurrent", "precision": "fp32", **LAYER}
    for table in (WORK, MEASUREMENTS):
        stated = RecurrentShape.from_table(table.conform(pd.DataFrame([row]), "here"))
        for name, values in vars(shape_of()).items():
            np.testing.assert_array_equal(values, getattr(stated, name))
    assert shape_of().input_width.tolist() == [0]
    assert np.isnan(RecurrentShape.from_table(pd.DataFrame([{"m": 1}])).flop()).all()


@pytest.mark.parametrize(("cell", "gates"), [("vanilla", 1), ("gru", 3), ("lstm", 4)])
def test_each_gate_multiplies_state_and_input_at_every_step(cell: str, gates: int) -> None:
    shape = shape_of(cell=cell, input_width=20)
    weights, samples = gates * 30 * 50, 7 * 8
    assert shape.flop().item() == 2 * weights * samples
    assert shape.bytes(4).item() == 4 * (weights + samples * 50)  # the gates stay on the chip
