"""One device's part of a transformer: heads, widths and vocabulary, FLOP, and where results are added up."""

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.parallel import SUMMED, Split
from estimator.core.types import Workload
from estimator.profiles import read_profile
from estimator.profiles.layers import Layers, profile_of
from estimator.profiles.layers.shards import divided, divided_layers, shard
from estimator.work import count_work

SMALL = Layers.model_validate({
    "kind": "gpt", "blocks": 4, "hidden_size": 512, "heads": 8, "vocabulary": 1024, "sequence_length": 128,
    "micro_batch": 4,
})  # fmt: skip


def flop(layers: Layers, devices: int) -> float:
    """FLOP of the products of one of so many devices."""
    profile = divided_layers(profile_of(layers, Workload(name="small")), layers, devices)
    work = count_work(profile.ops, profile.workload, "small").work
    return float(work.loc[work["op_class"] == "gemm", "flop"].sum())


def test_a_device_has_its_share_of_heads_widths_and_vocabulary() -> None:
    part = shard(SMALL, 4)
    assert (part.heads, part.head_size, part.feed_forward, part.vocabulary) == (2, 64, 512, 256)
    assert part.hidden_size == SMALL.hidden_size


def test_devices_share_the_products_exactly() -> None:
    assert 4 * flop(SMALL, 4) == pytest.approx(flop(SMALL, 1))


def test_queries_that_share_keys_keep_one_of_them() -> None:
    shared = SMALL.model_copy(update={"key_value_heads": 2})
    assert shard(shared, 8).groups == 1


@pytest.mark.parametrize("devices", [3, 16])
def test_heads_that_cannot_be_divided_are_refused(devices: int) -> None:
    with pytest.raises(EstimatorError, match=rf"tensor={devices}: it does not divide heads 8"):
        shard(SMALL, devices)


def test_results_are_added_up_twice_a_block_in_each_pass() -> None:
    """Shoeybi et al., Megatron-LM, 2019, section 3: two all-reduces a block forward, two backward."""
    profile = divided_layers(profile_of(SMALL, Workload(name="small")), SMALL, 2)
    marked = profile.ops[profile.ops["attributes"].fillna("").str.contains(SUMMED)]
    of_blocks = marked[marked["block"].notna()].groupby(["block", "phase"]).size()
    assert set(of_blocks) == {2}
    assert len(of_blocks) == 2 * SMALL.blocks


def test_recomputation_adds_results_up_once_more() -> None:
    again = SMALL.model_copy(update={"recompute": "full"})
    profile = divided_layers(profile_of(again, Workload(name="small")), again, 2)
    marked = profile.ops["attributes"].fillna("").str.contains(SUMMED) & (profile.ops["block"] == 1)
    assert marked.sum() == 6


def test_a_profile_that_ran_has_no_known_blocks() -> None:
    with pytest.raises(EstimatorError, match="expected a workload given as layers"):
        divided(read_profile("resnet50"), Split(tensor=2))


@pytest.mark.parametrize(
    ("split", "message"),
    [(Split(pipeline=5), "pipeline=5: it does not divide the 12 blocks"),
     (Split("zero3", pipeline=4), "zero3 with pipeline=4: not supported; expected data or zero1 or zero2")],
)  # fmt: skip
def test_stages_share_whole_blocks(split: Split, message: str) -> None:
    with pytest.raises(EstimatorError, match=message):
        divided(read_profile("gpt2"), split)


def test_whole_models_stay_as_they_are() -> None:
    profile = read_profile("resnet50")
    assert divided(profile, Split("zero3", micro_batch=8)) is profile
