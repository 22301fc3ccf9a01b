"""Distances between shapes in octaves, and draws that hang on the shape alone."""

import numpy as np
import pandas as pd
import pytest

from estimator.validation import shapes
from tests.validation.public import truth

PRODUCT = {"device": "v100-pcie-32gb", "m": 64, "n": 64, "k": 64}


def rows(*changed: dict[str, object]) -> pd.DataFrame:
    return truth(*(PRODUCT | change for change in changed))


@pytest.mark.parametrize("size", ["m", "n", "k", "batch"])
def test_a_doubled_size_is_an_octave_away(size: str) -> None:
    base = PRODUCT | {"batch": 2}
    first, second = shapes.octaves(truth(base, base | {size: 2 * int(str(base[size]))}))
    assert np.linalg.norm(second - first) == pytest.approx(1.0)


def test_another_transpose_is_half_an_octave_away() -> None:
    actual = shapes.octaves(rows({"trans_a": "n"}, {"trans_a": "t"}, {"trans_a": "t", "trans_b": "t"}))
    assert np.linalg.norm(actual[1] - actual[0]) == pytest.approx(0.5)
    assert np.linalg.norm(actual[2] - actual[1]) == pytest.approx(0.5)


def test_kinds_are_distinguished_by_class_pass_and_op() -> None:
    table = pd.DataFrame({
        "op_class": ["gemm", "convolution", "convolution", "elementwise", "elementwise", "gemm"],
        "pass": [None, "forward", "grad_input", None, None, None], "op": [None, None, None, "add", "relu", None],
    })  # fmt: skip
    actual = shapes.kind(table)
    assert actual.nunique() == 5
    assert actual.iloc[0] == actual.iloc[5]


def test_lots_hang_on_the_shape_and_the_seed_not_on_the_order() -> None:
    table = rows({"m": 32}, {"m": 64}, {"m": 128}, {"m": 64})
    lots = shapes.lots(table, 0)
    assert lots[1] == lots[3]
    assert len(set(lots)) == 3
    assert ((lots >= 0) & (lots < 1)).all()
    assert shapes.lots(table.iloc[::-1], 0).tolist() == lots[::-1].tolist()
    assert not set(shapes.lots(table, 1)) & set(lots)


@pytest.mark.parametrize("other", [{"data_set": "another"}, {"precision": "fp16"}, {"device": "p4"}])
def test_lots_differ_between_data_sets_precisions_and_devices(other: dict[str, object]) -> None:
    first, second = (shapes.lots(rows(change), 0)[0] for change in ({}, other))
    assert first != second


def test_lots_are_even() -> None:
    table = pd.concat([rows({})] * 400, ignore_index=True).assign(m=np.arange(1.0, 401.0))
    assert shapes.lots(table, 0).mean() == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize(
    ("count", "chosen"), [(1, [0.1, 0.7]), (2, [0.3, 0.1, 0.7]), (0.5, [0.3, 0.1]), (0.4, [0.1]), (0, [])]
)
def test_the_lowest_of_each_group_are_chosen_by_number_or_share(count: float, chosen: list[float]) -> None:
    numbers, groups = np.array([0.3, 0.9, 0.1, 0.5, 0.7]), pd.Series(["a", "a", "a", "a", "b"], index=[9, 8, 7, 6, 5])
    assert numbers[shapes.lowest(numbers, groups, count)].tolist() == chosen


def test_equal_numbers_are_chosen_together() -> None:
    assert shapes.lowest(np.array([0.1, 0.1, 0.2]), pd.Series(["a"] * 3), 1).tolist() == [True, True, False]
