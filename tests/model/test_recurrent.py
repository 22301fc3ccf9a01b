"""The products of recurrent layers, by hand."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.recurrent_shape import RecurrentShape
from estimator.model.recurrent import products_of, waiting_steps

LAYER = {"cell": "lstm", "hidden": 30, "input_width": 20, "sequences": 8, "timesteps": 7}
STEP, INPUT = (7, 120, 8, 30), (1, 120, 56, 20)
BACK, TO_INPUT, WEIGHTS = (7, 30, 8, 120), (1, 20, 56, 120), (1, 120, 50, 56)


def products(name: str, **fields: object) -> list[tuple[float, ...]]:
    """Number, m, n and k of all products of a pass."""
    shape = RecurrentShape.from_table(pd.DataFrame([LAYER | fields]))
    each = (tuple(np.concatenate(list(vars(p).values())).tolist()) for p in products_of(shape, np.array([name])))
    return [sizes for sizes in each if sizes[0]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("forward", [STEP, INPUT]),
        ("grad_input", [BACK, TO_INPUT]),
        ("grad_weights", [WEIGHTS]),
        ("backward", [BACK, TO_INPUT, WEIGHTS]),
    ],
)
def test_a_pass_multiplies_its_steps_in_turn_and_the_rest_at_once(name: str, expected: list[tuple[int, ...]]) -> None:
    actual = products(name)
    assert actual == expected
    shape = RecurrentShape.from_table(pd.DataFrame([LAYER]))
    flop = sum(2 * count * m * n * k for count, m, n, k in actual)
    assert flop == (2 if name == "backward" else 1) * shape.flop().item()


def test_an_input_without_weights_has_no_product() -> None:
    assert products("forward", input_width=0) == [STEP]
    assert products("grad_input", input_width=0) == [BACK]
    assert products("grad_weights", input_width=0) == [(1, 120, 30, 56)]


def test_the_steps_of_the_gradient_of_weights_wait_for_nothing() -> None:
    names = np.array(["forward", "grad_input", "grad_weights", "backward"])
    shape = RecurrentShape.from_table(pd.DataFrame([LAYER] * 4))
    assert waiting_steps(shape, names).tolist() == [7, 7, 0, 7]
