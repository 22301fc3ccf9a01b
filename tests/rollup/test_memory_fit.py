"""What does not fit a device's memory, or may not."""

import pytest

from estimator.rollup.memory import GIB
from estimator.rollup.memory_fit import DoesNotFitError, check_fits, most_capacity
from tests.rollup.test_memory import WORKLOAD, card, use_of


def test_what_cannot_fit_is_refused_with_the_amounts_and_what_would() -> None:
    device = card(30.5e9)
    with pytest.raises(DoesNotFitError) as refused:
        check_fits(use_of(device, size=60e9), device, WORKLOAD)
    (sentence,) = refused.value.faults
    assert sentence.startswith("own: the step needs at least ")
    assert "at batch 8 (about" in sentence
    assert sentence.endswith("and card has 28.41 GiB; a batch of 2 would fit")


def test_what_may_not_fit_is_noted() -> None:
    nominal = float(use_of(card(80e9)).total[0])
    for capacity, words in ((nominal * 1.01, "may not fit"), (nominal * 0.99, "does not fit")):
        device = card(capacity)
        (note,) = check_fits(use_of(device), device, WORKLOAD)
        assert (note.code, note.kind, words in note.text) == ("memory-tight", "warning", True)
    assert check_fits(use_of(card(80e9)), card(80e9), WORKLOAD) == ()
    (note,) = check_fits(use_of(card(None)), card(None), WORKLOAD)
    assert note.code == "memory-unknown"


def test_a_capacity_in_whole_gigabytes_may_be_of_gibibytes() -> None:
    assert most_capacity(16e9) == 16 * GIB
    assert most_capacity(16.5e9) == 16.5e9
