import pytest

from estimator.studies.audit.printed import read_printed


@pytest.mark.parametrize(
    ("text", "unit", "value", "digit", "estimated"),
    [
        ("[4.8x]", "1", 4.8, 0.1, True),
        ("(0.66)*", "1", 0.66, 0.01, False),
        ("~200x", "1", 200, 1, False),
        ("1,210 s", "s", 1210, 1, False),
        ("2.037 s", "s", 2.037, 0.001, False),
        ("[1.5 min]", "s", 90, 6, True),
        ("0.12345678", "1", 0.12345678, 1e-8, False),
        (10, "1", 10, 1, False),
    ],
)
def test_printed_numbers_are_read_with_value_digit_and_brackets(
    text: object, unit: str, value: float, digit: float, estimated: bool
) -> None:
    printed = read_printed(text, unit)
    assert [printed.value, printed.digit] == pytest.approx([value, digit])
    assert (printed.text, printed.estimated) == (str(text), estimated)


@pytest.mark.parametrize(("text", "unit"), [("about 3", "1"), ("3", "s"), ("3 GB", "s"), ("0x", "1"), ("-3", "1")])
def test_text_that_is_no_printed_number_is_refused(text: str, unit: str) -> None:
    with pytest.raises(ValueError, match="is '"):
        read_printed(text, unit)


def test_a_number_without_quotes_is_refused() -> None:
    with pytest.raises(ValueError, match="without quotes, which loses zeros at its end"):
        read_printed(0.6, "1")
