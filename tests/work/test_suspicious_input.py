"""Warnings about op types and times of a table that are likely mistakes."""

import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from tests.conftest import make_ops

PRODUCT = {"op_type": "MatMul", "m": 256, "n": 4096, "k": 1024}
WORDS = "time_s is in seconds; is it in milliseconds, or of several steps?"


def warnings_of(*rows: dict[str, object]) -> list[str]:
    notes = count_work(make_ops(*rows), Workload(name="toy", precision="fp32")).notes
    return [note.text for note in notes if note.code in ("op-type-unknown", "time-unit")]


def test_an_op_type_with_the_dimensions_of_a_product_that_is_no_ops_name() -> None:
    misspelt = PRODUCT | {"op_type": "Matmull"}
    assert warnings_of(misspelt, misspelt, PRODUCT) == ["op_type 'Matmull' is not known. Did you mean MatMul?"]
    assert warnings_of(misspelt | {"op_class": "gemm"}) == []
    assert warnings_of({"op_type": "Mystery", "shapes": "3x4"}) == []
    (other,) = warnings_of(PRODUCT | {"op_type": "qqq"})
    assert other == "op_type 'qqq' is not known. Write op_class, such as gemm, beside it."


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([PRODUCT | {"time_s": 0.2}], None),
        ([PRODUCT | {"time_s": 0.2}, {"op_type": "Relu", "time_s": 1200.0}], "the ops take 1200 s a step"),
        ([PRODUCT | {"m": 10, "n": 100, "time_s": 20.0}], "products run at 102 kFLOP/s, slower than on any processor"),
        ([PRODUCT | {"m": 1, "n": 1, "time_s": 20.0}], None),
        ([PRODUCT | {"time_s": 1e-7}], None),
    ],
)
def test_times_that_are_likely_in_another_unit(rows: list[dict[str, object]], expected: str | None) -> None:
    assert warnings_of(*rows) == ([f"{expected}: {WORDS}"] if expected else [])


def test_products_that_no_device_is_fast_enough_for() -> None:
    (sentence,) = warnings_of(PRODUCT | {"time_s": 1e-9})
    assert sentence.startswith("products run at 2.15 EFLOP/s, faster than on any device: ")
