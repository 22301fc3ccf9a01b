"""What each of several devices must hold."""

import dataclasses
import re
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.parallel import Split, read_split
from estimator.core.types import MemoryUse, Profile, RunPlan
from estimator.pipeline.group import estimate_group
from estimator.pipeline.group_memory import memory_of_group
from estimator.pipeline.memory import held_by_profile
from estimator.pipeline.stages import stages_of
from estimator.profiles import read_profile
from estimator.rollup.memory_fit import DoesNotFitError
from estimator.rollup.scaling import group_of

PLAN = RunPlan("b200", batch=1, draws=0)
# Grattafiori et al., The Llama 3 Herd of Models, 2024, table 3, with recomputation of each block
LLAMA3 = """
kind: llama
blocks: 32
hidden_size: 4096
heads: 32
key_value_heads: 8
feed_forward_size: 14336
vocabulary: 128256
sequence_length: 8192
recompute: full
"""
TABLE, BLOCK = 128256 * 4096, 218.1e6  # parameters of the embedding, as of the head, and of a block
TOKENS = 8192 * 4096 * 2  # bytes of what a block takes, in bf16
GB = 1e9


@pytest.fixture
def llama3(tmp_path: Path) -> Profile:
    (tmp_path / "layers.yaml").write_text(LLAMA3)
    return read_profile(tmp_path)


def held(profile: Profile, split: str, devices: int, batch: int = 1) -> MemoryUse:
    return memory_of_group(profile, dataclasses.replace(PLAN, batch=batch), read_split(split), devices)


def end_of(use: MemoryUse) -> str:
    (note,) = (note.text for note in use.notes if note.code == "memory-of-stage")
    return note.removesuffix(" stage, which needs most").rpartition("'s ")[2]


@pytest.mark.slow
def test_buckets_are_there_where_copies_exchange() -> None:
    profile, plan = read_profile("gpt2"), RunPlan("a100-sxm4-80gb", batch=8, draws=20)
    copies = {devices: memory_of_group(profile, plan, Split(), devices).parts["buckets"][0] for devices in (1, 2, 8)}
    assert copies[1] == 0 < copies[2] == copies[8]
    assert memory_of_group(profile, plan, Split(tensor=2, pipeline=2), 4).parts["buckets"][0] == 0
    shared = memory_of_group(profile, plan, Split("zero3"), 8).parts["buckets"][0]
    assert 0 < shared < copies[8]


@pytest.mark.slow
@pytest.mark.parametrize("split", ["data", "zero1", "zero2", "zero3", "zero1,tensor=2,pipeline=2", "zero3,micro=2"])
def test_from_two_copies_on_more_devices_never_hold_more_each(split: str) -> None:
    profile, plan, parts = read_profile("gpt2"), RunPlan("a100-sxm4-80gb", batch=8, draws=0), read_split(split)
    held = [memory_of_group(profile, plan, parts, copies * parts.model_devices).total[0] for copies in (2, 4, 8, 64)]
    assert held == sorted(held, reverse=True)


def test_an_end_of_a_pipeline_has_its_blocks_and_a_whole_table(llama3: Profile) -> None:
    """0.962 billion parameters of 18 B each, with their gradients; the 16th part of the model would be 9 GB."""
    use = held(llama3, "pipeline=16,micro=1", 32, batch=16)
    expected = 2 * BLOCK + TABLE
    parts = {name: float(use.parts[name][0]) for name in ("parameters", "gradients", "optimizer", "buckets")}
    assert parts == pytest.approx(
        {"parameters": 6 * expected, "gradients": 4 * expected, "optimizer": 8 * expected, "buckets": 4 * expected},
        rel=1e-3,
    )
    assert sum(parts.values()) - parts["buckets"] == pytest.approx(17.3 * GB, rel=0.01)


@pytest.mark.slow
def test_the_logits_are_those_of_one_micro_batch_on_the_last_stage(llama3: Profile) -> None:
    """In fp32 and bf16 they are most of what a last stage holds beside its variables."""
    logits = 8192 * 128256 * (4 + 2)
    few, many, interleaved = (
        held(llama3, f"pipeline=16,micro=1{words}", 16, batch)
        for words, batch in (("", 1), ("", 64), (",interleave=2", 64))
    )
    assert end_of(few) == end_of(many) == end_of(interleaved) == "last"
    assert few.parts["activations"][0] == many.parts["activations"][0]
    assert few.parts["activations"][0] + few.parts["workspace"][0] > logits
    others = interleaved.parts["activations"][0] - many.parts["activations"][0]  # a run of each stage but its own
    assert others == pytest.approx(15 / 2 * 2 * TOKENS, rel=0.01)


def test_a_first_stage_keeps_what_its_own_blocks_do(llama3: Profile) -> None:
    """With recomputation, what each of its two blocks takes."""
    first, last = stages_of(llama3, Split(pipeline=16))
    tensors = {end: dict(held_by_profile(stage, PLAN).at_batches)[1] for end, stage in (("f", first), ("l", last))}
    assert tensors["f"].kept == pytest.approx(2 * TOKENS, rel=0.01)
    assert tensors["l"].kept == pytest.approx(2 * TOKENS, rel=0.01)


@pytest.mark.slow
def test_activations_grow_with_micro_batches_until_each_stage_has_one(tmp_path: Path) -> None:
    (tmp_path / "layers.yaml").write_text(LLAMA3.replace("recompute: full", "loss: fused"))
    uses = [held(read_profile(tmp_path), "pipeline=16,micro=1", 16, batch) for batch in (4, 8, 12, 16, 64)]
    assert {end_of(use) for use in uses} == {"first"}
    kept = [float(use.parts["activations"][0]) for use in uses]
    assert kept[1] - kept[0] == pytest.approx(kept[2] - kept[1]) == pytest.approx(kept[3] - kept[2])
    assert kept[4] == kept[3]
    assert kept[0] == pytest.approx(kept[3] / 4, rel=0.02)


@pytest.mark.slow
def test_the_parts_of_one_training_are_the_same_wherever_they_are_asked_for(llama3: Profile) -> None:
    split = read_split("zero1,tensor=2,pipeline=4,micro=1")
    use = held(llama3, str(split), 16, 8)
    estimated = estimate_group(llama3, PLAN, group_of(16, 8, "weak", 8, split), split)
    assert estimated.memory is not None
    assert {name: part[0] for name, part in estimated.memory.parts.items()} == {
        name: part[0] for name, part in use.parts.items()
    }
    assert any(note.code == "memory-of-stage" for note in estimated.notes)


@pytest.mark.slow
def test_the_largest_batch_fits_both_ends(llama3: Profile) -> None:
    largest = held(llama3, "pipeline=4,micro=1", 4).largest_batch or 0
    assert held(llama3, f"pipeline=4,micro={largest}", 4, largest).fits
    assert not held(llama3, f"pipeline=4,micro={largest + 1}", 4, largest + 1).fits


@pytest.mark.slow
def test_a_pipeline_takes_any_batch_in_micro_batches_that_fit(llama3: Profile) -> None:
    use = held(llama3, "pipeline=4", 4, 1000)
    assert use.fits
    assert use.largest_batch is None
    assert held(llama3, "pipeline=4", 4).largest_batch is None


@pytest.mark.slow
def test_micro_batches_make_the_batch_and_tell_no_largest_one(llama3: Profile) -> None:
    for split, devices in (("pipeline=4,micro=2", 4), ("data,micro=2", 1)):
        use = held(llama3, split, devices, 8)
        assert (use.batch, use.largest_batch) == (8, None)
    assert (held(llama3, "pipeline=4,micro=8", 4, 8).largest_batch or 0) > 0


@pytest.mark.slow
def test_a_refusal_names_the_batch_and_no_largest_one_of_micro_batches(llama3: Profile) -> None:
    split, plan = read_split("pipeline=4,micro=4"), dataclasses.replace(PLAN, target="v100-sxm2-16gb", precision="fp32")
    with pytest.raises(EstimatorError, match=r" at batch 8 .*take a device with more memory"):
        estimate_group(llama3, plan, group_of(4, 4, "weak", 8, split), split)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "target", "devices", "batch", "fits"),
    [
        ("tensor=2", "a100-sxm4-40gb", 16, 1, "zero3,tensor=2"),
        ("data", "a100-sxm4-80gb", 16, 1, "zero2"),
        ("data", "a100-sxm4-80gb", 16, 64, "zero2,micro=1"),
        ("data,pipeline=2", "a100-sxm4-40gb", 4, 1, None),  # copies of a stage cannot share its weights
        ("data", "a100-sxm4-80gb", 1, 1, None),  # one copy shares with none
        ("data,top=1%", "a100-sxm4-80gb", 16, 1, None),
    ],
)
def test_a_refusal_names_a_split_that_fits(
    llama3: Profile, written: str, target: str, devices: int, batch: int, fits: str | None
) -> None:
    split = read_split(written)
    plan = dataclasses.replace(PLAN, target=target, batch=batch, draws=20)
    with pytest.raises(DoesNotFitError) as refused:
        estimate_group(llama3, plan, group_of(devices, 8, "weak", batch, split), split)
    named = re.search("or write 'parallel: \"(.*)\"', which fits$", str(refused.value))
    assert (named and named[1]) == fits
    if fits is not None:
        other = read_split(fits)
        assert estimate_group(llama3, plan, group_of(devices, 8, "weak", batch, other), other).memory
