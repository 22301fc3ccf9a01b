import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core import physics

DIM = st.integers(min_value=1, max_value=10**5)


@given(DIM, DIM, DIM, st.integers(1, 64))
def test_gemm_flop_and_bytes(m: int, n: int, k: int, batch: int) -> None:
    assert physics.gemm_flop(batch, m, n, k) == 2 * batch * m * n * k
    assert physics.gemm_bytes(batch, m, n, k, 4) == 4 * batch * (m * k + k * n + m * n)


def test_convolution_flop_equal_those_of_explicit_loops() -> None:
    n, c, h, w, k, r, s, stride, pad, groups = 2, 4, 7, 6, 6, 3, 2, 2, 1, 2
    p, q = physics.conv_output(h, r, stride, pad), physics.conv_output(w, s, stride, pad)
    rows = list(range(-pad, h + pad - r + 1, stride))
    columns = list(range(-pad, w + pad - s + 1, stride))
    assert [float(p), float(q)] == [len(rows), len(columns)]
    multiply_adds = n * k * len(rows) * len(columns) * (c // groups) * r * s
    assert physics.conv_flop(n, c, k, p, q, r, s, groups) == 2 * multiply_adds
    assert physics.conv_bytes(n, c, h, w, k, p, q, r, s, 4, groups) == 4 * (
        n * c * h * w + k * c // groups * r * s + n * k * p * q
    )


def test_alexnet_first_layer() -> None:
    """AlexNet conv1 on 227×227, 96 filters of 11×11 at stride 4: 105.4 M multiply-adds (Krizhevsky et al., 2012)."""
    out = physics.conv_output(227, 11, 4)
    assert out == 55
    assert physics.conv_flop(1, 3, 96, out, out, 11, 11) / 2 == 105_415_200


@given(st.floats(1e6, 1e15), st.floats(1e3, 1e13), st.floats(1e9, 1e15), st.floats(1e9, 1e13))
def test_roofline_identities(flop: float, bytes_: float, peak: float, bandwidth: float) -> None:
    time = physics.ideal_time(flop, bytes_, peak, bandwidth)
    assert flop / time == pytest.approx(physics.attainable(flop / bytes_, peak, bandwidth))
    ridge = peak / bandwidth
    assert physics.attainable(ridge, peak, bandwidth) == pytest.approx(peak)
    assert physics.ideal_time(flop, bytes_, 2 * peak, 2 * bandwidth) == pytest.approx(time / 2)


def test_arrays_broadcast() -> None:
    times = physics.ideal_time(np.ones(3), np.ones(3), np.ones((5, 1)), np.ones((5, 1)))
    assert times.shape == (5, 3)


def test_a_ratio_over_nothing_is_what_else_is_given() -> None:
    numerator, denominator = np.array([3.0, 3.0, 3.0]), np.array([2.0, 0.0, np.nan])
    assert physics.ratio(numerator, denominator).tolist() == [1.5, 1.0, 1.0]
    assert physics.ratio(np.array([[4.0], [6.0]]), np.array([2.0, 0.0]), 0.0).tolist() == [[2.0, 0.0], [3.0, 0.0]]
