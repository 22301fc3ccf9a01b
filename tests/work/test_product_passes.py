"""Gradients of products in loops have the sizes of their forward products."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from estimator.work.transformed import Transformed
from tests.conftest import make_ops

LOOP = "call/rnn/while"
BODY = f"{LOOP}/body/_7/rnn/while/cell"
GRADIENT = f"call/gradient_tape/{LOOP}_grad/body/_9/gradient_tape/{LOOP}/gradients/rnn/while/cell"
STACKED = {"shapes": "-1x-1;-1x-1", "output_shapes": "-1x-1"}
OF_INPUT, OF_WEIGHTS = "trans_a=n;trans_b=t", "trans_a=t;trans_b=n"
FACTORS = "8x4;4x2"
DIMENSIONS = ["m", "n", "k"]


def counted(*rows: tuple[str, str, str], op_type: str = "MatMul") -> Transformed:
    """WORK of products: name, shapes (stacked where empty) and attributes."""
    described = [{**(STACKED if not shapes else {"shapes": shapes}), "attributes": text} for _, shapes, text in rows]
    ops = make_ops(*({"op_type": op_type, **row} for row in described)).assign(op=[name for name, *_ in rows])
    return count_work(ops, Workload(name="toy", batch_size=8))


def forward(name: str = "MatMul", shapes: str = FACTORS) -> tuple[str, str, str]:
    return (f"{BODY}/{name}", shapes, "trans_a=n;trans_b=n")


def gradient(attributes: str, name: str = "MatMul") -> tuple[str, str, str]:
    return (f"{GRADIENT}/{name}_grad/{'MatMul' if attributes == OF_INPUT else 'MatMul_1'}", "", attributes)


def sizes(work: pd.DataFrame, row: int) -> list[int]:
    return [int(size) for size in work[DIMENSIONS].iloc[row]]


@pytest.mark.parametrize("shapes", [FACTORS, "-1x4;4x2", "8x4;4x2;2"])
def test_both_gradients_have_the_sizes_of_their_forward_product(shapes: str) -> None:
    counts = counted(forward(shapes=shapes), gradient(OF_INPUT), gradient(OF_WEIGHTS))
    assert [sizes(counts.work, row) for row in range(3)] == [[8, 2, 4], [8, 4, 2], [4, 2, 8]]
    assert counts.work["flop"].nunique() == 1
    assert [note.subject for note in counts.notes if note.code == "product-of-layer"] == [gradient(OF_INPUT)[0]]


def test_the_one_product_with_another_name_in_a_scope_is_the_fused_one() -> None:
    rows = [forward(), gradient(OF_INPUT), forward("add_7", "8x6;6x2;2"), gradient(OF_INPUT, "MatMul_1")]
    assert sizes(counted(*rows).work, 3) == [8, 6, 2]


@pytest.mark.parametrize(
    "rows",
    [
        [gradient(OF_INPUT)],
        [forward("add"), forward("add_1", "8x6;6x2"), gradient(OF_INPUT)],
        [forward(), gradient("trans_a=t;trans_b=t")],
    ],
)
def test_nothing_is_guessed_where_no_forward_product_or_several_may_be_it(rows: list[tuple[str, str, str]]) -> None:
    counts = counted(*rows)
    assert counts.work["m"].isna().tolist() == [not shapes for _, shapes, _ in rows]
    assert "product-of-layer" not in {note.code for note in counts.notes}


@pytest.mark.parametrize("loop", ["while", "scan_7"])
def test_a_loop_may_be_in_no_scope_and_have_any_name(loop: str) -> None:
    outside = (f"{loop}/body/_1/{loop}/MatMul", FACTORS, "trans_a=n;trans_b=n")
    taped = f"gradient_tape/{loop}/{loop}_grad/body/_4/gradient_tape/{loop}/gradients/{loop}/MatMul_grad/MatMul"
    assert sizes(counted(outside, (taped, "", OF_INPUT)).work, 1) == [8, 4, 2]
