"""What a step adds to an op goes over; where both devices are one, the profile's own times come out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from estimator.model.in_step import Alone, in_step

TIMES = st.floats(1e-6, 1.0)


def alone(busy: float, launches: float = 1.0, latency: float = 1e-6) -> Alone:
    return Alone(np.array([busy]), np.array([launches]), latency)


def taken(own: float, source: Alone, target: Alone, traffic: float = 1.0) -> float:
    busy, launches = in_step(np.array([own]), source, target, traffic)
    return float(busy[0] + launches[0] * target.latency)


@given(TIMES, TIMES, st.just(0.0) | st.floats(1e-9, 1e-4))
def test_on_its_own_device_an_op_takes_what_it_took(own: float, busy: float, latency: float) -> None:
    here = alone(busy, 3.0, latency)
    np.testing.assert_allclose(taken(own, here, here), own, rtol=1e-9)


@given(TIMES, TIMES, TIMES, st.floats(0.1, 10.0))
def test_what_is_beyond_the_kernel_goes_by_traffic(beyond: float, here: float, there: float, traffic: float) -> None:
    own = here + beyond + 1e-6
    np.testing.assert_allclose(taken(own, alone(here), alone(there), traffic), there + traffic * beyond + 1e-6)


@given(st.floats(0.01, 1.0), TIMES, TIMES)
def test_what_is_faster_than_alone_stays_so(share: float, here: float, there: float) -> None:
    own = share * here + 1e-6
    np.testing.assert_allclose(taken(own, alone(here), alone(there)), share * there + 1e-6, rtol=1e-6)


@given(TIMES, TIMES)
def test_what_the_source_does_not_tell_is_taken_alone(own: float, there: float) -> None:
    np.testing.assert_allclose(taken(own, alone(np.nan), alone(there)), there + 1e-6)


@given(st.floats(0.0, 0.99), TIMES)
def test_a_launch_that_is_shorter_in_its_step_is_so_everywhere(share: float, there: float) -> None:
    """An own time below one launch: nothing is left for the kernel."""
    source, target = alone(1e-6, 1.0, 1e-4), alone(there, 1.0, 2e-4)
    np.testing.assert_allclose(taken(share * 1e-4, source, target), share * 2e-4, atol=1e-12)
