"""The part of the step to which each op belongs."""

import numpy as np
import pandas as pd
import pytest

from estimator.rollup.parts import PART_OF_CLASS, PARTS, part_of_ops, sum_of_parts
from tests.rollup.toy_steps import OPS, predicted


def part(op_class: str, bound: str | None, method: str) -> str:
    rows = {"op_class": [op_class], "bound": [bound], "method": [method]}
    return str(part_of_ops(pd.DataFrame(rows, dtype="string[python]"))[0])


def test_the_part_of_each_kind_of_op() -> None:
    assert part_of_ops(predicted().ops).tolist() == [op[5] for op in OPS]


@pytest.mark.parametrize(
    ("op_class", "bound", "method", "expected"),
    [
        ("host", None, "proportional", "unmodelled"),  # a variable, which TensorFlow books on its device
        ("input", None, "proportional", "input"),
        ("host", None, "carried", "host"),
        ("input", None, "none", "input"),
        ("gemm", "compute", "proportional", "unmodelled"),
        ("elementwise", None, "measured", "memory"),
    ],
)
def test_the_part_by_class_bound_and_method(op_class: str, bound: str | None, method: str, expected: str) -> None:
    assert part(op_class, bound, method) == expected


def test_every_part_of_a_class_is_a_part_of_the_step() -> None:
    assert set(PART_OF_CLASS.values()) < set(PARTS)


def test_parts_add_up_draw_by_draw() -> None:
    assert sum_of_parts(np.array([1.0, 2.0]), np.array([0.5, 3.0])).tolist() == [1.5, 5.0]
