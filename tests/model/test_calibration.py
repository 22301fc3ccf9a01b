"""What measured ops say of others: nothing beyond what they share, everything of themselves, and how sure it is."""

import numpy as np
import pytest

from estimator.core.types import Floats
from estimator.model import calibration
from estimator.model.calibration import AXES, WAVES, Correction, Likeness, Ops, correction, covariance, loadings

LIKE = Likeness(compute=0.2, memory=0.1, kind=0.1, shape=0.3, noise=0.02, scales=(2.0, 2.0))
NONE = Ops(np.empty((0, 2)), np.empty(0), np.empty(0, dtype=int), np.empty(0, dtype=bool))


def ops(*places: tuple[float, float], share: float = 1.0, kind: int = 0, cached: bool = False) -> Ops:
    return Ops(np.array(places), *(np.full(len(places), each) for each in (share, kind, cached)))


def told(known: Ops, residual: list[float], wanted: Ops, doubt: float = 0.0) -> Correction:
    return correction(known, np.array(residual), np.full(len(residual), doubt), wanted, LIKE)


def test_without_measurements_nothing_is_corrected_and_nothing_is_known() -> None:
    found = told(NONE, [], ops((0, 0)))
    assert (found.mean[0], found.told[0]) == (0, 0)
    assert found.spread[0] ** 2 == pytest.approx(0.2**2 + 0.1**2 + 0.3**2)
    assert found.common[0] == pytest.approx(0.05 / 0.14)


def test_an_op_that_was_measured_is_what_was_measured() -> None:
    found = told(ops((1, 1)), [0.5], ops((1, 1)))
    assert found.mean[0] == pytest.approx(0.5, rel=0.01)
    assert found.spread[0] == pytest.approx(LIKE.noise, rel=0.05)


def test_far_ops_share_what_the_device_does_alone() -> None:
    """The covariance of two ops without likeness over the variance of the known one."""
    found = told(ops((0, 0)), [0.5], ops((99, 99)))
    assert found.mean[0] == pytest.approx(0.5 * 0.05 / (0.14 + LIKE.noise**2), rel=1e-6)


def test_compute_tells_nothing_of_memory_and_one_kind_less_of_another() -> None:
    bound_alike, otherwise = (told(ops((0, 0)), [0.5], ops((99, 99), share=s, kind=1)).mean[0] for s in (1.0, 0.0))
    assert otherwise == pytest.approx(0, abs=1e-12)
    assert 0 < bound_alike < told(ops((0, 0)), [0.5], ops((99, 99))).mean[0]


def test_what_the_cache_holds_tells_nothing_of_the_memory() -> None:
    wanted = ops((99, 99), share=0.0)
    memory, cache = (told(ops((0, 0), share=0.0, cached=c), [0.5], wanted).mean[0] for c in (False, True))
    assert 0 < cache < 0.75 * memory  # as one kind of op, they share something


def test_a_doubtful_measurement_tells_less() -> None:
    sure, doubtful = (told(ops((0, 0)), [0.5], ops((0, 0)), doubt) for doubt in (0.0, 0.5))
    assert doubtful.mean[0] < 0.5 * sure.mean[0]
    assert doubtful.spread[0] > sure.spread[0]


def test_one_of_few_that_is_far_off_the_others_is_drawn_to_them() -> None:
    known = ops((0, 0), (0, 1), (1, 0), (1, 1), (2, 2))
    usual, odd = (told(known, [0.1, 0.1, 0.1, 0.1, last], ops((2, 2))).mean[0] for last in (0.1, 9.0))
    assert usual < odd < 0.1 + 1.1 * calibration.REACH * LIKE.shape


def test_only_the_nearest_are_asked_and_their_order_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    places, residual = rng.normal(size=(50, 2)) * 5, rng.normal(size=50) * 0.2
    order = rng.permutation(50)
    monkeypatch.setattr(calibration, "NEAREST", 8)
    wanted = ops(*((float(x), float(y)) for x, y in rng.normal(size=(5, 2))))
    one = correction(ops(*map(tuple, places)), residual, np.zeros(50), wanted, LIKE)
    other = correction(ops(*map(tuple, places[order])), residual[order], np.zeros(50), wanted, LIKE)
    assert one.mean == pytest.approx(other.mean, rel=1e-9)


def drawn(places: Ops, rng: np.random.Generator) -> Floats:
    """Residuals of one device, drawn from what the likeness says."""
    noise = LIKE.noise**2 * np.eye(len(places.kind))
    return np.asarray(rng.multivariate_normal(np.zeros(len(places.kind)), covariance(places, places, LIKE) + noise))


def test_nine_of_ten_intervals_hold_the_truth() -> None:
    """On devices drawn from the prior, with 20 measured ops and 20 unseen ones each."""
    rng = np.random.default_rng(0)
    held: list[float] = []
    for _ in range(100):
        places = ops(*((float(x), float(y)) for x, y in rng.uniform(0, 6, size=(40, 2))))
        truth = drawn(places, rng)
        known, unseen = np.arange(20), np.arange(20, 40)
        found = correction(places.at(known), truth[known], np.zeros(20), places.at(unseen), LIKE)
        held.extend(np.abs(truth[unseen] - found.mean) < 1.645 * np.hypot(found.spread, LIKE.noise))
    assert np.mean(held) == pytest.approx(0.9, abs=0.02)


def test_ops_move_together_as_the_covariance_says() -> None:
    """To within what so many random features allow."""
    places = tuple((0.0, y) for y in np.linspace(0.0, 12.0, 20))
    for some in (ops(*places), ops(*places, share=0.3), ops(*places, share=0.0, cached=True)):
        found = loadings(some, LIKE)
        missed = found @ found.T - covariance(some, some, LIKE)
        assert found.shape == (20, AXES)
        assert np.allclose(np.diag(missed), 0.0)
        assert np.sqrt(np.mean(missed**2)) < 1.5 * LIKE.shape**2 / np.sqrt(WAVES)


def test_after_measurements_ops_move_together_only_by_what_is_still_unknown() -> None:
    """The posterior covariance of two ops (Rasmussen & Williams, eq. 2.24) behind many far measurements: what their
    device and kind do is known, so that only the shapes' part is left.
    """
    far = ops(*((50.0 + 40.0 * i, 0.0) for i in range(30)))
    wanted = ops((0, 0), (0.2, 0), (0, 30))
    found = told(far, [0.1] * 30, wanted)
    common = found.loadings @ found.loadings.T
    among = covariance(far, far, LIKE) + LIKE.noise**2 * np.eye(30)
    across = covariance(wanted, far, LIKE)
    expected = covariance(wanted, wanted, LIKE) - across @ np.linalg.solve(among, across.T)
    assert np.allclose(np.diag(common), np.diag(expected))
    assert np.allclose(common, expected, atol=2.5 * LIKE.shape**2 / np.sqrt(WAVES))
    assert common[0, 1] > 2 * abs(common[0, 2])
