import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.work.shapes import operands, resolve_products

DIM = st.integers(min_value=2, max_value=4000)


@pytest.mark.parametrize(
    ("text", "batch", "expected"),
    [
        ("-1x50;50x1", 100, ((100, 50), (50, 1))),
        ("-1x50", None, ()),
        ("-1x-1", 100, ()),
        ("unknown;3", 100, ()),
        ("", 100, ()),
        ("7", None, ((7,),)),
    ],
)
def test_operands(text: str, batch: int | None, expected: tuple[tuple[int, ...], ...]) -> None:
    assert operands(text, batch) == expected


@given(batch=DIM, layers=st.lists(DIM, min_size=2, max_size=6, unique=True))
def test_the_three_products_of_every_layer_of_any_network(batch: int, layers: list[int]) -> None:
    """Where all widths and the batch differ, each of a layer's products has one reading: the true one."""
    if batch in layers:
        return
    expected = {}
    for a, b in itertools.pairwise(layers):
        expected[(batch, a), (a, b)] = (1, batch, b, a)
        expected[(batch, a), (batch, b)] = (1, a, b, batch)
        expected[(batch, b), (a, b)] = (1, batch, a, b)
    found = resolve_products(expected)
    assert {pair: product.dims if product else None for pair, product in found.items()} == expected


def test_a_width_equal_to_the_batch_is_settled_by_the_weights_of_the_run() -> None:
    pairs = [((100, 100), (100, 50)), ((100, 50), (50, 1)), ((100, 50), (100, 50)), ((100, 1), (50, 1))]
    found = resolve_products(pairs)
    input_gradient = found[(100, 50), (100, 50)]
    assert input_gradient is not None
    assert input_gradient.dims == (1, 100, 100, 50)


def test_square_operands_keep_their_transposes_unknown() -> None:
    product = resolve_products([((64, 64), (64, 64))])[(64, 64), (64, 64)]
    assert product is not None
    assert (product.dims, product.trans_a, product.phase) == ((1, 64, 64, 64), None, "unknown")


def test_what_stays_ambiguous_is_not_guessed() -> None:
    assert resolve_products([((100, 50), (100, 50))]) == {((100, 50), (100, 50)): None}


def test_leading_dimensions_are_the_batch() -> None:
    product = resolve_products([((8, 12, 64, 32), (8, 12, 32, 16))])[(8, 12, 64, 32), (8, 12, 32, 16)]
    assert product is not None
    assert product.dims == (96, 64, 16, 32)


@pytest.mark.parametrize("pair", [((3, 4), (5, 6)), ((3,), (3, 4)), ((3, 4),), ((2, 3, 4), (3, 4, 5))])
def test_shapes_that_do_not_multiply(pair: tuple[tuple[int, ...], ...]) -> None:
    assert resolve_products([pair]) == {pair: None}
