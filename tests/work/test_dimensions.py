"""What descriptions of ops tell of dimensions, in the columns of WORK, by hand."""

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.notes import Note
from estimator.core.types import Workload
from estimator.work import count_work
from estimator.work.dimensions import uncounted_products
from tests.conftest import make_ops

Row = dict[str, object]
TOY = Workload(name="toy", batch_size=8, precision="fp32")
PRODUCT = ["batch", "m", "n", "k", "trans_a", "trans_b", "phase"]


def counted(*rows: Row, workload: Workload = TOY) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    transformed = count_work(make_ops(*rows), workload)
    return transformed.work, transformed.notes


def product(row: Row) -> list[object]:
    return list(counted({"op_type": "MatMul", **row})[0][PRODUCT].iloc[0])


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"shapes": "-1x16;16x4"}, [1, 8, 4, 16, "n", "n", "forward"]),
        ({"shapes": "8x16;8x4"}, [1, 16, 4, 8, "t", "n", "backward"]),
        ({"shapes": "8x4;16x4"}, [1, 8, 16, 4, "n", "t", "backward"]),
        ({"shapes": "8x16;8x4", "attributes": "trans_a=t"}, [1, 16, 4, 8, "t", "n", "backward"]),
        ({"op_type": "BatchMatMulV2", "shapes": "3x8x16;3x16x4"}, [3, 8, 4, 16, "n", "n"]),
    ],
)
def test_a_product_is_read_from_its_operands(row: Row, expected: list[object]) -> None:
    assert product(row)[: len(expected)] == expected


def test_what_a_row_states_outranks_what_its_shapes_tell() -> None:
    stated: Row = {
        "shapes": "8x16;16x4",
        "attributes": "trans_a=n",
        "batch": 5,
        "n": 7,
        "trans_b": "t",
        "phase": "other",
    }
    assert product(stated) == [5, 8, 7, 16, "n", "t", "other"]


def test_a_product_of_stated_sizes_is_one_unless_it_says_how_many() -> None:
    assert product({"m": 8, "n": 4, "k": 16})[0] == 1
    assert product({"m": 8, "n": 4, "k": 16, "batch": 3})[0] == 3


def test_sizes_of_products_are_of_products_alone() -> None:
    work, _ = counted({"op_type": "MatMul", "shapes": "8x16;16x4"}, {"op_type": "AddV2", "shapes": "8x16;16x4"})
    assert work[["m", "n", "k", "batch"]].isna().all(axis=1).tolist() == [False, True]
    assert work["trans_a"].isna().tolist() == [False, True]


@pytest.mark.parametrize(("result", "sizes"), [("8x16x16", [8, 16, 16, 4]), ("8x4x4", [8, 4, 4, 16])])
def test_a_result_settles_which_reading_is_meant(result: str, sizes: list[int]) -> None:
    row: Row = {"op_type": "BatchMatMulV2", "shapes": "8x16x4;8x16x4", "output_shapes": result}
    assert product(row)[:4] == sizes


def test_a_forward_product_of_the_run_settles_which_reading_is_meant() -> None:
    """[100, 50] and [100, 50] are a gradient of weights or of an input: only the latter takes weights [100, 50]."""
    unsure: Row = {"op_type": "MatMul", "shapes": "100x50;100x50"}
    forward: Row = {"op_type": "MatMul", "shapes": "7x100;100x50", "attributes": "trans_a=n"}
    single = TOY.model_copy(update={"batch_size": 1})
    work, notes = counted(unsure, forward, workload=single)
    assert work[["m", "n", "k"]].iloc[0].tolist() == [100, 100, 50]
    assert notes == ()
    work, (note,) = counted(unsure, {**unsure, "shapes": "9x9;9x9"}, workload=single)
    assert work["m"].isna().tolist() == [True, False]
    assert note == Note(
        "ambiguous-product",
        "1 matrix products have shapes that give no unique m, n, k (100x50;100x50)",
        subject="100x50;100x50",
    )


@pytest.mark.parametrize(
    ("shapes", "batch", "hinted"),
    [("-1x50;-1x50", None, True), ("100x50;100x50", None, False), ("-1x50;-1x50", 100, False)],
)
def test_the_batch_size_is_asked_for_where_it_would_help(shapes: str, batch: int | None, hinted: bool) -> None:
    workload = Workload(name="toy", precision="fp32", batch_size=batch)
    _, (note, *_) = counted({"op_type": "MatMul", "shapes": shapes}, workload=workload)
    hint = "; give the batch size: --batch, or batch_size in workload.yaml"
    assert note.code == "ambiguous-product"
    assert note.text.endswith(f"give no unique m, n, k ({shapes}){hint if hinted else ''}")


def test_two_matrices_that_do_not_multiply_are_refused() -> None:
    with pytest.raises(EstimatorError) as error:
        counted({"op_type": "MatMul", "op": "odd", "shapes": "100x50;60x7"})
    expected = (
        "profile: 'odd' has the shapes '100x50;60x7', which do not multiply; expected a dimension that both share"
    )
    assert str(error.value) == expected


def test_operands_of_an_op_whose_kernel_alone_is_a_product_refuse_nothing() -> None:
    work, _ = counted({"op_type": "MyFunction", "kernel": "ampere_sgemm_64x64", "shapes": "100x50;60x7"})
    assert work["flop"].isna().all()


@pytest.mark.parametrize("shapes", ["100x50;60x7;3x3", "2x100x50;60x7", "100x50"])
def test_what_may_be_no_product_of_two_matrices_is_only_unread(shapes: str) -> None:
    _, notes = counted({"op_type": "MatMul", "shapes": shapes})
    assert notes[0].code == "ambiguous-product"


def test_forward_products_that_never_ran_are_noted() -> None:
    forward: Row = {"op_type": "MatMul", "shapes": "8x16;16x4", "calls": 0}
    _, (note,) = counted(forward, forward, {**forward, "calls": 1}, {**forward, "shapes": "8x16;8x4"})
    assert note == Note(
        "product-booked-elsewhere",
        "2 forward matrix products have no time of their own: a fused kernel ran them, and the profiler booked it on "
        "another op, such as Relu",
    )


CONVOLUTION: Row = {"op_type": "Conv2D", "shapes": "8x12x10x6;3x5x6x10", "attributes": "strides=1x2;padding=VALID"}
SIZES = ["conv_n", "conv_c", "conv_h", "conv_w", "conv_k", "conv_r", "conv_s", "conv_p", "conv_q"]


def test_a_convolution_is_read_from_its_operands() -> None:
    work, _ = counted({**CONVOLUTION, "output_shapes": "8x10x3x10"}, {"op_type": "AddV2", "shapes": "8x4"})
    assert work[SIZES].iloc[0].tolist() == [8, 6, 12, 10, 10, 3, 5, 10, 3]
    assert work["pass"].iloc[0] == "forward"
    assert work["flop"].iloc[0] == 2 * 8 * 10 * 10 * 3 * 6 * 3 * 5
    assert work[[*SIZES, "pass"]].iloc[1].isna().all()


def test_what_a_row_states_of_a_convolution_outranks_its_shapes() -> None:
    work, _ = counted({**CONVOLUTION, "output_shapes": "8x10x3x10", "pad_h": 3, "pass": "grad_input"})
    assert work[["pad_h", "pass", "conv_n"]].iloc[0].tolist() == [3, "grad_input", 8]


def test_xlas_convolutions_have_its_own_count() -> None:
    """Without the products that meet padding: 3 x 3 windows over 4 x 4 images meet 10 points along each axis of 12."""
    row: Row = {"op_type": "convolution", "shapes": "8x4x4x6;3x3x6x10", "output_shapes": "8x4x4x10",
                "attributes": "labels=b01f_01io->b01f;pads=1_1x1_1"}  # fmt: skip
    work, _ = counted(row)
    assert work["flop"].iloc[0] == 2 * 8 * 10 * 6 * 10 * 10


def uncounted(*rows: Row) -> list[Note]:
    return list(uncounted_products(counted(*rows)[0]))


def test_convolutions_that_nothing_counts_are_noted() -> None:
    bare: Row = {"op_type": "Conv2D"}
    assert uncounted({**bare, "op": "a"}, {**bare, "op": "b"}, {**bare, "time_s": 0.0}, {**bare, "flop": 1.0}) == [
        Note(
            "convolution-unknown",
            "2 convolutions state no dimensions (a): give conv_n, conv_c, … or flop and bytes, or graph.csv in the "
            "folder of the dump, as 'estimator capture' writes it",
            subject="a",
        )
    ]


def test_products_that_nothing_counts_are_noted() -> None:
    bare: Row = {"op_type": "MatMul"}
    known: list[Row] = [{**bare, "flop": 1.0}, {**bare, "time_s": 0.0}, {**bare, "shapes": "100x50;100x50"}]
    hint = "give m, n, k or shapes, or graph.csv in the folder of the dump, as 'estimator capture' writes it"
    assert uncounted(*known, {**bare, "op": "a"}, {**bare, "op": "b"}) == [
        Note("product-unknown", f"2 matrix products state no shapes (a): {hint}", subject="a")
    ]
    assert uncounted(*known, {**bare, "m": 2, "n": 3, "k": 4}) == []
