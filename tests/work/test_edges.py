"""Who wrote what an op reads, by names and by shapes."""

import pandas as pd

from estimator.core.types import Workload
from estimator.work import count_work
from estimator.work.edges import has_flow, operand_writers, producers
from estimator.work.shapes import parse_ops
from tests.conftest import make_ops

Row = dict[str, object]
TOY = Workload(name="toy", precision="fp32", batch_size=8)
RELU: Row = {"op_type": "Relu", "shapes": "8x4", "output_shapes": "8x4"}


def writers(*rows: Row) -> list[list[tuple[int, int]]]:
    work = count_work(make_ops(*rows), TOY).work
    return operand_writers(work, parse_ops(work, 8))


def test_by_the_names_of_inputs() -> None:
    add: Row = {"op_type": "AddV2", "shapes": "8x4;8x4", "inputs": "b;a", "op": "c"}
    rows = [{**RELU, "op": "a", "inputs": "data"}, {**RELU, "op": "b", "inputs": "a"}, add]
    assert writers(*rows) == [[], [(0, 32)], [(1, 32), (0, 32)]]
    assert has_flow(count_work(make_ops(*rows), TOY).work)


def test_of_an_operand_of_unknown_size_the_writers_result_tells_it() -> None:
    rows: list[Row] = [{**RELU, "op": "a", "inputs": ""}, {"op_type": "Relu", "op": "b", "inputs": "a", "shapes": "?"}]
    assert writers(*rows) == [[], [(0, 32)]]


def test_an_op_that_renames_hands_on_its_input() -> None:
    shape: Row = {"op_type": "Reshape", "op": "b", "inputs": "a", "shapes": "8x4", "output_shapes": "32"}
    last: Row = {"op_type": "Relu", "op": "c", "inputs": "b", "shapes": "32"}
    assert writers({**RELU, "op": "a", "inputs": ""}, shape, last)[2] == [(0, 32)]


def test_without_names_the_last_result_of_that_size_in_the_same_rank() -> None:
    rows = [RELU, RELU, {**RELU, "shapes": "4x8"}, {**RELU, "shapes": "8x5"}]
    assert writers(*rows) == [[], [(0, 32)], [(1, 32)], []]
    assert writers({**RELU, "rank": 0}, {**RELU, "rank": 1}) == [[], []]


def test_a_cast_that_is_gone_hands_on_what_it_took() -> None:
    cast: Row = {"op_type": "Cast", "op": "b", "inputs": "a", "attributes": "from=bf16;to=fp32", **RELU}
    rows = [{**RELU, "op": "a", "inputs": ""}, {**cast, "op_type": "Cast"}, {**RELU, "op": "c", "inputs": "b"}]
    work = count_work(make_ops(*rows), TOY).work
    assert producers(work)[2] == [1]
    assert producers(work.assign(calls=pd.Series([1.0, 0.0, 1.0])))[2] == [0]
