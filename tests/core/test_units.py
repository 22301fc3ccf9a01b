import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core import units

VALUES = st.floats(min_value=1e-30, max_value=1e30, allow_nan=False, allow_infinity=False)
ROUND = st.integers(min_value=1, max_value=10**15)
PREFIXES = {
    "B": "kMGTPE",
    "B/s": "kMGTPE",
    "FLOP": "kMGTPE",
    "FLOP/s": "kMGTPE",
    "Hz": "kMGT",
    "W": "kM",
    "J": "kMG",
    "s": "mun",
}


@given(value=VALUES, unit=st.sampled_from(sorted(units.KINDS)), binary=st.booleans())
def test_parse_reads_back_what_show_shows(value: float, unit: str, binary: bool) -> None:
    assert units.parse(units.show(value, unit, binary=binary), unit) == value


@given(number=ROUND, unit=st.sampled_from(sorted(PREFIXES)), data=st.data())
def test_every_prefix_scales_by_its_power_of_ten(number: int, unit: str, data: st.DataObject) -> None:
    prefix = data.draw(st.sampled_from(PREFIXES[unit]))
    exponent = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}[prefix]
    assert units.parse(f"{number} {prefix}{unit}", unit) == pytest.approx(number * 10.0**exponent, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("900 GB/s", "B/s", 900e9),
        ("60 TFLOP/s", "FLOP/s", 60e12),
        ("10.6 TFLOPS", "FLOP/s", 10.6e12),
        ("62.7 TOP/s", "FLOP/s", 62.7e12),
        ("10 Gbit/s", "B/s", 1.25e9),
        ("128 GiB", "B", 128 * 2**30),
        ("16 GB", "B", 16e9),
        ("3 %", "1", 0.03),
        (18688, "1", 18688.0),
        ("60 h", "s", 216000.0),
        ("0.5 min", "s", 30.0),
        ("549us", "s", 549e-6),
        ("5 µs", "s", 5e-6),
    ],
)
def test_parse_quantities(text: object, unit: str, value: float) -> None:
    assert units.parse(text, unit) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "unit", "words"),
    [
        ("900 GB", "B/s", "which is a size; write a rate such as '900 GB/s'"),
        ("900 GB/s", "B", "which is a rate; write a size"),
        ("fast", "B/s", "not a quantity"),
        (900, "B/s", "which is a plain number"),
        ("4,000 GB/s", "B/s", "is '4,000 GB/s'; a number has no commas, so write 4000 GB/s"),
        ("94,000", "1", "a number has no commas, so write 94000"),
        ("4,5 TB/s", "B/s", "is '4,5 TB/s'; a number has no commas, write a rate such as '900 GB/s'"),
        ("1,2,3 s", "s", "a number has no commas, write a time"),
        ("12345,678 s", "s", "a number has no commas, write a time"),
        ("1e999999 TB/s", "B/s", "beyond any number"),
        (None, "s", "not a quantity"),
        (True, "1", "not a quantity"),
        ("9 parsec", "s", "no unit known here"),
        ("1/0 s", "s", "no unit known here"),
        ("1e999 s", "s", "beyond any number"),
        ("2 kB*s", "B", "no unit known here"),
    ],
)
def test_a_wrong_quantity_is_refused_with_an_example(text: object, unit: str, words: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        units.parse(text, unit)
    assert words in str(caught.value)


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    try:
        value = units.parse(text, "B/s")
    except ValueError as error:
        assert "write a rate" in str(error)
    else:
        assert math.isfinite(value)


def test_significant_digits_and_intervals() -> None:
    assert units.show(7.588e-3, "s", 4) == "7.588 ms"
    assert units.show(216000.0, "s", 4) == "60.00 h"
    assert units.show(82.59733, "1", 4) == "82.60"
    assert units.show(1.234e-7, "1", 4) == "0.0000001234"
    assert units.show(2.225e-308, "s", 4) == "2.225e-296 ps"
    assert units.parse("2.225e-296 ps", "s") == pytest.approx(2.225e-308)
    assert units.show_interval(7.1e-3, 7.6e-3, 1.2e-2, "s") == "7.600 (7.100 – 12.00) ms"
    assert units.show_interval(None, 229125 / 2774, None, "1") == "82.5973"
    assert units.show_interval(11.999999999999996, 12.0, 12.000000000000004, "1") == "12"
    assert units.show_interval(0.99999999, 1.0, 1.00000001, "s") == "1.000 s"
    assert units.show_interval(0.999, 1.0, 1.0, "1") == "1.000 (0.9990 – 1.000)"
    assert units.show_interval(110324994, 128950108, 137735651, "1") == "129,000,000 (110,300,000 – 137,700,000)"


def test_a_noun_stands_in_the_number_of_its_count() -> None:
    assert [f"{count} {units.plural('node', count)}" for count in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]


def test_usual_units_agree_with_the_unit_library() -> None:
    assert units.usual_units() == {text: units.any_unit(text) for text in units.usual_units()}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("12 Tb/s", "is '12 Tb/s', whose b would be a bit; write '12 TB/s' for bytes or '12 Tbit/s' for bits"),
        ("200 Gbps", "write '200 GB/s' for bytes or '200 Gbit/s' for bits"),
        ("80 Gib", "write '80 GiB' for bytes or '80 Gibit' for bits"),
    ],
)
def test_a_lower_case_b_is_not_read_as_bits(text: str, sentence: str) -> None:
    with pytest.raises(units.UnitError, match=re.escape(sentence)):
        units.parse(text, "B/s")


def test_bits_are_read_where_they_are_spelled() -> None:
    assert units.parse("200 Gbit/s", "B/s") == 25e9
    assert units.parse("8 Gibit", "B") == 2**30


def test_a_share_is_never_written_as_a_power_of_ten() -> None:
    assert [units.percent(share) for share in (0.9996, 0.123, 0.00012)] == ["100 %", "12 %", "0.012 %"]
