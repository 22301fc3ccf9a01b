import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.cli import folding


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("one  two", 4, ["one", "two"]),
        ("ab abcdefgh", 4, ["ab", "abcd", "efgh"]),
        ("abcdefgh ab", 4, ["abcd", "efgh", "ab"]),
        ("a\n\nb", 9, ["a", "", "b"]),
        ("数据数据", 4, ["数据", "数据"]),
        ("", 0, [""]),
    ],
)
def test_texts_fold_between_words(text: str, width: int, lines: list[str]) -> None:
    assert folding.fold(text, width) == lines


@pytest.mark.slow
@given(st.text(max_size=40), st.integers(2, 20))
def test_no_line_is_wider_than_its_column_and_no_letter_is_lost(text: str, width: int) -> None:
    lines = folding.fold(folding.printable(text), width)
    assert all(folding.cell_width(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(folding.printable(text).split())


def test_what_moves_the_cursor_is_left_out() -> None:
    assert folding.printable("a\rb\bc\td") == "abc     d"
    assert folding.cell_width("e\u0301") == 1


@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=60), st.integers(2, 40))
def test_names_are_cut_in_the_middle(name: str, width: int) -> None:
    shown = folding.cut(name, width)
    head, mark, tail = shown.partition("…")
    assert len(shown) <= width
    assert bool(mark) == (len(name) > width)
    assert name.startswith(head)
    assert name.endswith(tail)


def test_widths_are_those_of_the_longest_lines() -> None:
    assert folding.text_width(["ab\nabcd", "abc"]) == 4
    assert folding.text_width([]) == 0
