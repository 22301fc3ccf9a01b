"""One copy of a mixture of experts that shares these with others: sizes, FLOP, tokens that are exchanged."""

from typing import Any

import pytest

from estimator.core.attributes import EXCHANGED, EXCHANGED_BEFORE
from estimator.core.errors import EstimatorError
from estimator.core.parallel import DataWord, Split
from estimator.core.types import Profile, RunPlan
from estimator.pipeline.group import estimate_group
from estimator.pipeline.group_memory import memory_of_group
from estimator.pipeline.memory import memory
from estimator.profiles import read_profile
from estimator.profiles.layers import Layers
from estimator.profiles.layers.parameters import of_block, outside_blocks
from estimator.profiles.layers.shards import divided, experts_share
from estimator.rollup.scaling import group_of
from estimator.work import count_work
from estimator.work.parallel import exchange

WORDS: tuple[DataWord, ...] = ("data", "zero1")
MIXTURE: dict[str, Any] = {
    "kind": "gpt", "blocks": 4, "hidden_size": 64, "heads": 4, "vocabulary": 1000, "sequence_length": 24,
    "micro_batch": 2, "experts": 8, "experts_per_token": 2,
}  # fmt: skip


@pytest.fixture
def mixture(tmp_path: Any) -> Profile:
    (tmp_path / "layers.yaml").write_text("\n".join(f"{key}: {value}" for key, value in MIXTURE.items()))
    return read_profile(tmp_path)


def flop(profile: Profile) -> float:
    work = count_work(profile.ops, profile.workload, "mixture").work
    return float(work.loc[work["op_class"] == "gemm", "flop"].sum())


@pytest.mark.parametrize("copies", [2, 8])
def test_a_copy_has_its_experts_and_as_much_work(mixture: Profile, copies: int) -> None:
    part, layers = divided(mixture, Split(experts=copies)), Layers.model_validate(MIXTURE)
    assert flop(part) == flop(mixture)  # fewer experts, with the tokens of more copies
    of_experts = 8 * (2 * 64 * 256 + 256 + 64)
    whole = 4 * of_block(layers).count + outside_blocks(layers).count
    assert mixture.workload.parameters == whole
    assert part.workload.parameters == whole - 4 * of_experts * (1 - 1 / copies)
    weights = part.ops.loc[part.ops["op"] == "block_1/feed_forward/up", "shapes"].item().split(";")[1]
    assert weights == f"{8 // copies}x64x256"


def test_tokens_are_exchanged_twice_a_block_and_pass(mixture: Profile) -> None:
    """To the experts and back; Lepikhin et al., GShard, 2021."""
    profile = divided(mixture, Split(experts=4))
    ops = profile.ops[profile.ops["block"] == 1]
    marked = ops[ops["attributes"].fillna("").str.contains(f"{EXCHANGED}|{EXCHANGED_BEFORE}")]
    assert marked.groupby("phase").size().to_dict() == {"forward": 2, "backward": 2}


def test_messages_to_experts_and_among_copies_that_have_the_same(mixture: Profile) -> None:
    part = divided(mixture, Split(experts=4))
    work = count_work(part.ops, part.workload, "mixture").work
    messages = exchange(work, part.workload, Split(experts=4)).messages
    tokens = messages[messages["among"] == "experts"]
    assert set(tokens["operator"]) == {"all_to_all"}
    assert tokens["bytes"].tolist() == [2.0 * 2 * 24 * 2 * 64] * 16  # bf16 × batch × tokens × experts of each × width
    by_group = messages[messages["among"] != "experts"].groupby("among")["bytes"].sum()
    assert by_group["like_experts"] == 4.0 * 4 * 2 * 2 * 64 * 256  # blocks × experts of a copy × weights
    assert by_group.sum() == 4.0 * (part.workload.parameters or 0)


def test_products_of_shared_experts_are_divided_too(mixture: Profile) -> None:
    """A copy of two devices: each has half of the widths of its experts, and sends all of its tokens."""
    split = Split("zero1", tensor=2, experts=4)
    part = divided(mixture, split)
    weights = part.ops.loc[part.ops["op"] == "block_1/feed_forward/up", "shapes"].item().split(";")[1]
    assert weights == "2x64x128"
    work = count_work(part.ops, part.workload, "mixture").work
    messages = exchange(work, part.workload, split).messages
    assert messages.loc[messages["among"] == "experts", "bytes"].tolist() == [2.0 * 2 * 24 * 2 * 64] * 16
    assert (messages["among"] == "tensor").sum() == 4 * 4 + 2  # sums of blocks, tokens and logits
    gathered = messages[messages["holds"] == "weights"].set_index("among")["bytes"]
    share, count = experts_share(mixture, split), part.workload.parameters or 0
    assert gathered.sum() == 2.0 * count  # bf16
    assert gathered["like_experts"] == 2.0 * 4 * 2 * 2 * 64 * 128
    assert share == pytest.approx(4 * 2 * (2 * 64 * 128 + 128 + 64) / count)


def test_each_copy_updates_its_share_of_what_it_has(mixture: Profile) -> None:
    """16 copies, 4 of which share experts: 4 have the same experts, all 16 the rest."""
    (whole, shared), share = (
        [memory_of_group(mixture, RunPlan(""), Split(data, experts=4), 16).parts["optimizer"][0] for data in WORDS],
        experts_share(mixture, Split(experts=4)),
    )
    assert shared / whole == pytest.approx(share / 4 + (1 - share) / 16)


@pytest.mark.slow
def test_a_step_with_divided_experts_and_states_is_predicted(mixture: Profile) -> None:
    steps = [
        estimate_group(mixture, RunPlan("a100-sxm4-80gb", draws=20), group_of(16, 8, "weak", 2, split), split).step
        for split in (Split(experts=4), Split("zero1", experts=4), Split("zero3", tensor=2, experts=4))
    ]
    assert all(step.total[0] > step.communication_exposed[0] > 0 for step in steps)


def test_a_copy_needs_less_memory(mixture: Profile) -> None:
    whole, part = (memory(divided(mixture, Split(experts=count)), RunPlan("")) for count in (1, 8))
    assert float(part.parts["parameters"][0]) < 0.5 * float(whole.parts["parameters"][0])
    assert float(part.parts["optimizer"][0]) < 0.5 * float(whole.parts["optimizer"][0])


@pytest.mark.slow
def test_experts_that_cannot_be_shared_are_refused(mixture: Profile) -> None:
    with pytest.raises(EstimatorError, match="experts=3: it does not divide the 8 experts; expected a divisor"):
        divided(mixture, Split(experts=3))
    with pytest.raises(EstimatorError, match="experts=2: the model has no mixture; expected 'experts' of 2 or more"):
        divided(read_profile("gpt2"), Split(experts=2))
    with pytest.raises(EstimatorError, match="experts=N need to know the model's blocks"):
        divided(read_profile("resnet50"), Split(experts=2))
