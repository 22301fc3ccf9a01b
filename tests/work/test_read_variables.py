"""Products that take the weights of the same variable are known by the flow between a step's ops."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from estimator.work.read_variables import used_before
from estimator.work.variables import step_variables
from tests.conftest import make_ops

READS = {"read_0": "w", "read_1": "w", "read_2": "other"}


def of_products(*weights: str) -> pd.DataFrame:
    """Reads of two variables, one of them cast, and products of the batch with these weights."""
    inputs = {**READS, "cast": "read_1"} | {f"dense_{i}": f"x;{name};read_2" for i, name in enumerate(weights)}
    types = {**dict.fromkeys(READS, "ReadVariableOp"), "cast": "Cast"}
    product = {"op_type": "_FusedMatMul", "shapes": "8x4;4x2;2", "attributes": "trans_a=n;trans_b=n"}
    rows = [{"op_type": types[op], "shapes": "4x2"} if op in types else product for op in inputs]
    ops = make_ops(*rows).assign(op=list(inputs), inputs=list(inputs.values()))
    return count_work(ops.assign(phase="forward"), Workload(name="toy", batch_size=8)).work


@pytest.mark.parametrize(
    ("weights", "again"),
    [
        (("read_0", "read_1"), [False, True]),
        (("read_0", "cast", "read_0"), [False, True, True]),
        (("read_0", "read_2"), [False, False]),
        (("w", "w"), [False, False]),  # w may be an op's result, which no op that ran tells
        (("dense_9", "dense_9"), [False, False]),
    ],
)
def test_a_variable_is_recognised_by_the_ops_that_read_it(weights: tuple[str, ...], again: list[bool]) -> None:
    work = of_products(*weights)
    products = work["op_class"] == "gemm"
    assert used_before(work, products)[products].tolist() == again
    assert not used_before(work, products)[~products].any()


def test_weights_count_once_as_parameters() -> None:
    counts = [
        step_variables(of_products(*weights), Workload(name="toy", batch_size=8), "fp32").parameters
        for weights in (("read_0",), ("read_0", "read_1"), ("read_0", "read_2"))
    ]
    assert counts == [40, 40, 80]
