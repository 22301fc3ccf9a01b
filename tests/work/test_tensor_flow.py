"""Tensors that live while ops run, from a flow that is drawn by hand."""

from collections.abc import Sequence

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.profiles import read_profile
from estimator.work import count_work
from estimator.work.casts import remove_casts
from estimator.work.edges import has_flow
from estimator.work.tensor_flow import flowing_tensors

WORKLOAD = Workload(name="own", batch_size=10)
KB = 10 * 25 * 4.0  # of one tensor of activations, and of the data
ROWS = [  # a layer with its activation, and its gradients
    ("read", "ReadVariableOp", "w", "25x25", "25x25", "forward"),
    ("product", "MatMul", "data;read", "10x25;25x25", "10x25", "forward"),
    ("relu", "Relu", "product", "10x25", "10x25", "forward"),
    ("loss", "Mul", "relu;relu", "10x25;10x25", "10x25", "forward"),
    ("relu grad", "ReluGrad", "loss;relu", "10x25;10x25", "10x25", "backward"),
    ("weight grad", "MatMul", "data;relu grad", "10x25;10x25", "25x25", "backward"),
    ("step", "Mul", "weight grad;rate", "25x25;1", "25x25", "optimizer"),
    ("update", "AssignSubVariableOp", "w;step", "25x25;25x25", "", "optimizer"),
]


def work_of(rows: Sequence[tuple[str, ...]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["op", "op_type", "inputs", "shapes", "output_shapes", "phase"])
    return count_work(table.assign(time_s=1e-3, calls=1.0, precision="fp32"), WORKLOAD).work


def test_a_layer_and_its_gradients() -> None:
    tensors = flowing_tensors(work_of(ROWS), WORKLOAD)
    assert tensors.evidence == "flow"
    #                     read product relu   loss     grad  weights  step  update
    activations = [KB, KB, 2 * KB, 3 * KB, 2 * KB, KB, KB, KB]  # the data; relu's; the loss's, which is overwritten
    assert tensors.activations.tolist() == activations
    assert tensors.gradients.tolist() == [0, 0, 0, 0, 0, 2500, 0, 0]  # its update writes into it
    assert tensors.workspace.tolist() == [0, KB, 0, 0, KB, KB, 2500, 2500]


def test_variables_take_no_place_among_tensors_and_renaming_makes_none() -> None:
    renamed = [*ROWS[:3], ("shape", "Reshape", "relu", "10x25", "10x25", "forward"), *ROWS[3:]]
    plain, with_shape = (flowing_tensors(work_of(rows), WORKLOAD) for rows in (ROWS, renamed))
    assert with_shape.activations.max() == plain.activations.max()
    assert plain.activations[0] == KB  # reading the variable adds nothing


def test_blocks_keep_what_is_there_before_their_result() -> None:
    work = work_of(ROWS)
    assert flowing_tensors(work, WORKLOAD).kept == 0
    blocks = pd.Series([0, 0, 0, *[pd.NA] * 5], dtype="Int64")
    assert flowing_tensors(work.assign(block=blocks), WORKLOAD).kept == KB  # the data; the result is the next stage's


def test_inference_keeps_nothing_for_later() -> None:
    forward = work_of(ROWS[:4])
    tensors = flowing_tensors(forward.assign(block=pd.Series([0] * 4, dtype="Int64")), WORKLOAD)
    assert tensors.kept == 0
    assert tensors.activations.max() == 2 * KB
    assert tensors.workspace.max() == 0


def test_a_profile_without_inputs_has_no_flow() -> None:
    assert has_flow(work_of(ROWS))
    assert not has_flow(work_of(ROWS).assign(inputs=pd.NA))
    assert not has_flow(work_of(ROWS).iloc[:0])


def test_a_shipped_capture_keeps_what_its_layers_write() -> None:
    """Ten layers of P1B1 keep their results; the batch of data is counted once."""
    profile = read_profile("p1b1")
    tensors = flowing_tensors(count_work(profile.ops, profile.workload).work, profile.workload)
    widths = [60483, 2000, 600, 2, 600, 2000, 60483]
    assert tensors.activations.max() == pytest.approx(4 * 100 * sum(widths), rel=0.05)


def test_a_second_result_lives_until_its_own_last_use() -> None:
    """A dropout's mask, of 10 × 6 elements, is kept for its gradient, and its result is not; else both go by the op."""
    mask = 10 * 6 * 4.0
    rows = [
        *ROWS[:2], ("dropout", "aten::native_dropout", "product", "10x25", "10x25;10x6", "forward"),
        ("loss", "Mul", "dropout;dropout", "10x25;10x25", "10x25", "forward"),
        ("grad", "aten::native_dropout_backward", "loss;dropout:1", "10x25;10x6", "10x25", "backward"),
        ("weight grad", "MatMul", "data;grad", "10x25;10x25", "25x25", "backward"),
    ]  # fmt: skip
    kept, unread = (
        flowing_tensors(work_of([*rows[:4], (*rows[4][:2], inputs, *rows[4][3:]), rows[5]]), WORKLOAD)
        for inputs in ("loss;dropout:1", "loss")
    )
    assert len(kept.activations) == len(rows)
    # the data; the mask from the dropout to its gradient; the loss's result, which is overwritten
    assert kept.activations.tolist() == [KB, KB, KB + mask, 2 * KB + mask, KB + mask, KB]
    assert unread.activations.tolist() == [KB, KB, KB, 2 * KB, KB, KB]


def test_a_removed_cast_hands_on_the_gradients_that_it_took() -> None:
    cast = ("cast", "Cast", "weight grad", "25x25", "25x25", "backward")
    update = ("update", "AssignSubVariableOp", "w;cast", "25x25;25x25", "", "optimizer")
    work = work_of([*ROWS[:6], cast, update])
    formats = {"from_precision": "bf16", "to_precision": "fp32"}
    is_cast = work["op"] == "cast"
    work = work.assign(**{name: pd.Series([written] * 8).where(is_cast) for name, written in formats.items()})
    assert flowing_tensors(work, WORKLOAD).gradients.max() == 2500
    assert flowing_tensors(remove_casts(work)[0], WORKLOAD).gradients.max() == 2500


def test_a_gradient_is_kept_in_the_format_of_its_update() -> None:
    work = work_of([*ROWS[:6], ("update", "AssignSubVariableOp", "w;weight grad", "25x25;25x25", "", "optimizer")])
    narrow = work.assign(precision=work["precision"].where(work["phase"] == "optimizer", "bf16"))
    assert flowing_tensors(narrow, WORKLOAD).gradients.max() == 4 * 25 * 25
    assert flowing_tensors(narrow, WORKLOAD).activations.max() == 3 * KB / 2
