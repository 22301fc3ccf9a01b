"""One device's part of a transformer: heads, widths and vocabulary, FLOP, and where results are added up."""

import pandas as pd
import pytest

from estimator.core.attributes import AROUND, AROUND_GRADIENTS, GATHERED, GATHERED_BESIDE, SCATTERED, SUMMED
from estimator.core.errors import EstimatorError
from estimator.core.parallel import End, Split
from estimator.core.types import Workload
from estimator.profiles import read_profile
from estimator.profiles.layers import Layers, profile_of
from estimator.profiles.layers.model import AGAIN
from estimator.profiles.layers.shards import (
    HeaviestStage,
    divided,
    divided_layers,
    heaviest_stage,
    shard,
    stated_micro_batch,
)
from estimator.work import count_work
from tests.profiles.layers.models import profile

SMALL = Layers.model_validate({
    "kind": "gpt", "blocks": 4, "hidden_size": 512, "heads": 8, "vocabulary": 1024, "sequence_length": 128,
    "micro_batch": 4,
})  # fmt: skip


def flop(layers: Layers, devices: int) -> float:
    """FLOP of the products of one of so many devices."""
    profile = divided_layers(profile_of(layers, Workload(name="small")), layers, Split(tensor=devices))
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
    profile = divided_layers(profile_of(SMALL, Workload(name="small")), SMALL, Split(tensor=2))
    marked = profile.ops[profile.ops["attributes"].fillna("").str.contains(SUMMED)]
    of_blocks = marked[marked["block"].notna()].groupby(["block", "phase"]).size()
    assert set(of_blocks) == {2}
    assert len(of_blocks) == 2 * SMALL.blocks


def test_recomputation_adds_results_up_once_more() -> None:
    again = SMALL.model_copy(update={"recompute": "full"})
    profile = divided_layers(profile_of(again, Workload(name="small")), again, Split(tensor=2))
    marked = profile.ops["attributes"].fillna("").str.contains(SUMMED) & (profile.ops["block"] == 1)
    assert marked.sum() == 6


def in_sequence(layers: Layers = SMALL, devices: int = 4, *, overlap: bool = False) -> pd.DataFrame:
    """OPS of one of so many devices that share the tokens."""
    split = Split(tensor=devices, sequence=True, overlap=overlap)
    return divided_layers(profile_of(layers, Workload(name="small")), layers, split).ops


def test_norms_dropouts_and_sums_have_their_share_of_the_tokens() -> None:
    """Korthikanti et al., 2022, section 4.2.2."""
    ops = in_sequence()
    outside = ops["op"].str.contains("norm|dropout|residual|positions") & ~ops["op"].str.contains("table|core")
    assert set(ops.loc[outside, "output_shapes"].str.split("x").str[1]) == {"32"}
    inside = ops["op"].str.contains("query_key_value$|up$|down$|attention/output$|logits$")
    assert set(ops.loc[inside, "output_shapes"].str.split("x").str[1]) == {"128"}


def test_the_flop_of_products_stay() -> None:
    plain = divided_layers(profile_of(SMALL, Workload(name="small")), SMALL, Split(tensor=4))
    shared = divided_layers(profile_of(SMALL, Workload(name="small")), SMALL, Split(tensor=4, sequence=True))
    plain_flop, shared_flop = (
        count_work(of.ops, of.workload, "small").work.query("op_class == 'gemm'")["flop"].sum()
        for of in (plain, shared)
    )
    assert plain_flop == shared_flop


@pytest.mark.parametrize("kind", ["gpt", "llama", "bert"])
def test_each_sum_becomes_a_scatter_and_a_gather(kind: str) -> None:
    """Two of each a block and pass, and two more gathers for the gradients of weights; Korthikanti et al., 2022."""
    whole = Layers.model_validate({**SMALL.model_dump(exclude_defaults=True), "kind": kind})
    ops = in_sequence(whole)
    of_block = ops[ops["block"] == 1]
    for phase, beside in (("forward", 0), ("backward", 2)):
        marks = of_block.loc[of_block["phase"] == phase, "attributes"].fillna("").str.split(";").explode()
        assert [list(marks).count(mark) for mark in (SCATTERED, GATHERED, GATHERED_BESIDE)] == [2, 2, beside]
        assert SUMMED not in set(marks)


@pytest.mark.parametrize("kind", ["gpt", "llama", "bert"])
def test_messages_overlap_with_the_products_of_blocks(kind: str) -> None:
    """All scatters and gathers but those of embeddings and head; what travels beside a product does so anyway."""
    whole = Layers.model_validate({**SMALL.model_dump(exclude_defaults=True), "kind": kind})
    plain, hidden = (
        in_sequence(whole, overlap=overlap).set_index("op")["attributes"].fillna("") for overlap in (False, True)
    )
    inside = plain.index.str.startswith("block_")
    renamed = plain[inside].str.replace("scatter=", "scatter_during=").str.replace("gather=", "gather_during=")
    assert renamed.str.contains("during").sum() == 4 * 8
    assert hidden[inside].equals(renamed)
    assert hidden[~inside].equals(plain[~inside])


def test_heads_of_masked_tokens_take_all_tokens() -> None:
    bert = Layers.model_validate({**SMALL.model_dump(exclude_defaults=True), "kind": "bert"})
    marked = in_sequence(bert).set_index("op")["attributes"].fillna("")
    assert marked["head/first"] == GATHERED
    assert SUMMED in marked["head/logits/grad_a"]
    assert "scatter" not in marked["head/logits/grad_a"]


@pytest.mark.parametrize("kind", ["gpt", "llama"])
def test_devices_that_share_all_tokens_share_the_work_exactly(kind: str) -> None:
    """Products and causal attention; and every result but gradients of parameters has its share of the tokens."""
    whole = Layers.model_validate({**SMALL.model_dump(exclude_defaults=True), "kind": kind})
    plain, shared = (
        count_work(part.ops, part.workload, "small").work
        for context in (1, 4)
        for part in [divided_layers(profile_of(whole, Workload(name="small")), whole, Split(context=context))]
    )
    of_class = [work.groupby("op_class")["flop"].sum()[["gemm", "attention"]] for work in (plain, shared)]
    assert of_class[0].tolist() == pytest.approx((4 * of_class[1]).tolist())
    with_batch = shared["output_shapes"].str.startswith("-1x")
    assert set(shared.loc[with_batch, "output_shapes"].str.split("x").str[1]) == {"32"}


@pytest.mark.parametrize("recompute", ["none", "full"])
def test_keys_and_values_go_around_while_attention_runs(recompute: str) -> None:
    given = SMALL.model_copy(update={"recompute": recompute})
    ops = divided_layers(profile_of(given, Workload(name="small")), given, Split(context=4)).ops
    marked = ops[ops["block"].eq(1) & ops["attributes"].fillna("").str.contains("=context")].set_index("op")
    again = [f"block_1/attention/core/flash{AGAIN}"] if recompute == "full" else []
    assert list(marked.index) == ["block_1/attention/core/flash", *again, "block_1/attention/core/flash/grad"]
    assert marked["attributes"].str.contains(AROUND).all()
    assert marked["attributes"].str.contains(AROUND_GRADIENTS).tolist() == [False] * (len(marked) - 1) + [True]


@pytest.mark.parametrize(
    ("given", "split", "message"),
    [({"sequence_length": 130}, Split(context=4), "context=4: it does not divide sequence_length 130; expected a"),
     ({"attention": "unfused"}, Split(context=2),
      "context=2: only fused attention can pass keys and values around; expected 'attention: fused'"),
     ({"head": "span"}, Split(context=2), "context=2: not supported with 'head: span'"),
     ({"experts": 4}, Split(context=2), "context=2: not supported with 4 experts"),
     ({"sequence_length": 36}, Split(tensor=4, context=2, sequence=True),
      "sequence with tensor=4: it does not divide the 18 tokens of context=2; expected a divisor")],
)  # fmt: skip
def test_tokens_that_cannot_be_shared_are_refused(given: dict[str, object], split: Split, message: str) -> None:
    layers = SMALL.model_copy(update=given)
    with pytest.raises(EstimatorError, match=message):
        divided_layers(profile_of(layers, Workload(name="small")), layers, split)


@pytest.mark.parametrize("end", ["first", "last"])
def test_a_stage_is_marked_as_the_whole_model_is(end: End) -> None:
    whole, stage = (
        divided(read_profile("gpt2"), Split(tensor=4, pipeline=4, sequence=True), each).ops.set_index("op")
        for each in (None, end)
    )
    same = stage.index.intersection(whole.index)
    assert stage["block"].nunique() == 3
    assert len(same) == len(stage)
    assert stage.loc[same, "attributes"].equals(whole.loc[same, "attributes"])


def test_a_sequence_that_cannot_be_divided_is_refused() -> None:
    odd = SMALL.model_copy(update={"sequence_length": 130})
    with pytest.raises(EstimatorError, match="sequence with tensor=4: it does not divide sequence_length 130"):
        in_sequence(odd)
    with pytest.raises(EstimatorError, match="sequence with 4 experts: not supported; expected tensor=4 without"):
        in_sequence(SMALL.model_copy(update={"experts": 4}))


@pytest.mark.parametrize("kind", ["gpt", "bert", "llama"])
@pytest.mark.parametrize(("tensor", "stages"), [(1, 2), (2, 2), (2, 4), (1, 4)])
def test_the_heaviest_stage_is_the_one_that_memory_counts(kind: str, tensor: int, stages: int) -> None:
    """Its parameters are those of the larger end, as ``divided`` gives it; at least its part of all."""
    read, split = profile(kind=kind, blocks=4), Split(tensor=tensor, pipeline=stages)
    ends = [divided(read, split, end).workload.parameters or 0 for end in split.ends]
    heaviest, whole = heaviest_stage(read, split), divided(read, split).workload.parameters or 0
    assert heaviest.share * whole == pytest.approx(max(ends))
    assert heaviest.share_of_copied == pytest.approx(heaviest.share)
    assert heaviest.share > 1 / stages
    assert heaviest.tied == (0 if kind == "llama" else 1000 // tensor * 64)


def test_the_fullest_of_uneven_stages_counts() -> None:
    """Llama 3 405B has 126 blocks on 16 stages; Llama Team, 2024, section 3.3.2."""
    read, split = profile(kind="llama", blocks=126), Split(pipeline=16)
    assert [divided(read, split, end).ops["block"].nunique() for end in split.ends] == [8, 8]
    assert heaviest_stage(read, split).blocks == 8 / 126


def test_the_ends_of_gpt2_xl_are_a_third_heavier_than_the_mean() -> None:
    """48 · (12 · 1600² + 13 · 1600) + (50257 + 1024) · 1600 + 2 · 1600 = 1 557 611 200 parameters, of which each stage
    has 6 blocks, 184 444 800, and the first also the tables, 82 049 600: 1.369 · 1 557 611 200 / 8.
    """
    sizes = {"blocks": 48, "hidden_size": 1600, "heads": 25, "vocabulary": 50257, "sequence_length": 1024}
    heaviest = heaviest_stage(profile(**sizes), Split(pipeline=8))
    assert heaviest.share == pytest.approx((184_444_800 + 82_049_600) / 1_557_611_200)
    assert 8 * heaviest.share == pytest.approx(1.369, abs=0.001)
    assert heaviest.tied == 50257 * 1600


def test_stages_have_their_part_of_shared_experts() -> None:
    """Of 4 blocks in 2 stages: all experts of 2 blocks, and all that is copied but 2 blocks and one end."""
    read = profile(kind="llama", blocks=4, experts=4)
    split = Split(pipeline=2, experts=4)
    heaviest, parts = heaviest_stage(read, split), [divided(read, split, end) for end in (*split.ends, None)]
    *ends, whole = [part.workload.parameters or 0 for part in parts]
    experts = 4 * 3 * 64 * 256  # one of each block
    assert heaviest.share == pytest.approx(max(ends) / whole)
    assert heaviest.share_of_copied == pytest.approx((max(ends) - experts / 2) / (whole - experts))


def test_whole_models_have_no_heaviest_stage() -> None:
    assert heaviest_stage(profile(), Split(tensor=2)) == HeaviestStage()


def test_a_profile_that_ran_has_no_known_blocks() -> None:
    with pytest.raises(EstimatorError, match="expected a workload given as layers"):
        divided(read_profile("resnet50"), Split(tensor=2))


@pytest.mark.parametrize(
    ("split", "message"),
    [(Split(pipeline=13), "pipeline=13: the model has 12 blocks; expected at most as many stages"),
     (Split(pipeline=4, interleave=2), "interleave=2: it does not divide the 3 blocks of the fullest of 4 stages; exp"),
     (Split("zero3", pipeline=4), "zero3 with pipeline=4: not supported; expected data, zero1 or zero2")],
)  # fmt: skip
def test_stages_share_whole_blocks(split: Split, message: str) -> None:
    with pytest.raises(EstimatorError, match=message):
        divided(read_profile("gpt2"), split)


def test_whole_models_stay_as_they_are() -> None:
    profile = read_profile("resnet50")
    assert divided(profile, Split("zero3", micro_batch=8)) is profile


def test_keys_that_parts_cannot_share_are_refused() -> None:
    shared = SMALL.model_copy(update={"heads": 24, "key_value_heads": 8, "head_width": 64, "feed_forward_size": 1536})
    with pytest.raises(EstimatorError, match="tensor=3: key_value_heads 8 cannot be divided so"):
        shard(shared, 3)


def test_a_micro_batch_is_stated_where_the_layers_give_it() -> None:
    given = SMALL.model_dump(exclude_none=True, exclude={"micro_batch"})
    assert stated_micro_batch(profile_of(SMALL, Workload(name="small"))) == 4
    assert stated_micro_batch(profile_of(Layers.model_validate(given), Workload(name="small"))) is None
    assert stated_micro_batch(read_profile("p1b3")) is None
