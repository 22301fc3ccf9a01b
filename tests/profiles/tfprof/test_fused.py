"""Products that tfprof shows as never run, and the ops whose kernels computed them."""

import pytest

from estimator.profiles.tfprof.fused import Row, name_fused_kernels


def product(shapes: str = "-1x7;7x5", calls: int = 0, defined: int = 1, op_type: str = "MatMul") -> Row:
    return {"op": "product", "op_type": op_type, "shapes": shapes, "calls": calls, "defined": defined}


def after(shapes: str = "-1x5;5", calls: int = 1, op_type: str = "BiasAdd") -> Row:
    return {"op": "after", "op_type": op_type, "shapes": shapes, "calls": calls, "defined": 1}


def test_an_op_that_ran_on_the_result_of_a_product_that_did_not_has_its_operands() -> None:
    (row,), (warning,) = name_fused_kernels([product(), after()])
    assert row == {**after(), "kernel": "_FusedMatMul", "shapes": "-1x7;7x5"}
    assert warning.startswith("1 forward products never ran: the times of the ops after them, such as 'after'")


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (product("8x7;7x5"), after("8x5")), (product("8x7;7x5"), after("-1x5")), (product("-1x-1;-1x5"), after("8x5")),
        (product("3x8x7;3x7x5", op_type="BatchMatMulV2"), after("3x8x5", op_type="Add")),
        (product(defined=4), after(calls=4)),
    ],
)  # fmt: skip
def test_an_unknown_size_fits_any_and_all_copies_ran(first: Row, then: Row) -> None:
    (row,), _ = name_fused_kernels([first, then])
    assert (row["kernel"], row["shapes"]) == (f"_Fused{first['op_type']}", first["shapes"])


@pytest.mark.parametrize(
    "rows",
    [
        [product(calls=1), after()],
        [product(), after("-1x6")],
        [product(), after("-1x2x5")],
        [product("7x5"), after()],
        [product("-1x7;8x5"), after()],
        [product("2x-1x7;3x7x5"), after("2x-1x5")],
        [product(), after(op_type="Softmax")],
        [product(), after(calls=0)],
        [product(defined=2), after()],
        [product(), after(), after("8x5")],
        [product(), product("-1x9;9x5"), after()],
        [product("unknown;7x5"), after()],
        [product(op_type="Conv2D"), after()],
    ],
    ids=[
        "it ran", "of another width", "of another rank", "one operand", "operands that do not fit",
        "batches that differ", "no op that a kernel holds", "neither ran", "more products than kernels", "two ops fit",
        "two products fit", "an unknown operand", "no matrix product",
    ],
)  # fmt: skip
def test_nothing_is_fused_where_no_single_pair_fits(rows: list[Row]) -> None:
    assert name_fused_kernels(rows) == (rows, ())
