"""The tile model of matrix products: its physics. tests/validation judges its figures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core import physics
from estimator.core.types import Floats
from estimator.model.coefficients import shipped
from estimator.model.gemm import MIN_BALANCE, ProductShapes, TileMachine, Tiling, overlapped, tiled_times

DIM = st.integers(1, 20_000)
TILING = shipped().gemm.vector
PEAK, BANDWIDTH = 1e13, 5e11


def time(batch: float, m: float, n: float, k: float, *, peak: float = PEAK, bandwidth: float = BANDWIDTH,
         units: float = 80.0, tiling: Tiling = TILING) -> float:  # fmt: skip
    shapes = ProductShapes(*(np.array([float(x)]) for x in (batch, m, n, k, 4)))
    return float(overlapped(*tiled_times(shapes, TileMachine(peak, bandwidth, units), tiling))[0])


@given(st.integers(1, 64), DIM, DIM, DIM)
def test_no_time_is_below_the_roofline(batch: int, m: int, n: int, k: int) -> None:
    flop, bytes_ = physics.gemm_flop(batch, m, n, k), physics.gemm_bytes(batch, m, n, k, 4)
    assert time(batch, m, n, k) >= float(physics.ideal_time(flop, bytes_, PEAK, BANDWIDTH)) * (1 - 1e-12)


@given(st.integers(1, 64), DIM, DIM, DIM, st.sampled_from(range(4)), st.integers(1, 500))
def test_more_work_never_takes_less(batch: int, m: int, n: int, k: int, grown: int, by: int) -> None:
    larger = [batch, m, n, k]
    larger[grown] += by
    assert time(*larger) >= time(batch, m, n, k) * (1 - 1e-12)


@given(DIM, DIM, DIM)
def test_twice_the_rates_take_half_the_time(m: int, n: int, k: int) -> None:
    assert time(1, m, n, k, peak=2 * PEAK, bandwidth=2 * BANDWIDTH) == pytest.approx(time(1, m, n, k) / 2, rel=1e-12)


@given(DIM, DIM, DIM)
def test_a_product_and_its_transpose_take_the_same_time(m: int, n: int, k: int) -> None:
    assert time(1, m, n, k) == pytest.approx(time(1, n, m, k), rel=1e-12)


def test_one_tile_keeps_one_unit_busy() -> None:
    """A product of one small tile and little k does not use the other units, however many there are."""
    from_memory = TILING.model_copy(update={"reload": 0.0})
    few, many = (time(1, 32, 32, 32, units=u, peak=PEAK * u / 80, tiling=from_memory) for u in (80.0, 8000.0))
    assert few == pytest.approx(many, rel=0.01)


def test_a_cache_feeds_the_tiles_where_memory_is_too_slow() -> None:
    """A large product reuses what it loads so often that memory a third as fast costs little; so caches are built."""
    fast, slow = (time(1, *[8192] * 3, bandwidth=PEAK / intensity) for intensity in (MIN_BALANCE, 3 * MIN_BALANCE))
    assert fast < slow < 1.05 * fast


def test_a_tile_more_than_a_wave_costs_another_wave() -> None:
    """Products of one tile each, whose start takes all the time, so that parts of k would not help."""
    update = {"wave": 1.0, "resident": 1.0, "start": 1e6, "reload": 0.0}
    full, one_more = (time(count, 16, 16, 1, tiling=TILING.model_copy(update=update)) for count in (80, 81))
    assert one_more == pytest.approx(2 * full, rel=1e-6)


def test_an_unknown_number_of_units_is_taken_as_usual_and_an_unknown_peak_gives_no_time() -> None:
    assert np.isfinite(time(1, 100, 100, 100, units=np.nan))
    assert np.isnan(time(1, 100, 100, 100, peak=np.nan))


def test_thin_products_are_bound_by_memory() -> None:
    shapes = ProductShapes(*(np.array([float(x)]) for x in (1, 4096, 1, 4096, 4)))
    compute, memory = tiled_times(shapes, TileMachine(PEAK, BANDWIDTH, 80.0), TILING)
    streamed: Floats = physics.gemm_bytes(1, 4096, 1, 4096, 4) / BANDWIDTH
    assert memory[0] > compute[0]
    assert streamed <= memory[0] < 3 * streamed
