"""What measured ops tell of others: nothing beyond what they share, everything of themselves, and how sure it is."""

from dataclasses import replace

import numpy as np
import pytest

from estimator.core.types import Floats
from estimator.model import calibration
from estimator.model.calibration import (
    AXES,
    NO_RESIDUALS,
    WAVES,
    Correction,
    KernelHyperparameters,
    OpFeatures,
    Residuals,
    covariance,
    estimate_correction,
    loadings,
)

SHAPE = 0.3
HYPERPARAMETERS = KernelHyperparameters(compute=0.2, memory=0.1, kind=0.1, shape=SHAPE, noise=0.02, scales=(2.0, 2.0))
NONE = NO_RESIDUALS.features


def ops(*places: tuple[float, float], share: float = 1.0, kind: int = 0, cached: bool = False) -> OpFeatures:
    return OpFeatures(np.array(places), *(np.full(len(places), each) for each in (share, kind, cached)))


def corrected(known: OpFeatures, residual: list[float], wanted: OpFeatures, std: float = 0.0) -> Correction:
    residuals = Residuals(known, np.array(residual), np.full(len(residual), std))
    return estimate_correction(residuals, wanted, HYPERPARAMETERS)


def test_without_measurements_nothing_is_corrected_and_all_is_uncertain() -> None:
    actual = corrected(NONE, [], ops((0, 0)))
    assert (actual.mean[0], actual.explained_share[0]) == (0, 0)
    assert actual.std[0] ** 2 == pytest.approx(0.2**2 + 0.1**2 + 0.3**2)
    assert actual.common_share[0] == pytest.approx(0.05 / 0.14)


def test_a_measured_op_is_corrected_to_what_was_measured() -> None:
    actual = corrected(ops((1, 1)), [0.5], ops((1, 1)))
    assert actual.mean[0] == pytest.approx(0.5, rel=0.01)
    assert actual.std[0] == pytest.approx(HYPERPARAMETERS.noise, rel=0.05)


def test_far_ops_share_only_the_devices_part() -> None:
    """The covariance of two ops that share no shape over the variance of the known one."""
    actual = corrected(ops((0, 0)), [0.5], ops((99, 99)))
    assert actual.mean[0] == pytest.approx(0.5 * 0.05 / (0.14 + HYPERPARAMETERS.noise**2), rel=1e-6)


def test_ops_bound_by_compute_correct_none_bound_by_memory_and_one_kind_corrects_another_less() -> None:
    same_bound, other_bound = (
        corrected(ops((0, 0)), [0.5], ops((99, 99), share=s, kind=1)).mean[0] for s in (1.0, 0.0)
    )
    assert other_bound == pytest.approx(0, abs=1e-12)
    assert 0 < same_bound < corrected(ops((0, 0)), [0.5], ops((99, 99))).mean[0]


def test_ops_that_the_cache_holds_hardly_correct_ops_in_memory() -> None:
    wanted = ops((99, 99), share=0.0)
    memory, cache = (corrected(ops((0, 0), share=0.0, cached=c), [0.5], wanted).mean[0] for c in (False, True))
    assert 0 < cache < 0.75 * memory  # as one kind of op, they share something


def test_an_uncertain_measurement_corrects_less() -> None:
    sure, uncertain = (corrected(ops((0, 0)), [0.5], ops((0, 0)), std) for std in (0.0, 0.5))
    assert uncertain.mean[0] < 0.5 * sure.mean[0]
    assert uncertain.std[0] > sure.std[0]


def test_an_outlier_among_few_is_clipped() -> None:
    known = ops((0, 0), (0, 1), (1, 0), (1, 1), (2, 2))
    usual, outlier = (corrected(known, [0.1, 0.1, 0.1, 0.1, last], ops((2, 2))).mean[0] for last in (0.1, 9.0))
    assert usual < outlier < 0.1 + 1.1 * calibration.OUTLIER_STD * SHAPE


def test_only_the_nearest_ops_count_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    places, residual = rng.normal(size=(50, 2)) * 5, rng.normal(size=50) * 0.2
    order = rng.permutation(50)
    monkeypatch.setattr(calibration, "NEAREST", 8)
    wanted = ops(*((float(x), float(y)) for x, y in rng.normal(size=(5, 2))))
    residuals = Residuals(ops(*map(tuple, places)), residual, np.zeros(50))
    one, other = (estimate_correction(each, wanted, HYPERPARAMETERS) for each in (residuals, residuals.at(order)))
    assert one.mean == pytest.approx(other.mean, rel=1e-9)


def drawn(places: OpFeatures, rng: np.random.Generator) -> Floats:
    """Residuals of one device, drawn from what the hyperparameters say."""
    noise = HYPERPARAMETERS.noise**2 * np.eye(len(places.kind))
    return np.asarray(
        rng.multivariate_normal(np.zeros(len(places.kind)), covariance(places, places, HYPERPARAMETERS) + noise)
    )


def test_nine_of_ten_intervals_hold_the_truth() -> None:
    """On devices drawn from the prior, with 20 measured ops and 20 unseen ones each."""
    rng = np.random.default_rng(0)
    held: list[float] = []
    for _ in range(100):
        places = ops(*((float(x), float(y)) for x, y in rng.uniform(0, 6, size=(40, 2))))
        truth = drawn(places, rng)
        known, unseen = np.arange(20), np.arange(20, 40)
        residuals = Residuals(places.at(known), truth[known], np.zeros(20))
        actual = estimate_correction(residuals, places.at(unseen), HYPERPARAMETERS)
        held.extend(np.abs(truth[unseen] - actual.mean) < 1.645 * np.hypot(actual.std, HYPERPARAMETERS.noise))
    assert np.mean(held) == pytest.approx(0.9, abs=0.02)


def test_loadings_reproduce_the_covariance() -> None:
    """To within what so many random features allow."""
    places = tuple((0.0, y) for y in np.linspace(0.0, 12.0, 20))
    for some in (ops(*places), ops(*places, share=0.3), ops(*places, share=0.0, cached=True)):
        actual = loadings(some, HYPERPARAMETERS)
        missed = actual @ actual.T - covariance(some, some, HYPERPARAMETERS)
        assert actual.shape == (20, AXES)
        assert np.allclose(np.diag(missed), 0.0)
        assert np.sqrt(np.mean(missed**2)) < 1.5 * SHAPE**2 / np.sqrt(WAVES)


def test_after_measurements_ops_move_together_only_by_what_is_still_unknown() -> None:
    """The posterior covariance of two ops (Rasmussen & Williams, eq. 2.24) behind many far measurements: what their
    device and kind do is known, so that only the shapes' part is left.
    """
    far = ops(*((50.0 + 40.0 * i, 0.0) for i in range(30)))
    wanted = ops((0, 0), (0.2, 0), (0, 30))
    actual = corrected(far, [0.1] * 30, wanted)
    common = actual.loadings @ actual.loadings.T
    among = covariance(far, far, HYPERPARAMETERS) + HYPERPARAMETERS.noise**2 * np.eye(30)
    across = covariance(wanted, far, HYPERPARAMETERS)
    expected = covariance(wanted, wanted, HYPERPARAMETERS) - across @ np.linalg.solve(among, across.T)
    assert np.allclose(np.diag(common), np.diag(expected))
    assert np.allclose(common, expected, atol=2.5 * SHAPE**2 / np.sqrt(WAVES))
    assert common[0, 1] > 2 * abs(common[0, 2])


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_what_is_not_known_of_an_op_is_its_covariance_with_itself(share: float) -> None:
    some = ops((0, 0), (1, 5), share=share, kind=1, cached=True)
    actual = corrected(NONE, [], some)
    assert actual.std**2 == pytest.approx(np.diag(covariance(some, some, HYPERPARAMETERS)))


def test_a_cache_of_its_own_speed_makes_shapes_differ_more_where_ops_are_alone() -> None:
    def shape_of(in_cache: float | None) -> float | tuple[float, ...]:
        return HYPERPARAMETERS.model_copy(update={"shape_in_cache": in_cache}).isolated().shape

    assert [shape_of(None), shape_of(0.1), shape_of(0.5)] == [0.3, (0.3, 0.3, 0.3), (0.5, 0.5, 0.5)]


def test_kinds_may_differ_by_unlike_amounts() -> None:
    unlike = HYPERPARAMETERS.model_copy(update={"kind": (0.1, 0.2, 0.4), "shape": (0.3, 0.3, 0.6)})
    both = ops((0, 0)), ops((0, 0), kind=2)
    std = [estimate_correction(NO_RESIDUALS, each, unlike).std[0] for each in both]
    assert std == pytest.approx([np.hypot(0.2, np.hypot(0.1, 0.3)), np.hypot(0.2, np.hypot(0.4, 0.6))])
    of_each = [loadings(each, unlike)[0] for each in both]
    assert [np.linalg.norm(each) for each in of_each] == pytest.approx(std)
    assert covariance(*both, unlike)[0, 0] == pytest.approx(0.2**2 + 0.3 * 0.6)
    shares = [estimate_correction(NO_RESIDUALS, each, unlike).common_share[0] for each in both]
    assert shares == pytest.approx([0.05 / 0.14, 0.2 / 0.56])
    far = Residuals(ops((0, 0), (1, 0), (2, 0), kind=2), np.array([9.0, 0.0, 0.0]), np.zeros(3))
    assert calibration._winsorised(far, unlike)[0] == pytest.approx(calibration.OUTLIER_STD * 0.6)


def test_each_of_many_ops_is_corrected_as_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    known, wanted = ops((0, 0), (3, 1), (6, 2)), ops(*((float(i), 0.0) for i in range(7)))
    whole = corrected(known, [0.5, -0.2, 0.1], wanted)
    monkeypatch.setattr(calibration, "BATCH_OPS", 3)
    parts = corrected(known, [0.5, -0.2, 0.1], wanted)
    assert parts.mean == pytest.approx(whole.mean)
    assert parts.loadings == pytest.approx(whole.loadings)


def test_many_that_are_far_off_show_that_there_are_such() -> None:
    """Of 30 of a kind, one is drawn to within OUTLIER_STD; of four times as many, half of them off, to twice that."""
    reach = calibration.OUTLIER_STD * SHAPE
    few = Residuals(ops(*[(float(i), 0.0) for i in range(30)]), np.array([9.0] + [0.0] * 29), np.zeros(30))
    many = Residuals(ops(*[(float(i), 0.0) for i in range(120)]), np.array([9.0] * 59 + [0.0] * 61), np.zeros(120))
    assert calibration._winsorised(few, HYPERPARAMETERS)[0] == pytest.approx(reach)
    below = replace(few, log_residual=-few.log_residual)
    assert calibration._winsorised(below, HYPERPARAMETERS)[0] == pytest.approx(-reach)
    assert calibration._winsorised(many, HYPERPARAMETERS)[0] == pytest.approx(2 * reach)
    kinds = np.array([0, 1, 1])
    apart = Residuals(replace(ops((0, 0), (1, 0), (2, 0)), kind=kinds), np.array([9.0, 0.1, 0.1]), np.zeros(3))
    assert calibration._winsorised(apart, HYPERPARAMETERS).tolist() == [9.0, 0.1, 0.1]  # the only one of its kind


def test_a_device_that_is_only_like_the_measured_one_is_corrected_in_part() -> None:
    wanted, known = ops((0, 0), (1, 1)), ops((0, 0))
    residuals = Residuals(known, np.array([0.4]), np.zeros(1))
    whole, part, nothing = (estimate_correction(residuals, wanted, HYPERPARAMETERS, weight) for weight in (1.0, 0.5, 0))
    assert part.mean == pytest.approx(0.5 * whole.mean)
    prior = nothing.std**2
    assert prior == pytest.approx(corrected(NONE, [], wanted).std ** 2)
    assert part.std**2 == pytest.approx(prior - 0.25 * (prior - whole.std**2))
    assert part.explained_share == pytest.approx(0.25 * whole.explained_share)
    assert np.linalg.norm(part.loadings, axis=1) == pytest.approx(part.std)
    like_prior = part.loadings[1] @ nothing.loadings[1] / (part.std[1] * nothing.std[1])
    assert like_prior > 1.01 * whole.loadings[1] @ nothing.loadings[1] / (whole.std[1] * nothing.std[1])
