"""How many samples the stages of a pipeline compute at once, where nobody says so."""

from __future__ import annotations

import pytest

from estimator.core.parallel import read_split
from estimator.rollup.micro_batches import MOST_IDLE, micro_batch_note, micro_batch_sizes, with_micro_batch
from estimator.rollup.pipeline_parallel import bubble_share
from estimator.rollup.scaling import Group, group_of


def group(batch: int, split: str) -> Group:
    parsed = read_split(split)
    return group_of(parsed.model_devices, 8, "weak", batch, parsed)


@pytest.mark.parametrize(
    ("batch", "stages", "runs", "sizes"),
    [
        (64, 4, 1, [2, 1]),  # 3 / (32 + 3) idle, and 3 / (16 + 3) with micro-batches of 4
        (12, 2, 1, [1]),
        (7, 4, 1, [1]),  # the least, though they idle for 3 / (7 + 3)
        (64, 4, 2, [4, 2, 1]),  # two runs of blocks: half as long
        (24, 4, 2, [1]),  # 12 micro-batches of 2 idle for 3 / (24 + 3); 8 of 3 are whole rounds too, and idle longer
    ],
)
def test_micro_batches_leave_stages_a_tenth_of_a_step(batch: int, stages: int, runs: int, sizes: list[int]) -> None:
    assert micro_batch_sizes(batch, stages, runs) == sizes


@pytest.mark.parametrize("stages", [2, 3, 8])
@pytest.mark.parametrize("runs", [1, 2])
def test_every_size_divides_the_batch_and_the_largest_idles_least_beyond(stages: int, runs: int) -> None:
    for batch in range(stages, 200, stages):
        sizes = micro_batch_sizes(batch, stages, runs)
        assert all(batch % size == 0 for size in sizes)
        assert all(bubble_share(stages, batch // size, runs) <= MOST_IDLE for size in sizes if size > 1)
        assert runs == 1 or all(batch // size % stages == 0 for size in sizes)


@pytest.mark.parametrize(("room", "size"), [(1000, 8), (8, 8), (7, 4), (1, 1), (0, 1)])
def test_the_largest_that_fits_is_taken(room: int, size: int) -> None:
    split = read_split("pipeline=4")
    found = with_micro_batch(group(256, "pipeline=4"), split, lambda each: (each.at_once or 0) <= room)
    assert found.micro_batch == size
    assert found.micro_batches == 256 // size


@pytest.mark.parametrize("split", ["pipeline=4,micro=64", "tensor=4", "data"])
def test_a_named_size_and_a_whole_model_stay(split: str) -> None:
    asked = group(64, split)
    assert with_micro_batch(asked, read_split(split), lambda _: False) == asked
    assert not list(micro_batch_note([asked], read_split(split)))


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
    (note,) = micro_batch_note([group(batch, "pipeline=4,tensor=2")], split)
    assert note.code == "micro-batch"
    assert note.share == pytest.approx(share)
    assert words in note.text
    assert ("a larger batch" in note.text) == (batch == 1)


def test_one_note_tells_of_all_groups() -> None:
    split = read_split("pipeline=4")
    groups = [with_micro_batch(group(batch, "pipeline=4"), split, lambda _: True) for batch in (256, 2)]
    (note,) = micro_batch_note(groups, split)
    assert "a stage computes 1 to 8 sample(s) at once, so that it idles for 9 to 60 % of the step" in note.text
