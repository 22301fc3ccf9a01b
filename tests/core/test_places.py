"""The text of places is read as it was shown."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.places import Place, parse_places, show_places

NUMBERS = st.integers(0, 10**15 - 1)
PLACES = st.lists(st.builds(Place, NUMBERS, st.booleans(), NUMBERS), min_size=1, unique_by=lambda place: place.number)


@given(PLACES)
def test_places_are_read_as_they_were_shown(places: list[Place]) -> None:
    assert parse_places(show_places(places)) == places


def test_marks_of_a_place() -> None:
    assert show_places([Place(3), Place(17, frozen=True, block=2)]) == "3;17f@2"


@pytest.mark.parametrize("text", ["", "a;b", "1.5", ";", "1;1", "-1", "9" * 20, "1;1@2", "1;1f", "1@", "@2", "f", "１"])
def test_unreadable_places(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        parse_places(text)
