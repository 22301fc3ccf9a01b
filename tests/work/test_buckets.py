"""Which gradients and weights share a message: the blocks of a model, or buckets."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.profiles import read_profile
from estimator.work import count_work
from estimator.work.buckets import BEFORE, BEHIND, Buckets, buckets_of, knows_blocks, units_of
from estimator.work.gradients import gradients_made
from estimator.work.weights import weights_taken

LLAMA = """
kind: llama
blocks: 4
hidden_size: 64
heads: 4
feed_forward_size: 128
vocabulary: 1000
sequence_length: 32
recompute: full
"""
PRODUCTS = 4 * 64 * 64 + 3 * 64 * 128  # weights of a block's products: attention, and the gated feed-forward layer
NORMS = (2 * 4 + 1) * 64  # weights of all norms


@pytest.fixture
def work(tmp_path: Path) -> pd.DataFrame:
    (tmp_path / "layers.yaml").write_text(LLAMA)
    profile = read_profile(tmp_path)
    return count_work(profile.ops, profile.workload, profile.where).work


def units(work: pd.DataFrame) -> Buckets:
    parameters = 4 * PRODUCTS + NORMS + 2 * 1000 * 64
    return units_of(work, 4 * gradients_made(work, Workload(name="t", parameters=parameters))[0])


def test_units_are_the_blocks_and_both_ends(work: pd.DataFrame) -> None:
    """The head's gradients are made first, those of the embedding and of what no product makes last."""
    assert (units(work).bytes / 4).tolist() == [1000 * 64, *[PRODUCTS] * 4, 1000 * 64 + NORMS]


def test_a_unit_is_there_from_its_first_op_to_the_last_of_its_gradients(work: pd.DataFrame) -> None:
    actual, blocks = units(work), [3, 2, 1, 0]
    used, made = work.loc[actual.used], work.loc[actual.made]
    assert used["block"].iloc[1:5].tolist() == made["block"].iloc[1:5].tolist() == blocks
    assert used["op"].iloc[[0, -1]].tolist() == ["head/norm", "embeddings/tokens"]
    assert made["op"].iloc[[0, -1]].tolist() == ["head/norm/grad", "outside/gradients_cast"]
    backward = work[work["phase"] == "backward"]
    assert made.index[1:5].tolist() == [backward.index[backward["block"] == block][-1] for block in blocks]
    forward = work[work["phase"] == "forward"]
    assert used.index[1:5].tolist() == [forward.index[forward["block"] == block][0] for block in blocks]


def test_the_backward_pass_begins_behind_the_forward_pass(work: pd.DataFrame) -> None:
    last = work.index[work["phase"] == "forward"][-1]
    assert units(work).last_forward == last
    made = gradients_made(work, Workload(name="t", parameters=10**6))[0]
    assert buckets_of(work, made, weights_taken(work)).last_forward == last


def test_a_bucket_is_full_of_what_travels_trained_or_not(work: pd.DataFrame) -> None:
    """Where all but a hundredth is not trained, there are as many buckets as where all is."""
    made = 400 * gradients_made(work, Workload(name="t", parameters=4 * PRODUCTS))[0]
    taken = weights_taken(work)
    whole = buckets_of(work, made, taken)
    part = buckets_of(work, made / 100, taken, frozen=0.99 * made.sum() * taken / taken.sum())
    assert part.made.tolist() == whole.made.tolist()
    assert len(part.bytes) > 1
    assert part.bytes + part.frozen == pytest.approx(whole.bytes)


def test_the_order_of_rows_is_that_of_the_step(work: pd.DataFrame) -> None:
    """A dump may list the backward pass first."""
    shuffled = pd.concat([work[work["phase"] == phase] for phase in ("backward", "forward", "optimizer")])
    actual, expected = units(shuffled.reset_index(drop=True)), units(work)
    assert np.array_equal(actual.bytes, expected.bytes)
    assert shuffled["op"].iloc[actual.used].tolist() == work["op"].iloc[expected.used].tolist()


def test_blocks_must_be_known_in_both_passes(work: pd.DataFrame) -> None:
    assert knows_blocks(work)
    assert not knows_blocks(work.assign(block=work["block"].mask(work["phase"] == "forward")))
    assert not knows_blocks(work.assign(block=pd.NA))
    assert not knows_blocks(work.assign(phase=pd.NA))
    assert BEFORE < 0 < 10**6 < BEHIND
