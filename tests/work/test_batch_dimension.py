"""Which dimension is the batch, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.work.batch_dimension import Batch, may_be_weight, place, resize_shapes, role

BATCH = Batch(8, 24, frozenset({(4, 16), (8, 50), (8, 8)}))  # in forms, as weight_forms gives them


def test_a_dimension_goes_with_the_batch_as_often_as_it_holds_it() -> None:
    assert [BATCH.resize(size) for size in (8, 16, 40, -1)] == [24, 48, 120, 24]


@given(st.integers(1, 1000), st.integers(1, 1000), st.integers(1, 50))
def test_there_and_back_again(before: int, after: int, times: int) -> None:
    assert Batch(after, before).resize(Batch(before, after).resize(times * before)) == times * before


@pytest.mark.parametrize(
    ("count", "m", "n", "k", "trans_a", "expected"),
    [
        (1, 8, 4, 16, "", ("m", False)),  # forward: x [8, 16] · w [16, 4]
        (1, 4, 8, 16, "", ("n", False)),
        (1, 16, 4, 8, "", ("k", False)),  # the weights' gradient
        (1, 7, 5, 3, "", ("", False)),  # no batch
        (16, 8, 8, 8, "", ("batch", False)),  # of the products themselves
        (5, 8, 4, 16, "", ("m", False)),
        (1, 40, 4, 16, "", ("m", False)),  # several batches, flattened
        (1, 8, 5, 8, "", ("m", True)),  # nothing tells which of two
        (1, 8, 5, 8, "t", ("k", False)),  # but that A is transposed, as for the weights' gradient
        (1, 8, 5, 8, "n", ("m", False)),
        (1, 8, 8, 3, "t", ("m", False)),  # A's transpose tells of k alone
        (1, 16, 8, 3, "", ("n", False)),  # the batch itself before a multiple of it
        (1, 8, 50, 8, "n", ("m", False)),
        (1, 8, 3, 8, "", ("m", True)),
        (1, 16, 8, 4, "", ("n", False)),  # beside the weight [16, 4], though 16 is a multiple too
    ],
)
def test_the_batch_of_a_product(count: int, m: int, n: int, k: int, trans_a: str, expected: tuple[str, bool]) -> None:
    assert role(count, m, n, k, trans_a, BATCH) == expected


@pytest.mark.parametrize(
    ("shape", "op_class", "expected"),
    [
        ((-1, 5), "", 0),
        ((5, -1), "", 1),
        ((-1, -1), "", None),
        ((8, 5), "", 0),
        ((40, 5), "", 0),  # flattened
        ((20, 8, 5), "", 1),  # behind steps of time
        ((20, 5), "", None),
        ((40,), "", None),  # of one dimension, the batch alone
        ((8,), "", 0),
        ((16, 4), "", None),  # a weight
        ((8, 50), "", 0),  # as a weight, but of no product
        ((8, 50), "gemm", None),
        ((8, 5), "gemm", 0),
        ((50, 8), "", None),
        ((16, 4, 8), "", 0),
    ],
)
def test_the_place_of_the_batch(shape: tuple[int, ...], op_class: str, expected: int | None) -> None:
    assert place(shape, BATCH, op_class) == expected


def test_a_shape_with_a_batch_may_be_that_of_a_weight() -> None:
    shapes = [(8, 50), (8, 5), (50, 8), (8, 1, 50)]
    assert [may_be_weight(shape, BATCH) for shape in shapes] == [True, False, False, True]
    assert not may_be_weight((8,), Batch(8, 16, frozenset({(8,)})))


def test_the_shapes_of_an_op_at_the_batch_asked_for() -> None:
    assert resize_shapes("8x5;16x4;-1x3;20x8x5;unknown;;7", "", BATCH) == "24x5;16x4;24x3;20x24x5;unknown;;7"
    assert resize_shapes("8x50", "gemm", BATCH) == "8x50"


def test_a_place_that_is_stated_goes_before_what_sizes_show() -> None:
    assert resize_shapes("16x3x8;8x5;8x5", "convolution", BATCH, (2, None)) == "16x3x24;8x5;24x5"
    assert resize_shapes("16x3x9;8", "convolution", BATCH, (2, 4)) == "16x3x9;8"
