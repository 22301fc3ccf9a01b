"""Passes that take the weights of an earlier one, as those of an inference that generates text."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from estimator.work.repeated_passes import calls_with_own_weights
from estimator.work.variables import step_variables
from estimator.work.weights import takes_weights
from tests.conftest import make_ops

ROWS = (  # a table of 100 rows, a layer of two products, and a last product; 6 tokens at once, then one each time
    {"op_type": "aten::embedding", "shapes": "100x8;1x6", "places": "0"},
    {"op_type": "aten::mm", "shapes": "6x8;8x8", "places": "1;2"},
    {"op_type": "aten::mm", "shapes": "6x8;8x100", "places": "3"},
    {"op_type": "aten::embedding", "shapes": "100x8;1x1", "places": "4;9"},
    {"op_type": "aten::mm", "shapes": "1x8;8x8", "places": "6;7;11;12"},
    {"op_type": "aten::mm", "shapes": "1x8;8x100", "places": "8;13"},
)
INFERENCE = Workload(name="toy", mode="inference")


def work_of(*rows: dict[str, str]) -> pd.DataFrame:
    phased = [{"phase": "forward", **row} for row in rows]
    return count_work(make_ops(*phased), INFERENCE, "toy").work


def test_passes_behind_lookups_of_one_table_share_their_weights() -> None:
    work = work_of(*ROWS)
    assert_calls(work, [2, 1, 0, 0])
    assert step_variables(work, INFERENCE, "fp32").parameters == 4 * (2 * (8 + 1) * 8 + (8 + 1) * 100)


@pytest.mark.parametrize(("places", "own"), [("6;7;8", 3), ("6;7", 0)])
def test_a_pass_with_more_weights_has_its_own(places: str, own: int) -> None:
    """As a decoder behind its encoder."""
    decoder = {"op_type": "aten::mm", "shapes": "1x8;8x8", "places": places}
    assert_calls(work_of(*ROWS[:3], {**ROWS[3], "places": "4"}, decoder), [2, 1, own])


def test_without_places_or_lookups_each_row_has_its_own() -> None:
    assert_calls(work_of(*({**row, "places": ""} for row in ROWS)), [1, 1, 1, 1])
    assert_calls(work_of(*(row for row in ROWS if "mm" in row["op_type"])), [2, 1, 4, 2])


def assert_calls(work: pd.DataFrame, expected: list[int]) -> None:
    takes = takes_weights(work)
    assert calls_with_own_weights(work, takes)[takes].tolist() == expected
