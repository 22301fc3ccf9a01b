"""Which rows and shapes are those of weights."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from estimator.work.gradients import gradient_elements
from estimator.work.weights import (
    activation_forms,
    form,
    holds_any,
    is_forward,
    read,
    takes_weights,
    updates,
    weight_forms,
    weights_taken,
)
from tests.conftest import make_ops

FORWARD: dict[str, object] = {"op_type": "MatMul", "shapes": "8x16;16x4", "output_shapes": "8x4", "phase": "forward"}
BACKWARD: dict[str, object] = {
    "op_type": "MatMul",
    "shapes": "8x16;8x4",
    "attributes": "trans_a=t",
    "phase": "backward",
}
UPDATE: dict[str, object] = {"op_type": "ApplyGradientDescent", "shapes": "16x4;1;16x4"}


def work_of(*rows: dict[str, object]) -> pd.DataFrame:
    return count_work(make_ops(*rows), Workload(name="toy", batch_size=8)).work


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("100x50", (100, 50)),
        ("7", (7,)),
        ("-1x5", (-1, 5)),
        ("", None),
        ("unknown", None),
        ("5x", None),
        ("5x5y", None),
    ],
)
def test_a_shape_is_read_and_any_other_text_is_none(text: str, shape: tuple[int, ...] | None) -> None:
    assert read(text) == shape


def test_a_form_is_the_same_in_every_layout() -> None:
    assert form((1, 50, 3, 1)) == form((50, 3)) == form((3, 1, 50)) == (3, 50)
    assert form((1,)) == ()


def test_updates_are_of_the_optimizer_by_phase_or_by_operator_but_for_temporaries() -> None:
    work = work_of(
        {"op_type": "Mul", "shapes": "16x4", "phase": "optimizer"},
        UPDATE,
        {"op_type": "Mul", "shapes": "16x4", "phase": "backward"},
        {"op_type": "Mul", "shapes": "16x4"},
        {"op_type": "AssignAdd", "op": "AddN/tmp_var", "shapes": "8x3;8x3", "phase": "optimizer"},
    )
    assert updates(work).tolist() == [True, True, False, False, False]


def test_forward_products_are_those_of_matrices_and_convolutions() -> None:
    work = work_of(FORWARD, BACKWARD, {"op_type": "Relu", "shapes": "8x4", "phase": "forward"}, {"op_type": "MatMul"})
    assert is_forward(work).tolist() == [True, False, False, False]
    assert takes_weights(work).tolist() == [True, False, False, False]


def test_products_in_a_batch_are_of_activations_alone() -> None:
    many: dict[str, object] = {
        "op_type": "BatchMatMulV2",
        "shapes": "32x8x16;32x16x4",
        "output_shapes": "32x8x4",
        "phase": "forward",
    }
    assert takes_weights(work_of(many, {**many, "shapes": "1x8x16;1x16x4"}, FORWARD)).tolist() == [False, True, True]


def test_weights_are_recognised_by_forward_products_variables_and_updates() -> None:
    assert weight_forms(work_of(FORWARD, BACKWARD)) == {(4, 16)}
    assert weight_forms(work_of(UPDATE)) == {(4, 16), ()}
    assert weight_forms(work_of({"op_type": "ReadVariableOp", "output_shapes": "3x2"})) == {(2, 3)}
    assert weight_forms(work_of(BACKWARD, {"op_type": "Relu", "shapes": "3x2"})) == frozenset()


def test_the_kernel_of_a_convolution_is_a_weight() -> None:
    sizes = dict(zip("nchwkrs", (2, 6, 9, 9, 10, 3, 7), strict=True))
    row: dict[str, object] = {"op_class": "convolution", **{f"conv_{letter}": size for letter, size in sizes.items()}}
    assert weight_forms(work_of({**row, "groups": 2})) == {(3, 3, 7, 10)}
    assert weight_forms(work_of(row)) == {(3, 6, 7, 10)}
    turned = work_of(row).assign(attributes="labels=f01b_i01o->01bf")  # a gradient: its channels are the batch
    assert weight_forms(turned) == frozenset()


def test_a_recurrent_layer_takes_and_makes_the_weights_of_its_gates() -> None:
    sizes = {"cell": "gru", "hidden": 5, "input_width": 4, "sequences": 2, "timesteps": 9}
    row: dict[str, object] = {"op_class": "recurrent", "precision": "fp32", **sizes}
    work = work_of({**row, "pass": "forward", "phase": "forward"}, {**row, "pass": "backward", "phase": "backward"})
    assert weight_forms(work) == {(4, 15), (5, 15), (9, 15)}
    assert weights_taken(work).tolist() == [15 * 9, 0]
    assert gradient_elements(work).tolist() == [0, 15 * 9]


def test_activations_are_what_forward_products_read_and_make() -> None:
    assert activation_forms(work_of(FORWARD, BACKWARD)) == {(8, 16), (4, 8)}


def test_a_row_holds_a_form_among_operands_or_results() -> None:
    work = work_of(
        {"op_type": "Mul", "shapes": "2;16x4"},
        {"op_type": "Fill", "output_shapes": "4x16x1"},
        {"op_type": "Mul", "shapes": "16x5;unknown", "output_shapes": "16x5"},
        {"op_type": "NoOp"},
    )
    assert holds_any(work, frozenset({(4, 16)})).tolist() == [True, True, False, False]
