"""The facts of the lecture's profile: Foster & Stevens, Learning Systems 2018, Lecture 10."""

import itertools

import pandas as pd
import pytest

from estimator.core.types import Profile
from estimator.reports.documents import top_operations
from estimator.work import count_work
from tests.conftest import unpacked

LAYERS = (29532, 1000, 500, 100, 50, 1)
BATCH = 100


@pytest.fixture
def work(p1b3: Profile) -> pd.DataFrame:
    counted, warnings = unpacked(count_work(p1b3.ops, p1b3.workload))
    assert not warnings
    return counted


@pytest.fixture
def products(work: pd.DataFrame) -> pd.DataFrame:
    return work[work["op_class"] == "gemm"]


def test_fourteen_of_fifteen_products_run(products: pd.DataFrame) -> None:
    assert products["calls"].sum() == 14
    never = products[products["calls"] == 0]
    assert list(never["shapes"]) == ["100x1000;29532x1000"]
    assert never["flop"].iloc[0] == 0


def test_products_add_up_to_the_aggregate(products: pd.DataFrame) -> None:
    assert products["time_s"].sum() == pytest.approx(115.53e-3, abs=0.005e-3)
    assert products["time_s"].sum() == pytest.approx(115.52e-3, rel=1e-3)


def test_flop_of_all_products(work: pd.DataFrame) -> None:
    assert work["time_s"].sum() == pytest.approx(287.3e-3, abs=0.05e-3)


def test_flop_of_the_products_from_the_layers(products: pd.DataFrame) -> None:
    pairs = list(itertools.pairwise(LAYERS))
    expected = 6 * BATCH * sum(a * b for a, b in pairs) - 2 * BATCH * LAYERS[0] * LAYERS[1]
    assert products["flop"].sum() == expected
    assert expected == pytest.approx(12.146e9, rel=1e-4)


def test_every_product_of_every_layer_is_found(products: pd.DataFrame) -> None:
    dimensions = products.loc[products.index.repeat(products["calls"].astype(int)), ["m", "n", "k"]]
    expected = []
    for i, (a, b) in enumerate(itertools.pairwise(LAYERS)):
        expected += [(BATCH, b, a), (a, b, BATCH)] + ([(BATCH, a, b)] if i else [])
    assert sorted(map(tuple, dimensions.astype(int).to_numpy().tolist())) == sorted(expected)


def test_the_ninety_five_percent_list(work: pd.DataFrame) -> None:
    top = top_operations(work, 0.95)
    assert [row[0] for row in top] == ["MatMul", "Assign", "Mul", "Add"]
    assert top[-1][3] == pytest.approx(0.95, abs=5e-4)


def test_the_sgd_update_is_memory_bound_work_over_all_parameters(work: pd.DataFrame) -> None:
    """Keras SGD with its moment: 2 Mul, 1 Sub, 1 Add, 2 Assign; 14 passes over 30,088,701 parameters of 4 bytes."""
    update = work[work["phase"] == "optimizer"]
    assert set(update["op_type"]) == {"Mul", "Sub", "Add", "Assign"}
    assert update["bytes"].sum() == 14 * 4 * 30_088_701
    assert set(update["work_source"]) == {"workload"}
    assert update["intensity"].max() <= 0.125
    assert update["time_s"].sum() == pytest.approx(159.64e-3)


def test_the_unknown_dimension_is_the_batch(p1b3: Profile) -> None:
    without = p1b3.workload.model_copy(update={"batch_size": None})
    work, warnings = unpacked(count_work(p1b3.ops, without))
    first = work[work["shapes"] == "-1x29532;29532x1000"]
    assert first["flop"].isna().all()
    assert "--batch" in warnings[0]


def test_memory_column_checks_the_reading(work: pd.DataFrame, products: pd.DataFrame) -> None:
    """The outputs of the executed products are the 121.67 MB that MatMul allocated."""
    outputs = (products["m"] * products["n"] * products["calls"] * 4).sum()
    assert outputs == pytest.approx(121.67e6, rel=1e-4)
    random = work[work["op_type"] == "RandomUniform"].iloc[0]
    assert random["reported_bytes"] == pytest.approx(random["bytes"], rel=1e-3)
