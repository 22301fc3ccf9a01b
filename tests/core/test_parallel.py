"""How a training is divided, as people write it."""

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.parallel import ALONE, MEANINGS, SHORT, WORDS, DeviceShare, Split, read_split


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


def test_the_names_of_others_are_refused_with_that_of_here() -> None:
    for short, name in SHORT.items():
        with pytest.raises(EstimatorError, match=rf"parallel '{short}=2' is not known; .* Did you mean {name}\?$"):
            read_split(f"{short}=2")


def test_products_blocks_and_micro_batches_are_written_as_numbers() -> None:
    split = read_split("zero1,tensor=8,pipeline=4,micro=1")
    assert split == Split("zero1", 8, 4, 1)
    assert str(split) == "zero1,tensor=8,pipeline=4,micro=1"
    assert split.model_devices == 32
    assert "among 4 stages" in split.meaning


@pytest.mark.parametrize(
    "written",
    [
        "tensor",
        "tensor=0",
        "tensor=x",
        "tensor=²",
        "tensor=٣",
        "tensor=10000000",
        f"tensor={'9' * 5000}",
        "interleave=0",
    ],
)
def test_a_part_that_is_no_number_is_refused(written: str) -> None:
    name = written.partition("=")[0]
    with pytest.raises(EstimatorError, match=f"^parallel '{written}': expected {name}=N, a whole number from 1 to"):
        read_split(written)


@pytest.mark.parametrize("written", ["data=2", "data=", "", "pipe=2"])
def test_a_part_that_is_not_known_is_refused(written: str) -> None:
    with pytest.raises(EstimatorError, match="is not known; expected"):
        read_split(written)


def test_copies_make_a_whole_number() -> None:
    assert Split(tensor=4, pipeline=2).copies(64) == 8
    with pytest.raises(EstimatorError, match="devices 12: a copy of the model takes 8"):
        Split(tensor=4, pipeline=2).copies(12)


def test_parts_of_memory_are_divided_among_copies() -> None:
    assert Split("zero1", tensor=2, pipeline=4).divisors(32) == {"optimizer": 4.0}
    assert Split("data", tensor=2).divisors(32) == {}
    assert Split("zero1", tensor=2).share(4, 3) == DeviceShare({"optimizer": 2.0}, 3, "zero1")
    assert Split("zero1", tensor=2).share(2) == ALONE


@pytest.mark.parametrize(("micro_batches", "first"), [(1, 1), (3, 3), (4, 4), (64, 4)])
def test_a_first_stage_keeps_a_micro_batch_for_each_stage_as_far_as_there_are_any(
    micro_batches: int, first: float
) -> None:
    assert Split(pipeline=4).kept_passes("first", micro_batches) == first
    assert Split(pipeline=4).kept_passes("last", micro_batches) == 1
    assert Split().kept_passes(None, micro_batches) == 1


def test_interleaved_stages_keep_more_activations() -> None:
    """1 + (p − 1) / (p · v) of the model: Korthikanti et al., 2022, section 4.2.3; a stage is 1 / p of it."""
    split = Split(pipeline=4, interleave=2)
    assert split.kept_passes("first", 8) / 4 == pytest.approx(1 + 3 / 8)
    assert split.kept_passes("first", 4) == 4
    assert split.kept_passes("last", 8) == 1 + 3 / 2


def test_a_share_is_that_of_a_stage() -> None:
    assert Split().ends == (None,)
    first, last = (Split(pipeline=4).share(8, 16, end=end) for end in Split(pipeline=4).ends)
    assert first == DeviceShare({}, 16, "data", "first", 4.0)
    assert last == DeviceShare({}, 16, "data", "last", 1.0)


@pytest.mark.parametrize(
    "written",
    [
        "data,tensor=8,pipeline=4,micro=1,interleave=2",
        "zero1,tensor=8,sequence",
        "data,gradients=fp16",
        "data,gradients=bf16,top=0.01",
        "data,pipeline=4,micro=1,experts=8",
        "zero1,tensor=2,experts=8",
        "zero3,shard=8",
        "zero1,tensor=8,context=4,pipeline=2,micro=1,sequence",
        "data,tensor=8,sequence,overlap",
    ],
)
def test_every_part_is_shown_as_it_is_read(written: str) -> None:
    assert str(read_split(written)) == written


def test_devices_that_share_tokens_hold_the_same_weights() -> None:
    split = read_split("zero1,tensor=2,context=4")
    assert (split.model_devices, split.copies(16), split.weight_holders(2)) == (8, 2, 8)
    assert split.divisors(16) == {"optimizer": 8.0}
    assert split.share(8).exchanged == "zero1"
    with pytest.raises(EstimatorError, match=r"a copy of the model takes 8 \(tensor × context × pipeline\)"):
        split.copies(12)


def test_copies_that_share_experts_come_in_whole_groups() -> None:
    assert Split(experts=4, pipeline=2).least_devices == 8
    assert Split(experts=4, pipeline=2).copies(16) == 8
    with pytest.raises(
        EstimatorError, match="experts=4: it does not divide the 6 copies of the model on 12 devices; exp"
    ):
        Split(experts=4, pipeline=2).copies(12)


def test_some_copies_may_share_the_states() -> None:
    split = Split("zero1", tensor=2, shard=8)
    assert split.divisors(64) == {"optimizer": 8.0}
    assert split.divisors(8) == {"optimizer": 4.0}  # fewer copies share them all
    assert split.usual_devices == 16
    assert [Split("zero1", experts=count).usual_devices for count in (1, 4, 16, 3)] == [8, 8, 16, 9]
    assert Split(experts=16).usual_devices == 16
    assert "groups of 8 copies share the states" in split.meaning
    with pytest.raises(
        EstimatorError, match="shard=8: it does not divide the 12 copies of the model on 24 devices; expe"
    ):
        split.copies(24)


def test_states_of_experts_are_divided_among_the_copies_that_have_the_same() -> None:
    """8 copies of 100 parameters, 60 of them of experts that 4 share: each keeps 40 / 8 and 60 / 2 of the states."""
    split = Split("zero2", experts=4)
    assert split.divisors(8, of_experts=0.6) == pytest.approx(dict.fromkeys(("optimizer", "gradients"), 100 / 35))
    assert split.owners(8, of_experts=0.0) == 8
    assert split.owners(8, of_experts=1.0) == 2
    assert Split("zero1").owners(8, of_experts=0.6) == 8


def test_a_copy_computes_whole_micro_batches_and_whole_rounds_of_them() -> None:
    assert Split().least_batch == 1
    assert Split(pipeline=4, micro_batch=2).least_batch == 2
    assert Split(pipeline=4, micro_batch=2, interleave=3).least_batch == 8


def test_gradients_that_are_kept_are_those_of_a_device() -> None:
    assert Split(pipeline=4, top=0.01).divisors(8) == {"kept_gradients": 1.0}
    assert Split(top=0.01).divisors(8) == {"kept_gradients": 1.0}


def test_a_share_may_be_in_per_cent() -> None:
    assert read_split("top=0.1%").top == pytest.approx(1e-3)


def test_a_share_has_no_underscores() -> None:
    with pytest.raises(EstimatorError, match="expected top=SHARE"):
        read_split("top=1_0%")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "interleave=2",
            "'interleave=2': interleave=2 gives each stage of a pipeline several runs of blocks; expected ",
        ),
        ("zero1,sequence", "sequence divides what tensor=N leaves whole; expected tensor=N of 2 or more with it"),
        ("tensor=4,overlap", "overlap sends the tokens that sequence divides; expected sequence with it"),
        ("ps,gradients=fp16", "gradients=fp16 with parameter-server: not supported, as servers send weights back"),
        (
            "ps,experts=8",
            "experts=8 with parameter-server: not supported, as servers have all weights; expected data, z",
        ),
        ("shard=8", "shard=8 with data: not supported, as it is of what zero1, zero2 or zero3 divide; expected one of"),
        ("zero3,shard=8,experts=4", "shard=8 with experts=4: not supported; expected one of them"),
        ("context=2,experts=4", "context=2 with experts=4: not supported; expected one of them"),
        ("zero3,context=2,shard=4", "context=2 with shard=4: not supported; expected one of them"),
        ("zero1,context=2,shard=1", "context=2 with shard=1: not supported; expected one of them"),
        ("zero1,tensor=2,", "parallel 'zero1,tensor=2,': a word is missing beside a comma; delete the comma"),
        ("fsdp,top=0.01", "top=0.01 with zero3: not supported, as each copy must add up what all others chose"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(written: str, message: str) -> None:
    with pytest.raises(EstimatorError, match=message):
        read_split(written)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("gradients=fp64", ": expected gradients=fp16 or bf16"),
        *((f"top={share}", ": expected top=SHARE, above 0 and below 1, such as 1%") for share in "01x"),
        ("top=nan", ": expected top=SHARE"),
        ("top=150%", ": expected top=SHARE"),
        ("sequence=2", " is not known; expected one of data"),
    ],
)
def test_values_out_of_range_are_refused(written: str, expected: str) -> None:
    with pytest.raises(EstimatorError, match=f"parallel '{written}'{expected}"):
        read_split(written)


@pytest.mark.parametrize("written", ["data,zero1", "tensor=2,tensor=4", "fsdp,zero3"])
def test_the_same_kind_twice_is_refused(written: str) -> None:
    with pytest.raises(EstimatorError, match="is the second of its kind; keep one of them"):
        read_split(written)


def test_a_divided_optimizer_divides_its_update() -> None:
    assert [word for word in MEANINGS if Split(word).divides_update] == ["zero1", "zero2", "zero3"]
