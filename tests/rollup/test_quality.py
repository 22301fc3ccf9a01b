"""Steps to quality by batch: between the points of a table, and by the critical-batch model beyond them."""

import numpy as np
import pytest

from estimator.core.errors import EstimatorError
from estimator.rollup import quality

LEAST, CRITICAL = 1000.0, 512.0


def steps(batch: int) -> float:
    return LEAST * (1 + CRITICAL / batch)


TABLE = {batch: steps(batch) for batch in (64, 256, 1024)}


def test_a_table_of_the_model_gives_its_numbers_back() -> None:
    model = quality.fit(TABLE)
    assert [model.least_steps, model.batch] == pytest.approx([LEAST, CRITICAL])


def test_the_model_is_that_of_equation_2_11() -> None:
    """(S / S_min − 1) · (E / E_min − 1) = 1, whatever the batch."""
    for batch in (8, 512, 65536):
        actual = quality.steps_by_model(*(np.array(v) for v in (LEAST, CRITICAL, float(batch), 1.0)))
        examples, least_examples = batch * actual, LEAST * CRITICAL
        assert (actual / LEAST - 1) * (examples / least_examples - 1) == pytest.approx(1)


def test_the_critical_batch_needs_twice_the_least_steps() -> None:
    assert steps(int(CRITICAL)) == 2 * LEAST


def test_steps_rise_where_a_larger_batch_needs_more() -> None:
    tables = (TABLE, {64: 9.0}, {256: 20.0, 64: 10.0}, {64: 10.0, 256: 10.0}, {64: 30.0, 256: 10.0, 1024: 11.0})
    assert [quality.rise(table) for table in tables] == [None, None, (64, 256), None, (256, 1024)]


def test_between_two_batches_steps_follow_a_power_of_the_batch() -> None:
    table = {100: 1000.0, 400: 250.0, 1600: 250.0}
    assert [quality.interpolate(table, batch) for batch in (100, 200, 800)] == pytest.approx([1000, 500, 250])
    assert [quality.is_within(table, batch) for batch in (99, 100, 1600, 1601)] == [False, True, True, False]


def test_steps_that_do_not_fall_with_the_batch_stay() -> None:
    model = quality.fit({64: 1000.0, 256: 1100.0})
    assert model.batch == 0
    assert 1000 < model.least_steps < 1100


def test_steps_that_fall_as_the_batch_grows_tell_no_critical_batch() -> None:
    with pytest.raises(EstimatorError, match=r"steps fall at least as fast .* expected larger batches"):
        quality.fit({64: 1000.0, 128: 400.0})


def test_beyond_the_table_steps_lie_between_those_of_no_gain_and_of_full_gain() -> None:
    for batch in (16, 8192):
        low, high = quality.ends_beyond(TABLE, batch)
        assert low < steps(batch) < high


def test_epochs_are_steps_over_those_of_an_epoch() -> None:
    assert quality.epochs_to_quality(np.array([1000.0]), np.array([40.0])).tolist() == [25]


FLAT = {32: 100000.0, 64: 50500.0, 128: 26000.0, 256: 14500.0, 512: 9500.0, 1024: 8200.0, 2048: 8000.0}


@pytest.mark.parametrize("table", [TABLE, FLAT, {64: 10000.0, 128: 5200.0, 256: 5100.0}, {64: 1000.0, 256: 1100.0}])
@pytest.mark.parametrize("factor", [1e-3, 0.5, 1 - 1e-9, 1 + 1e-9, 2.0, 1e3])
def test_beyond_the_table_steps_go_on_from_its_end(table: dict[int, float], factor: float) -> None:
    """They lie between no gain and full gain of a larger batch, however ill the model fits the table."""
    end = min(table) if factor < 1 else max(table)
    model = quality.through_end(table, end + 1 if factor > 1 else end - 1)
    actual = model.least_steps * (1 + model.batch / (end * factor))
    low, high = sorted((table[end], table[end] / factor))
    assert low * (1 - 1e-12) <= actual <= high * (1 + 1e-12)
    assert model.batch == quality.fit(table).batch


def test_a_table_of_the_model_goes_on_as_the_model() -> None:
    model = quality.through_end(TABLE, 4096)
    assert [model.least_steps, model.batch] == pytest.approx([LEAST, CRITICAL])
