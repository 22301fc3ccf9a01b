"""How many samples the stages of a pipeline compute at once, where nobody says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from estimator.core.parallel import read_split
from estimator.rollup.micro_batches import micro_batch_note, micro_batch_sizes, with_micro_batch
from estimator.rollup.scaling import Group, group_of


def group(batch: int, split: str) -> Group:
    parsed = read_split(split)
    return group_of(parsed.model_devices, 8, "weak", batch, parsed)


@pytest.mark.parametrize(
    ("batch", "stages", "runs", "sizes"),
    [
        (12, 4, 1, [12, 6, 4, 3, 2, 1]),
        (7, 4, 1, [7, 1]),
        (24, 4, 2, [6, 3, 2, 1]),  # two runs of blocks: 4, 8, 12 and 24 micro-batches are whole rounds
        (6, 4, 2, [1]),
    ],
)
def test_micro_batches_divide_the_batch_in_whole_rounds(batch: int, stages: int, runs: int, sizes: list[int]) -> None:
    assert micro_batch_sizes(batch, stages, runs) == sizes


def step_s(each: Group, split: str, micro_s: float) -> float:
    """(m + (p - 1) / v) micro-batches in a row, of which each takes its time."""
    parsed = read_split(split)
    return (each.micro_batches + (parsed.pipeline - 1) / parsed.interleave) * micro_s


def chosen(batch: int, launched_s: float, sample_s: float, room: int = 1000, split: str = "pipeline=4") -> Group:
    """A micro-batch takes a time that nothing changes, and one for each sample."""
    return with_micro_batch(
        group(batch, split), read_split(split), lambda each: size(each) <= room,
        lambda each: step_s(each, split, launched_s + sample_s * size(each)),
    )  # fmt: skip


def size(group: Group) -> int:
    return group.at_once or 0


@pytest.mark.parametrize(("room", "expected"), [(1000, 256), (256, 256), (255, 128), (8, 8), (7, 4), (1, 1), (0, 1)])
def test_the_largest_that_fits_is_taken_where_all_take_as_long(room: int, expected: int) -> None:
    actual = chosen(256, 1.0, 0.0, room)
    assert (actual.micro_batch, actual.micro_batches) == (expected, 256 // expected)


def test_where_the_time_is_that_of_the_samples_stages_idle_least() -> None:
    assert chosen(256, 0.0, 1.0).micro_batch == 1


@pytest.mark.parametrize("split", ["pipeline=4", "pipeline=2", "pipeline=4,interleave=2"])
@pytest.mark.parametrize("launched_s", [0.1, 1.0, 10.0, 100.0])
def test_the_one_chosen_takes_least(launched_s: float, split: str) -> None:
    sizes = micro_batch_sizes(64, read_split(split).pipeline, read_split(split).interleave)
    every = [replace(group(64, split), micro_batch=each) for each in sizes]
    fastest = min(every, key=lambda each: step_s(each, split, launched_s + size(each)))
    assert chosen(64, launched_s, 1.0, split=split) == fastest


@pytest.mark.parametrize(("stated", "room", "expected"), [(16, 1000, 16), (16, 8, 8), (24, 1000, 256)])
def test_the_size_that_a_workload_states_is_taken_if_it_divides_and_fits(stated: int, room: int, expected: int) -> None:
    split = read_split("pipeline=4")
    asked = group(256, "pipeline=4")
    actual = with_micro_batch(
        asked, split, lambda each: size(each) <= room, lambda each: step_s(each, "pipeline=4", 1.0), stated
    )
    assert actual.at_once == expected


@pytest.mark.parametrize("launches_s", [0.0, 3.0, 6.0, 20.0, 100.0])
@pytest.mark.parametrize("split", ["pipeline=3", "pipeline=8"])
def test_the_one_chosen_takes_least_where_launches_hide_behind_samples(launches_s: float, split: str) -> None:
    """The longer of the two counts, which is no straight line in the samples."""
    asked = group(96, split)

    def whole_s(each: Group) -> float:
        return step_s(each, split, max(launches_s, size(each)))

    actual = with_micro_batch(asked, read_split(split), lambda _: True, whole_s)
    every = [replace(asked, micro_batch=each) for each in micro_batch_sizes(96, read_split(split).pipeline)]
    assert whole_s(actual) == min(map(whole_s, every))


def test_no_step_is_timed_for_a_size_that_is_stated_and_fits() -> None:
    asked, tried = group(256, "pipeline=4"), []

    def fits(each: Group) -> bool:
        tried.append(size(each))
        return True

    def never(each: Group) -> float:
        raise AssertionError(each)

    assert with_micro_batch(asked, read_split("pipeline=4"), fits, never, 16).at_once == 16
    assert tried == [16]


@pytest.mark.parametrize("split", ["pipeline=4,micro=64", "tensor=4", "data"])
def test_a_named_size_and_a_whole_model_stay(split: str) -> None:
    asked = group(64, split)
    assert with_micro_batch(asked, read_split(split), lambda _: False, lambda _: 1.0) == asked
    assert not list(micro_batch_note([asked], read_split(split), None))


@pytest.mark.parametrize(
    ("batch", "share", "words"),
    [
        (1, 0.75, "computes 1 sample(s) at once, so that it idles for 75 % of the step; a larger batch of each copy"),
        (64, 3 / 67, "computes 1 sample(s) at once, so that it idles for 4 % of the step"),
    ],
)
def test_the_note_says_how_long_stages_wait(batch: int, share: float, words: str) -> None:
    """3 of 4 stages wait with one micro-batch: 3 / (1 + 3), and 3 / (64 + 3) with 64 of them."""
    split = read_split("pipeline=4,tensor=2")
    (note,) = micro_batch_note([group(batch, "pipeline=4,tensor=2")], split, None)
    assert note.code == "micro-batch"
    assert note.share == pytest.approx(share)
    assert words in note.text
    assert ("a larger batch" in note.text) == (batch == 1)


def test_one_note_tells_of_all_groups() -> None:
    split = read_split("pipeline=4")
    groups = [chosen(batch, 1.0, 1.0, room=8) for batch in (256, 2)]
    (note,) = micro_batch_note(groups, split, None)
    assert "a stage computes 1 to 8 sample(s) at once, so that it idles for 9 to 60 % of the step" in note.text


def test_a_note_tells_of_a_stated_size_that_is_not_taken() -> None:
    split, asked = read_split("tensor=4"), group(64, "tensor=4")
    (note,) = micro_batch_note([asked], split, 8)
    assert "computes 64 samples at once, and the layers state micro_batch 8; micro=8 in the split" in note.text
    assert not list(micro_batch_note([asked], split, 64))
    assert not list(micro_batch_note([group(64, "tensor=4,micro=16")], read_split("tensor=4,micro=16"), 8))
