"""The stages of a pipeline, and what a device of each holds."""

from __future__ import annotations

import pytest

from estimator.core.parallel import read_split
from estimator.core.types import RunPlan
from estimator.pipeline.memory import held_by_profile
from estimator.pipeline.stages import parts_of, shares_of, stages_of
from estimator.profiles import read_profile
from estimator.rollup.scaling import group_of

BLOCKS = 12  # of GPT-2, with 7.1 million parameters each; its table of tokens has 38.6 million


def test_a_model_without_a_pipeline_is_one_part() -> None:
    profile, split = read_profile("gpt2"), read_split("tensor=2")
    assert stages_of(profile, split) == [profile]
    assert [share.end for share in shares_of(profile, split, group_of(2, 2, "weak", 8, split))] == [None]


def test_an_end_has_its_blocks_and_its_table() -> None:
    profile, split = read_profile("gpt2"), read_split("pipeline=4,micro=2")
    first, last = (held_by_profile(stage, RunPlan("", "fp32", batch=2)) for stage in stages_of(profile, split))
    for end in (first, last):
        assert end.variables.parameters == pytest.approx(4 * (BLOCKS / 4 * 7.09e6 + 38.6e6), rel=0.03)


def test_each_part_has_the_share_of_its_end() -> None:
    profile, split = read_profile("gpt2"), read_split("pipeline=4,micro=2")
    parts = parts_of(profile, split, group_of(8, 8, "weak", 16, split))
    assert [share.end for _, share in parts] == ["first", "last"]
    assert {share.micro_batches for _, share in parts} == {8}
