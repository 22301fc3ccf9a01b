import numpy as np
import pytest

from estimator.core.types import Number
from estimator.studies.audit.numbers import format_seconds, given_time, quotient
from tests.studies.audit.tables import toy_row, toy_table


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0005184, "518 us"), (0.352, "352 ms"), (1.0, "1.00 s"), (3612.4, "3,612 s"), (12.34, "12.3 s")],
)
def test_times_are_shown_in_seconds_and_below_one_in_smaller_units(value: float, text: str) -> None:
    assert format_seconds(value) == text


def test_a_printed_time_is_an_input_with_its_source() -> None:
    number = given_time("t", toy_table({"A/B": toy_row("2 min", "1 s", "2x")}), ("A/B", "old"))
    assert (number.id, number.samples[0], number.unit, number.source) == ("t/A%2FB/old/printed", 120, "s", "s")


def test_a_quotient_names_what_it_divides() -> None:
    over, under = (Number(name, name, np.array(samples), "s", "device", "given")
                   for name, samples in (("a", [8.0, 9.0]), ("b", [2.0, 3.0])))  # fmt: skip
    ratio = quotient("id", "label", over, under)
    assert (ratio.formula, ratio.inputs, ratio.unit, list(ratio.samples)) == ("a / b", ("a", "b"), "1", [4, 3])
