"""How a training is divided, as people write it."""

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.parallel import MEANINGS, WORDS, Split, read_split


def test_every_word_is_read_and_has_a_meaning() -> None:
    for word, meant in WORDS.items():
        assert read_split(word) == Split(meant)
        assert MEANINGS[meant]
    assert read_split("fsdp") == read_split("zero3")


@pytest.mark.parametrize("split", MEANINGS)
def test_what_is_shown_is_read_back(split: str) -> None:
    assert str(read_split(split)) == split


def test_an_unknown_word_is_refused_with_a_near_one() -> None:
    with pytest.raises(EstimatorError, match=r"parallel 'zero4' is not known; expected one of data, .*Did you mean"):
        read_split("zero4")
