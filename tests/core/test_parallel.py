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


def test_products_blocks_and_micro_batches_are_written_as_numbers() -> None:
    split = read_split("zero1,tensor=8,pipeline=4,micro=2")
    assert split == Split("zero1", 8, 4, 2)
    assert str(split) == "zero1,tensor=8,pipeline=4,micro=2"
    assert split.model_devices == 32
    assert "among 4 stages" in split.meaning


@pytest.mark.parametrize("written", ["tensor", "tensor=0", "tensor=x", "tensor=10000000", "data=2", "", "pipe=2"])
def test_a_part_that_is_no_number_is_refused(written: str) -> None:
    with pytest.raises(EstimatorError, match="is not known; expected"):
        read_split(written)


def test_copies_make_a_whole_number() -> None:
    assert Split(tensor=4, pipeline=2).copies(64) == 8
    with pytest.raises(EstimatorError, match="devices 12: tensor × pipeline = 8 does not divide them"):
        Split(tensor=4, pipeline=2).copies(12)


def test_parts_of_memory_are_divided_among_stages_and_copies() -> None:
    assert Split("zero1", tensor=2, pipeline=4).divisors(32) == {"optimizer": 16.0, "gradients": 4.0, "parameters": 4.0}
    assert Split("data", tensor=2).divisors(32) == {}
