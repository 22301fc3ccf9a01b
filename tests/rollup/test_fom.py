from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.rollup import fom
from estimator.rollup.fom import Definition

RATES = st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=6)
HARMONIC = Definition(mean="harmonic", of="rates")


def column(values: list[float]) -> np.ndarray:
    return np.array(values, dtype=float)[:, None]


@given(RATES)
def test_means_lie_between_least_and_greatest_in_their_order(values: list[float]) -> None:
    x, w = column(values), np.ones((len(values), 1))
    h, g, a = (fom.MEANS[name](x, w)[0] for name in ("harmonic", "geometric", "arithmetic"))
    tolerance = 1 + 1e-9
    assert min(values) <= h * tolerance
    assert h <= g * tolerance
    assert g <= a * tolerance
    assert a <= max(values) * tolerance
    assert fom.minimum(x, w)[0] == min(values)


@given(RATES, st.floats(0.1, 10))
def test_equal_speedups_give_that_speedup_under_every_definition(values: list[float], speedup: float) -> None:
    figures = fom.all_definitions(column(values) * speedup, column(values), np.ones(len(values)))
    assert len(figures) == 8
    assert all(value == pytest.approx(speedup) for value in figures.values())


@given(st.lists(st.tuples(st.floats(0.1, 100), st.floats(0.1, 100)), min_size=1, max_size=5))
def test_the_ratio_of_harmonic_means_is_a_ratio_of_total_times(times: list[tuple[float, float]]) -> None:
    ours, base = (np.array(t) for t in zip(*times, strict=True))
    figures = fom.figure_of_merit(column(list(1 / ours)), column(list(1 / base)), np.ones(len(times)), HARMONIC)
    assert figures[0] == pytest.approx(base.sum() / ours.sum())


def test_a_weight_of_two_equals_two_units() -> None:
    once = fom.figure_of_merit(column([2, 5]), column([1, 1]), np.array([2.0, 1.0]), HARMONIC)
    twice = fom.figure_of_merit(column([2, 2, 5]), column([1, 1, 1]), np.ones(3), HARMONIC)
    assert once[0] == pytest.approx(twice[0])


def lecture(p1_titan: Fraction) -> Fraction:
    """The lecture's example in rational arithmetic; Titan's rate of P1 is given."""
    day = Fraction(24)
    titan = [p1_titan, day / 6 * 18688, day / 12 * 18688]
    a = [day / 4 * 94000, day * 2 * 94000, day * 4 * 94000]

    def harmonic(rates: list[Fraction]) -> Fraction:
        return len(rates) / sum((1 / rate for rate in rates), Fraction(0))

    return harmonic(a) / harmonic(titan)


def test_the_lectures_example_exactly() -> None:
    assert lecture(Fraction(24, 60) * 18688) == Fraction(229125, 2774)
    assert float(lecture(Fraction(24, 60) * 18688)) == pytest.approx(82.5973, abs=5e-5)


def test_the_slides_figure_follows_from_its_truncated_rate() -> None:
    assert lecture(Fraction(7475)) == Fraction(68509785, 829426)
    assert float(lecture(Fraction(7475))) == pytest.approx(82.5990, abs=5e-5)


def test_harmonic_means_of_the_lecture() -> None:
    w = np.ones((3, 1))
    assert fom.harmonic(column([7475.2, 74752, 37376]), w)[0] == pytest.approx(float(Fraction(224256, 13)), rel=1e-15)
    assert fom.harmonic(column([564e3, 4512e3, 9024e3]), w)[0] == pytest.approx(
        float(Fraction(27072000, 19)), rel=1e-15
    )


def test_the_dominant_unit_is_the_one_that_moves_the_figure_most() -> None:
    rates, baseline = column([564e3, 4512e3, 9024e3]), column([7475.2, 74752, 37376])
    assert fom.dominant_unit(rates, baseline, np.ones(3), HARMONIC) == 0
    assert fom.dominant_unit(rates[:1], baseline[:1], np.ones(1), HARMONIC) == 0


@pytest.mark.parametrize("p1_titan", [Fraction(24, 60) * 18688, Fraction(7475)])
def test_the_program_agrees_with_rational_arithmetic(p1_titan: Fraction) -> None:
    titan, a = column([float(p1_titan), 74752, 37376]), column([564e3, 4512e3, 9024e3])
    figures = fom.figure_of_merit(a, titan, np.ones(3), HARMONIC)[0]
    assert figures == pytest.approx(float(lecture(p1_titan)), rel=1e-14)


def test_weighted_means() -> None:
    x, w = column([2.0, 8.0]), np.array([[3.0], [1.0]])
    assert fom.harmonic(x, w)[0] == pytest.approx(4 / (3 / 2 + 1 / 8))
    assert fom.geometric(x, w)[0] == pytest.approx((2**3 * 8) ** 0.25)
    assert fom.arithmetic(x, w)[0] == pytest.approx(14 / 4)


def test_a_minimum_has_no_weights() -> None:
    with pytest.raises(ValueError, match="names 'weights', of which the minimum has none; delete them"):
        fom.Definition.model_validate({"mean": "minimum", "weights": {"a": 2}})


def test_every_definition_is_of_the_nominal_inputs_alone() -> None:
    rates, baseline = np.array([[2.0, 7.0], [6.0, 7.0]]), np.array([[1.0, 9.0], [2.0, 9.0]])
    assert fom.all_definitions(rates, baseline, np.array([1.0, 3.0])) == pytest.approx(
        {
            "ratio of harmonic means of the rates": (4 / (1 / 2 + 3 / 6)) / (4 / (1 + 3 / 2)),
            "ratio of geometric means of the rates": (2 * 6**3) ** 0.25 / 2**0.75,
            "ratio of arithmetic means of the rates": (2 + 18) / (1 + 6),
            "ratio of minimum means of the rates": 2,
            "harmonic mean of the ratios": 4 / (1 / 2 + 3 / 3),
            "geometric mean of the ratios": (2 * 3**3) ** 0.25,
            "arithmetic mean of the ratios": (2 + 9) / 4,
            "minimum mean of the ratios": 2,
        }
    )


def test_of_units_whose_removal_changes_nothing_the_one_with_most_share_is_dominant() -> None:
    rates, baseline, ones = column([86_400, 0.024]), column([43_200, 0.012]), np.ones(2)
    assert fom.unit_shares(rates, baseline, ones, HARMONIC)[1] > 0.99
    assert fom.dominant_unit(rates, baseline, ones, HARMONIC) == 1


def test_a_unit_below_the_mean_may_be_dominant_as_well_as_one_above() -> None:
    ones = np.ones(3)
    assert fom.dominant_unit(column([1, 1, 9]), column([1, 1, 1]), ones, Definition(mean="arithmetic")) == 2
    assert fom.dominant_unit(column([4, 1, 4]), column([1, 1, 1]), ones, HARMONIC) == 1
    ratios = Definition(mean="arithmetic", of="ratios")
    assert fom.dominant_unit(column([5, 6, 5]), column([1, 3, 1]), ones, ratios) == 1
    for weights, dominant in ((ones, 0), (np.array([1.0, 9.0, 9.0]), 2)):
        assert fom.dominant_unit(column([1, 3, 9]), column([1, 1, 1]), weights, HARMONIC) == dominant


def test_how_much_of_a_figure_each_unit_makes() -> None:
    """Of a harmonic mean it is the unit's share of the machine's time, of a geometric one its weight."""
    rates, baseline, weights = column([1, 3]), column([1, 1]), np.array([1.0, 3.0])
    for mean, of, shares in (
        ("harmonic", "rates", [1 / 2, 1 / 2]), ("geometric", "ratios", [1 / 4, 3 / 4]), ("minimum", "ratios", [1, 0]),
        ("arithmetic", "ratios", [1 / 10, 9 / 10]),
    ):  # fmt: skip
        actual = fom.unit_shares(rates, baseline, weights, Definition(mean=mean, of=of))
        assert actual == pytest.approx(shares, abs=1e-5)
