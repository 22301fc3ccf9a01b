import pytest

from estimator.core.notes import CODES, MEANINGS, Note, ranked, sentences, with_code


def test_a_note_is_a_warning_or_an_assumption_by_its_code() -> None:
    notes = (Note("traffic-unknown", "a"), Note("casts", "b"))
    assert [note.kind for note in notes] == ["warning", "assumption"]
    assert sentences(notes) == ("a", "b")
    assert sentences(notes, "warning") == ("a",)


def test_ranked_removes_repetitions_and_sorts_by_share() -> None:
    first, much, again = Note("casts", "a"), Note("casts", "b", share=0.4), Note("layout", "a", share=0.9)
    assert ranked([first, much, again]) == (much, first)
    assert ranked(reversed([first, much, again])) == (again, much)


def test_what_the_input_leaves_open_is_an_assumption_that_comes_first() -> None:
    much, gap = Note("casts", "a", share=0.9), Note("network-assumed", "b")
    assert ranked([much, gap]) == (gap, much)
    assert gap.kind == "left-open"
    assert sentences([much, gap], "left-open") == ("b",)
    assert sentences([much, gap], "left-open", "assumption") == ("a", "b")


def test_sentences_of_one_code() -> None:
    assert with_code("profile", ["x", "y"]) == (Note("profile", "x"), Note("profile", "y"))


def test_a_code_has_one_meaning_and_no_note_another_code() -> None:
    assert len(MEANINGS) == sum(map(len, CODES.values()))
    with pytest.raises(LookupError, match="'new'; enter it"):
        Note("new", "a")
