"""Times, intervals and names as tables write them."""

import pytest

from estimator.reports import text


def test_an_unknown_time_is_a_dash() -> None:
    assert text.format_time(None) == "–"
    assert text.format_time(1.5e-3) == "1.500 ms"


def test_an_interval_has_brackets_where_something_was_uncertain() -> None:
    assert text.format_interval({"low": None, "mid": 82.5973, "high": None}, "1") == "82.5973"
    assert text.format_interval({"low": 1e-3, "mid": 2e-3, "high": 3e-3}) == "2.000 (1.000 – 3.000) ms"


def test_an_interval_is_split_into_its_middle_and_its_ends() -> None:
    assert text.split_interval("2.000 (1.000 – 3.000) ms") == ("2.000 ms", "1.000 – 3.000")
    assert text.split_interval("1,105 (601.5 – 1,485)") == ("1,105", "601.5 – 1,485")
    assert text.split_interval("2.000 ms") == ("2.000 ms", "")


def test_evidence_is_in_percent() -> None:
    assert text.format_evidence({"measured": 0.8, "roofline": 0.2}) == "measured 80 %, roofline 20 %"


@pytest.mark.parametrize(("number", "known"), [(0.0, True), (None, False), (float("nan"), False)])
def test_null_and_nan_are_unknown(number: float | None, known: bool) -> None:
    assert text.is_known(number) == known


def test_a_long_name_keeps_its_end() -> None:
    assert text.shorten("short") == "short"
    name = "gradients/" * 9 + "MatMul_1"
    assert len(text.shorten(name)) == text.LONGEST_NAME
    assert text.shorten(name).startswith("…")
    assert text.shorten(name).endswith("/MatMul_1")
