import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.work.products import Pair, Product, multiply, resolve_products, stated_product
from estimator.work.shapes import Op, Shape, read_attributes, read_shapes

Resolved = dict[Pair, Product | None]


def resolved(pairs: Iterable[Pair], stated: Iterable[Product] = ()) -> Resolved:
    """The readings of products whose results are not known, by their factors."""
    return {pair: product for (pair, _), product in resolve_products(((p, None) for p in pairs), stated).items()}


DIM = st.integers(min_value=2, max_value=4000)


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
    dims = {pair: product.dims if product else None for pair, product in resolved(expected).items()}
    assert dims == expected


def test_a_width_equal_to_the_batch_is_settled_by_the_weights_of_the_run() -> None:
    pairs = [((100, 100), (100, 50)), ((100, 50), (50, 1)), ((100, 50), (100, 50)), ((100, 1), (50, 1))]
    input_gradient = resolved(pairs)[(100, 50), (100, 50)]
    assert input_gradient is not None
    assert input_gradient.dims == (1, 100, 100, 50)


def test_square_operands_keep_their_transposes_unknown() -> None:
    product = resolved([((64, 64), (64, 64))])[(64, 64), (64, 64)]
    assert product is not None
    assert (product.dims, product.trans_a, product.phase) == ((1, 64, 64, 64), None, "unknown")


def test_ambiguous_products_are_not_guessed() -> None:
    assert resolved([((100, 50), (100, 50))]) == {((100, 50), (100, 50)): None}


@pytest.mark.parametrize(
    ("pair", "result", "dims", "trans"),
    [
        (((100, 50), (100, 50)), (50, 50), (1, 50, 50, 100), ("t", "n")),
        (((100, 50), (100, 50)), (100, 100), (1, 100, 100, 50), ("n", "t")),
        (((4, 6, 16, 8), (4, 6, 16, 8)), (4, 6, 16, 16), (24, 16, 16, 8), ("n", "t")),  # scores of attention
        (((4, 6, 16, 8), (4, 6, 16, 8)), (4, 6, 8, 8), (24, 8, 8, 16), ("t", "n")),
        (((4, 1, 16, 8), (6, 16, 8)), (4, 6, 16, 16), (1, 64, 96, 8), ("n", "t")),  # broadcast
        (((8, 4), (4, 8)), (4, 4), (1, 4, 4, 8), ("t", "t")),
    ],
)
def test_the_result_tells_the_transposes(pair: Pair, result: Shape, dims: Shape, trans: tuple[str, str]) -> None:
    product = resolve_products([(pair, result)])[pair, result]
    assert product is not None
    assert (product.dims, (product.trans_a, product.trans_b)) == (dims, trans)


def test_equal_operands_with_different_results_are_different_products() -> None:
    pair = ((100, 50), (100, 50))
    products = resolve_products([(pair, (50, 50)), (pair, (100, 100)), (pair, None)])
    assert [product and product.m for product in products.values()].count(None) == 1
    assert {product.m for product in products.values() if product} == {50, 100}


def test_a_result_of_no_reading_tells_nothing() -> None:
    """A kernel may do more after the product, such as a sum."""
    pair = ((100, 50), (50, 7))
    product = resolve_products([(pair, (7,))])[pair, (7,)]
    assert product is not None
    assert product.dims == (1, 100, 7, 50)


def test_leading_dimensions_are_the_batch() -> None:
    product = resolved([((8, 12, 64, 32), (8, 12, 32, 16))])[(8, 12, 64, 32), (8, 12, 32, 16)]
    assert product is not None
    assert product.dims == (96, 64, 16, 32)


@pytest.mark.parametrize("pair", [((3, 4), (5, 6)), ((3,), (3, 4)), ((2, 3, 4), (3, 4, 5))])
def test_shapes_that_do_not_multiply(pair: Pair) -> None:
    assert resolved([pair]) == {pair: None}


@pytest.mark.parametrize("trans", ["n", "t"])
def test_a_vector_is_a_row_or_a_column_however_it_is_stored(trans: str) -> None:
    row, column = multiply(((8,), (8, 5)), trans, "n"), multiply(((5, 8), (8,)), "n", trans)
    assert [product and product.dims for product in (row, column)] == [(1, 1, 5, 8), (1, 5, 1, 8)]


def test_one_operand_is_no_product() -> None:
    assert stated_product(make_op("aten::mm", "3x4")) is None


def make_op(op_type: str, shapes: str, attributes: str = "") -> Op:
    return Op(op_type, "", read_shapes(shapes, None), (), read_attributes(attributes), "gemm")


def stated(op_type: str, shapes: str, attributes: str = "") -> tuple[object, ...]:
    product = stated_product(make_op(op_type, shapes, attributes))
    assert isinstance(product, Product)
    return (*product.dims, product.trans_a, product.trans_b)


@pytest.mark.parametrize(
    ("shapes", "flags", "expected"),
    [
        ("100x50;50x7", "trans_a=n;trans_b=n", (1, 100, 7, 50, "n", "n")),
        ("64x64;64x64", "trans_a=t;trans_b=n", (1, 64, 64, 64, "t", "n")),
        ("100x50;100x7", "trans_a=t", (1, 50, 7, 100, "t", "n")),
        ("100x7;50x7", "trans_b=t", (1, 100, 50, 7, "n", "t")),
        ("50x100;7x50", "trans_a=t;trans_b=t", (1, 100, 7, 50, "t", "t")),
        ("8x12x64x32;8x12x48x32", "trans_b=t", (96, 64, 48, 32, "n", "t")),
        ("8x12x64x32;32x16", "trans_a=n", (1, 8 * 12 * 64, 16, 32, "n", "n")),  # one B for all: rows of one product
        ("8x12x64x32;8x1x32x16", "trans_a=n", (8, 12 * 64, 16, 32, "n", "n")),
        ("5x1x64x32;1x3x32x16", "trans_a=n", (1, 5 * 64, 3 * 16, 32, "n", "n")),
    ],
)
def test_stated_transposes(shapes: str, flags: str, expected: tuple[object, ...]) -> None:
    assert stated("MatMul", shapes, flags) == expected


@pytest.mark.parametrize(
    ("op_type", "shapes", "expected"),
    [
        ("aten::mm", "64x64;64x64", (1, 64, 64, 64, "n", "n")),
        ("aten::addmm", "7;100x50;50x7;1;1", (1, 100, 7, 50, "n", "n")),
        ("aten::addmm", "100x50;50x7", (1, 100, 7, 50, "n", "n")),
        ("aten::bmm", "12x64x32;12x32x64", (12, 64, 64, 32, "n", "n")),
        ("aten::baddbmm", "12x64x64;12x64x32;12x32x64", (12, 64, 64, 32, "n", "n")),
        ("aten::linear", "8x16x512;64x512;64", (1, 128, 64, 512, "n", "t")),
        ("aten::mv", "30x20;20", (1, 30, 1, 20, "n", "n")),
        ("aten::dot", "20;20", (1, 1, 1, 20, "n", "n")),
    ],
)
def test_torch_lists_operands_as_they_multiply(op_type: str, shapes: str, expected: tuple[object, ...]) -> None:
    assert stated(op_type, shapes) == expected


@pytest.mark.parametrize(
    ("shapes", "attributes", "expected"),
    [
        ("100x50;50x7", "contract_a=1;contract_b=0", (1, 100, 7, 50, "n", "n")),
        ("100x50;7x50", "contract_a=1;contract_b=1", (1, 100, 7, 50, "n", "t")),
        ("50x100;50x7", "contract_a=0;contract_b=0", (1, 100, 7, 50, "t", "n")),
        ("8x64x12x32;8x48x12x32", "contract_a=3;contract_b=3;batch_a=0x2;batch_b=0x2", (96, 64, 48, 32, "n", "t")),
        ("100x5x6;5x6x7", "contract_a=1x2;contract_b=0x1", (1, 100, 7, 30, "n", "n")),
    ],
)
def test_dot_general_axes(shapes: str, attributes: str, expected: tuple[object, ...]) -> None:
    assert stated("dot", shapes, attributes) == expected


@pytest.mark.parametrize(
    ("shapes", "equation", "expected"),
    [
        ("8x16x512;512x64", "abc,cd->abd", (1, 128, 64, 512, "n", "n")),
        ("8x64x12x32;8x48x12x32", "BTNH,BSNH->BNTS", (96, 64, 48, 32, "n", "t")),
        ("8x12x64x48;8x48x12x32", "BNTS,BSNH->BTNH", (96, 64, 32, 48, "n", "n")),
        ("8x16x512;8x16x64", "abc,abd->cd", (1, 512, 64, 128, "t", "n")),
        ("3x8x16;3x16x5", "...ij,...jk->...ik", (3, 8, 5, 16, "n", "n")),
        ("3x8x16;16x5", "...ij,jk", (1, 24, 5, 16, "n", "n")),
        ("8;5", "i,j->ij", (1, 8, 5, 1, "n", "n")),
    ],
)
def test_einsum_equations(shapes: str, equation: str, expected: tuple[object, ...]) -> None:
    assert stated("Einsum", shapes, f"equation={equation}") == expected


@pytest.mark.parametrize(
    ("shapes", "attributes"),
    [
        ("100x50;60x7", "trans_a=n"),
        ("3x4x5;2x5x6", "trans_a=n"),
        ("100x50;60x7", "contract_a=1;contract_b=0"),
        ("100x50;50x7", "contract_a=2;contract_b=0"),
        ("100x50;50x7", "contract_a=1;contract_b=0x1"),
        ("100x50;50x7", "contract_a=one;contract_b=0"),
        ("3x4;5x6", "equation=ab,bc->ac"),
        ("3x4;4x6", "equation=abc,bc->ac"),
    ],
)
def test_contradictions_are_refused(shapes: str, attributes: str) -> None:
    with pytest.raises(EstimatorError):
        stated_product(make_op("dot", shapes, attributes))


def test_unknown_operands_give_no_product() -> None:
    assert stated_product(make_op("MatMul", "unknown;50x7", "trans_a=n")) is None
    assert stated_product(make_op("Einsum", "3x4;4x5;5x6", "equation=ab,bc,cd->ad")) is None


def test_a_phase_is_read_from_transposes_where_layers_multiply_alike() -> None:
    """Keras multiplies by a layer's weights as they are, PyTorch by their transpose: there they say nothing."""
    keras = stated_product(make_op("MatMul", "100x7;50x7", "trans_a=n;trans_b=t"))
    torch = stated_product(make_op("aten::addmm", "50;100x7;50x7", "trans_a=n;trans_b=t"))
    assert keras is not None
    assert torch is not None
    assert (keras.phase, torch.phase) == ("backward", None)


def test_weights_of_stated_products_settle_others() -> None:
    forward = stated_product(make_op("MatMul", "100x100;100x50", "trans_a=n;trans_b=n"))
    assert forward is not None
    gradient = resolved([((100, 50), (100, 50))], [forward])[(100, 50), (100, 50)]
    assert gradient is not None
    assert gradient.dims == (1, 100, 100, 50)
