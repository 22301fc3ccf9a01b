"""Which tensors are kept, and what lives in the backward pass: bytes counted by hand."""

from dataclasses import replace

import numpy as np
import pytest

from estimator.work.saved_tensors import ForwardOp, backward_moments, forward_moments, saved_tensors

S = 96  # elements of one tensor
FP32, BF16 = (4.0, 4.0), (2.0, 2.0)
PRODUCT = ForwardOp("operands", (S,), FP32, S, "gemm", weights=64.0, is_bare=True)
PACKED = replace(PRODUCT, result=3 * S)
ATTENTION = ForwardOp("operands result", (S, S, S), FP32, S, "attention")
MUL = ForwardOp("operands", (S, S), FP32, S, "mul")
HALVE = ForwardOp("operands", (S,), FP32, S, "mul", factor=1)
ADD = ForwardOp("", (S, S), FP32, S, "add")
NORM = ForwardOp("operand", (S,), FP32, S, "layer_norm")
TANH = ForwardOp("result", (S,), FP32, S, "tanh")
RELU = ForwardOp("result", (S,), FP32, S, "relu")
SILU = ForwardOp("operand clone", (S,), FP32, S, "activation", in_place=True)
POW = ForwardOp("operands", (S,), FP32, S, "pow")
MEAN = ForwardOp("", (S,), FP32, 0, "mean", reduces=True)
CAST = ForwardOp("", (S, S), (4.0, 2.0), S, "copy")


def kept(*ops: ForwardOp) -> float:
    """Tensors of S elements in fp32 that are kept."""
    return sum(each.size for each in saved_tensors(ops)) / (4 * S)


@pytest.mark.parametrize(
    ("ops", "tensors"),
    [
        ((PRODUCT, RELU, PRODUCT), 2),  # the data; relu's result is the next operand
        ((PACKED, ATTENTION), 1 + 3 + 1),  # queries, keys and values are parts of one product
        ((PRODUCT, PRODUCT, PRODUCT, ATTENTION), 1 + 3 + 1),  # of three products of one tensor
        ((PRODUCT, HALVE, PRODUCT), 2),  # the gradient of a number's product needs the number alone
        ((PRODUCT, HALVE, POW, TANH, MUL, PRODUCT), 1 + 3 + 1),  # GELU by hand: what pow, tanh and mul read or write
        ((PRODUCT, replace(RELU, in_place=True), PRODUCT), 2),
        ((PRODUCT, NORM, SILU, PRODUCT), 1 + 1 + 1 + 1),  # the norm's operand, a clone of its result, silu's
        ((PRODUCT, NORM, replace(SILU, keeps="operand"), PRODUCT), 1 + 1 + 1),  # whose gradient reads the result
        ((PRODUCT, POW, MEAN, replace(MUL, operands=(S,)), PRODUCT), 1 + 1 + 1),  # a square that a mean reads
        ((PRODUCT, replace(MUL, operands=(S,), factor=7)), 1),  # a factor that no tracked op wrote has no gradient
        ((PRODUCT, CAST, replace(PRODUCT, itemsizes=BF16)), 1.5),  # a cast in the dump
        ((PRODUCT, replace(PRODUCT, itemsizes=BF16), replace(PRODUCT, itemsizes=BF16, is_bare=False)), 1 + 0.5 + 1 / 2),
        ((replace(PRODUCT, count=12.0),), 12),
    ],
)
def test_what_is_kept(ops: tuple[ForwardOp, ...], tensors: float) -> None:
    assert kept(*ops) == tensors


def test_masks_indices_and_reserves() -> None:
    def own(op: ForwardOp) -> float:
        return kept(PRODUCT, op) * 4 * S - 4 * S

    assert own(ForwardOp("mask", (S,), FP32, S, "dropout", flags=S)) == S
    assert own(ForwardOp("operand indices", (S,), FP32, S // 4, "max_pool")) == 4 * S + 8 * S // 4
    assert own(ForwardOp("operand result reserve", (S,), FP32, S, "recurrent", flags=5 * S)) == (1 + 1 + 5) * 4 * S


def test_a_cast_of_weights_is_no_operand() -> None:
    cast = replace(CAST, operands=(64, 64), result=64)
    ops = (PRODUCT, cast, PRODUCT)
    assert kept(*ops) == 2
    assert backward_moments(ops, saved_tensors(ops))[2][1] == 64 * 2  # its gradient; that of the weights counts else


def test_the_backward_pass_frees_tensors_and_makes_gradients() -> None:
    ops = (PRODUCT, RELU, PRODUCT)
    activations, gradients, own = backward_moments(ops, saved_tensors(ops))
    assert activations.tolist() == [2 * 4 * S, 2 * 4 * S, 4 * S]
    assert gradients.tolist() == [4 * 64, 4 * 64, 2 * 4 * 64]
    assert own.tolist() == [2 * 4 * S] * 3
    assert forward_moments((ADD,))[0].tolist() == [3 * 4 * S]


def test_a_block_that_runs_again_holds_its_own_tensors_meanwhile() -> None:
    """Outside: the data, and norm's operand, which another block wrote. Inside: the first block's mask and relu's
    result; the second one's norm and silu's clone.
    """
    dropout = ForwardOp("mask", (S,), FP32, S, "dropout", flags=4 * S)
    first = [replace(op, block=1) for op in (PRODUCT, dropout, RELU, PRODUCT)]
    second = [replace(op, block=2) for op in (NORM, PRODUCT, SILU)]
    activations = backward_moments(ops := [*first, *second, PRODUCT], saved_tensors(ops))[0] / (4 * S)
    outside, inside = np.array([1, 1, 1, 1, 2, 2, 2, 3]), np.array([0, 1, 2, 2, 0, 1, 2, 0])
    assert activations[::-1].tolist() == (outside + inside).tolist()


def test_what_a_block_reads_first_is_kept_though_its_op_keeps_nothing() -> None:
    ops = [PRODUCT, replace(ADD, block=1), replace(RELU, block=1), PRODUCT]
    activations = backward_moments(ops, saved_tensors(ops))[0] / (4 * S)
    assert activations.tolist() == [3, 3, 2, 1]


def test_a_cast_of_weights_holds_nothing_that_is_no_parameter() -> None:
    cast = replace(CAST, operands=(64,), result=64)
    assert forward_moments((PRODUCT, cast, PRODUCT))[0].tolist() == [2 * 4 * S, 0.0, 2 * 4 * S]
