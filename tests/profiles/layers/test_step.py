"""One step as OPS: order, blocks, gradients, recomputation; FLOP and memory against published formulas."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.parallel import End
from estimator.core.schema import MATRIX
from estimator.core.types import Profile, Workload
from estimator.profiles.layers import Layers, parameters, profile_of
from estimator.profiles.layers.step import ops_of
from estimator.work import count_work, step_tensors
from estimator.work.rebatch import rebatch
from estimator.work.weights import takes_weights
from tests.profiles.layers.models import profile, small

ENDS: tuple[End, ...] = ("first", "last")
EVERY_KIND = [
    {}, {"kind": "bert"}, {"kind": "llama"}, {"kind": "bert", "head": "span"}, {"recompute": "full"},
    {"recompute": "selective", "attention": "unfused"}, {"experts": 4, "experts_per_token": 2},
    {"key_value_heads": 2, "attention": "unfused", "positions": "rotary"}, {"precision": "fp16", "optimizer": "lamb"},
    {"precision": "fp32", "optimizer": "sgd"}, {"tied_embeddings": False, "positions": "alibi"}, {"loss": "fused"},
]  # fmt: skip


def work_of(read: Profile) -> pd.DataFrame:
    return count_work(read.ops, read.workload).work


def products(work: pd.DataFrame) -> float:
    return float(work.loc[work["op_class"].isin(MATRIX), "flop"].sum())


@pytest.mark.parametrize("given", EVERY_KIND)
def test_every_op_is_counted_and_takes_what_was_made_before_it(given: dict[str, object]) -> None:
    work = work_of(profile(**given))
    assert set(work["work_source"]) == {"shapes"}
    assert work[["flop", "bytes"]].notna().all(axis=None)
    assert "unmodelled" not in set(work["op_class"])
    assert not work["op"].duplicated().any()
    place = {op: row for row, op in enumerate(work["op"])}
    for row, text in enumerate(work["inputs"].fillna("")):
        assert all(place[name.removesuffix(":1")] < row for name in text.split(";") if name)


@pytest.mark.parametrize("given", EVERY_KIND)
def test_phases_follow_each_other_and_blocks_come_back_in_reverse(given: dict[str, object]) -> None:
    ops = profile(**given).ops
    assert list(ops["phase"].drop_duplicates()) == ["forward", "backward", "optimizer"]
    for phase, wanted in (("forward", [0, 1, 2]), ("backward", [2, 1, 0]), ("optimizer", [0, 1, 2])):
        blocks = ops.loc[ops["phase"] == phase, "block"]
        runs = blocks[blocks.ne(blocks.shift()).fillna(True)].dropna().drop_duplicates()
        assert list(runs) == wanted
    outside = ops[ops["block"].isna()]["op"].str.split("/").str[0]
    assert set(outside) == {"embeddings", "head", "outside"}


@pytest.mark.slow
@pytest.mark.parametrize("given", EVERY_KIND)
def test_ends_of_a_pipeline_hold_what_the_whole_model_does(given: dict[str, object]) -> None:
    """Activations at their most, which end with the forward pass: those of two stages of three blocks, and of six."""
    whole = activations(small(blocks=6, **given), None)
    first, last = (activations(small(blocks=3, **given), end) for end in ENDS)
    assert first + last == pytest.approx(whole, rel=0.005)


def activations(layers: Layers, end: End | None) -> float:
    count = parameters.total(layers, end=end).count
    whole = profile_of(layers, Workload(name="small"))
    stage = whole.workload.model_copy(update={"parameters": count})
    work = count_work(ops_of(layers, end=end), stage).work
    assert work.loc[work["phase"] == "optimizer", "shapes"].notna().all()
    return float(step_tensors(work, stage).activations.max())


@pytest.mark.parametrize("end", ENDS)
def test_a_stage_has_the_ops_of_its_own(end: End) -> None:
    whole, stage = (ops_of(small(precision="bf16"), end=each).set_index("op") for each in (None, end))
    other = "head" if end == "first" else "embeddings"
    assert set(whole.index) - set(stage.index) == {op for op in whole.index if op.startswith(other)}
    assert set(stage.index) <= set(whole.index)
    cast = stage.loc["outside/gradients_cast"]
    assert cast["output_shapes"] == str(parameters.outside_blocks(small(), end).count)
    assert any(f"{op}" in cast["inputs"] for op in stage.index if op.endswith("grad_table") or "logits/grad_b" in op)


def test_blocks_are_alike() -> None:
    work = work_of(profile(recompute="full"))
    by_block = work.groupby("block")[["flop", "bytes"]].sum()
    assert (by_block.iloc[0] == by_block.iloc[2]).all()
    assert (work.groupby("block").size() == len(work[work["block"] == 0])).all()


@pytest.mark.parametrize("given", EVERY_KIND)
def test_gradients_of_weights_are_made_once(given: dict[str, object]) -> None:
    work = work_of(profile(**given))
    work = work[work["op_class"] == "gemm"]
    with_weights = takes_weights(work) | work["op"].str.contains("feed_forward/(?:up|down|gated)$")
    forward = work[with_weights & (work["phase"] == "forward")]
    weights = forward[["batch", "k", "n"]].prod(axis=1).sum()
    by_gradient = work[work["op"].str.endswith("/grad_b") & ~work["op"].str.contains("/core/")]
    assert by_gradient[["batch", "m", "n"]].prod(axis=1).sum() == weights


@pytest.mark.parametrize("given", EVERY_KIND)
def test_the_update_covers_every_parameter(given: dict[str, object]) -> None:
    read = profile(**given)
    update = read.ops[(read.ops["phase"] == "optimizer") & read.ops["op"].str.endswith("_0")]
    sizes = update["shapes"].str.split(";").str[0].astype(int)
    assert sizes.sum() == parameters.total(small(**given)).count == read.workload.parameters


def test_flop_are_those_of_narayanan_et_al() -> None:
    """Narayanan et al., 2021, equation 3, with recomputation: F = 96 B s l h² (1 + s / 6h + V / 16lh)."""
    given = {"blocks": 4, "hidden_size": 128, "heads": 8, "sequence_length": 64, "vocabulary": 2048}
    work = work_of(profile(**given, recompute="full", attention="unfused"))
    b, s, l, h, v = 5, 64, 4, 128, 2048  # noqa: E741 -- the paper's letters
    assert products(work) == 96 * b * s * l * h**2 * (1 + s / (6 * h) + v / (16 * l * h))


def test_flop_are_those_of_palm() -> None:
    """Chowdhery et al., PaLM, 2022, appendix B: 6 N + 12 L H Q T a token, of N the parameters of products; attention
    is counted whole, causal or not.
    """
    work = work_of(profile(attention="unfused"))
    block = parameters.of_block(small(bias=False)).count - 2 * 64  # without norms
    n, tokens = 3 * block + 1000 * 64, 5 * 32
    assert products(work) == tokens * (6 * n + 12 * 3 * 64 * 32)


def test_fused_attention_spares_what_a_causal_mask_hides_and_computes_scores_twice() -> None:
    """Dao et al., FlashAttention, 2022: the backward pass has five products in place of four."""
    whole, fused = (
        products(work_of(profile(attention=kind))) - products(work_of(profile(attention=kind, blocks=2)))
        for kind in ("unfused", "fused")
    )
    one = 2 * 5 * 32 * 32 * 64  # FLOP of one of its products
    assert whole - fused == 6 * one - 7 * one / 2
    assert products(work_of(profile(causal=False))) - products(work_of(profile())) == 3 * 7 * one / 2


def test_experts_compute_only_the_tokens_that_they_get() -> None:
    dense, two_of_four = (work_of(profile(**given)) for given in ({}, {"experts": 4, "experts_per_token": 2}))
    of_layers = [w.loc[w["op"].str.contains("feed_forward/(?:up|down)"), "flop"].sum() for w in (dense, two_of_four)]
    bias_rows = [w.loc[w["op"].str.contains("grad_bias"), "flop"].sum() for w in (dense, two_of_four)]
    assert of_layers[1] == pytest.approx(2 * of_layers[0], rel=0.02)
    assert bias_rows[0] > 0


@pytest.mark.parametrize(("batch", "rows"), [(1, 1), (8, 1), (9, 2), (64, 8), (1000, 125)])
def test_tokens_of_an_expert_are_rounded_for_the_whole_batch(batch: int, rows: int) -> None:
    """32 tokens a sequence among 256 experts: batch / 8 for each, where each sequence by itself would round to 1."""
    read = profile(experts=256, blocks=1, feed_forward_size=8)
    work = rebatch(work_of(read), read.workload, batch).work
    up = work[work["op"].str.endswith("feed_forward/up")].iloc[0]
    assert (up["batch"], up["m"], up["n"], up["k"]) == (256, rows, 8, 64)
    weights = work[work["op"].str.endswith("feed_forward/up/grad_b")].iloc[0]
    assert (weights["batch"], weights["k"]) == (256, rows)


def test_router_weights_keep_what_experts_made() -> None:
    """A block keeps for each of 5 · 32 tokens, in bf16: inputs and results of two norms (4 · 64), queries, keys and
    values (3 · 64), what attention made (64); of 2 of 4 experts the input, both sides of the activation and the result
    (2 · (64 + 256 + 256 + 64)), and the router's 4 weights. Without the results it is 9 % less.
    """
    given = {"experts": 4, "experts_per_token": 2, "dropout": 0.0, "vocabulary": 10}
    kept = {
        blocks: step_tensors(work_of(read), read.workload).activations[(read.ops["phase"] == "forward").to_numpy()][-1]
        for blocks in (2, 3)
        for read in [profile(blocks=blocks, **given)]
    }
    assert kept[3] - kept[2] == 5 * 32 * 2 * ((4 + 3 + 1) * 64 + 2 * (64 + 256 + 256 + 64) + 4)


@pytest.mark.parametrize(
    ("recompute", "per_block"),
    [
        # Korthikanti et al., 2022, equation 2: s b h (34 + 5 a s / h)
        ("none", lambda a, s, h: 34 + 5 * a * s / h),
        ("selective", lambda a, s, h: 34),  # table 2: without 5 a s / h
        ("full", lambda a, s, h: 2),  # and the input alone
    ],
)
def test_activations_are_those_of_korthikanti_et_al(recompute: str, per_block: object) -> None:
    def kept(blocks: int) -> float:
        read = profile(blocks=blocks, recompute=recompute, attention="unfused", vocabulary=10)
        tensors = step_tensors(work_of(read), read.workload)
        assert tensors.evidence == "flow"
        forward = (read.ops["phase"] == "forward").to_numpy()
        return float(tensors.activations[forward][-1])

    assert (kept(5) - kept(2)) / 3 == 5 * 32 * 64 * per_block(4, 32, 64)  # type: ignore[operator]


def test_a_fused_loss_reads_logits_as_they_are_and_writes_over_them() -> None:
    """Op by op there are a cast, a softmax and a pick, each with its gradient, and copies in fp32."""
    one_by_one, fused = (work_of(profile(loss=loss, vocabulary=10_000, blocks=1)) for loss in ("unfused", "fused"))
    of_loss = [work[work["op"].str.contains("cross_entropy")] for work in (one_by_one, fused)]
    logits = 2.0 * 10_000 * one_by_one.loc[one_by_one["op"] == "head/logits", "m"].iloc[0]  # bf16
    assert [len(rows) for rows in of_loss] == [6, 2]
    assert of_loss[1]["bytes"].to_numpy(dtype=float) == pytest.approx([logits, 2 * logits], rel=1e-3)
    workload = profile(loss="fused").workload
    moments = [step_tensors(work, workload) for work in (one_by_one, fused)]
    most = [float((each.activations + each.gradients + each.workspace).max()) for each in moments]
    assert most[1] < most[0] - 2 * logits


def test_recomputation_runs_the_forward_ops_of_a_block_again() -> None:
    plain, full, selective = (profile(recompute=kind).ops for kind in ("none", "full", "selective"))
    forward = plain[(plain["phase"] == "forward") & plain["block"].notna()]
    assert len(full) - len(plain) == len(forward)
    assert len(selective) - len(plain) == 3  # one fused attention a block
    assert set(full.loc[full["op"].str.endswith("/again"), "phase"]) == {"backward"}


def test_a_narrow_format_keeps_the_update_and_the_loss_in_fp32() -> None:
    ops = profile(precision="bf16").ops
    assert set(ops.loc[ops["op"].str.contains("/adam"), "precision"]) == {"fp32"}
    assert set(ops.loc[ops["op"].str.contains("softmax"), "precision"]) == {"fp32"}
    assert set(ops.loc[ops["op_type"] == "aten::einsum", "precision"]) == {"bf16"}
    assert not profile(precision="fp32").ops["op"].str.contains("cast").any()
    assert profile(precision="fp16").ops["op"].str.contains("unscale").sum() == 4


def test_tf32_is_the_format_of_products_alone() -> None:
    ops = profile(precision="tf32").ops
    products_alone = ops["op_type"].isin(
        ["aten::einsum", "aten::_flash_attention_forward", "aten::_flash_attention_backward"]
    )
    assert set(ops.loc[products_alone, "precision"]) == {"tf32"}
    assert set(ops.loc[~products_alone, "precision"]) == {"fp32"}


@pytest.mark.parametrize(
    ("name", "reads", "writes"), [("adam", 4, 3), ("momentum", 3, 2), ("sgd", 2, 1), ("lamb", 9, 4)]
)
def test_traffic_of_the_update(name: str, reads: int, writes: int) -> None:
    """Adam reads and writes two moments beside the parameters; LAMB also takes three norms and a second stage."""
    read = profile(precision="fp32", optimizer=name)
    work = work_of(read)
    moved = work.loc[work["phase"] == "optimizer", "bytes"].sum() / 4 / (read.workload.parameters or 0)
    assert moved == pytest.approx(reads + writes, rel=1e-3)


def test_times_are_those_of_nothing() -> None:
    read = profile()
    assert (read.ops["time_s"] == 0).all()
    assert not read.ran
    assert not np.isnan(read.ops["time_s"]).any()


def test_the_layers_of_a_python_program_are_enough() -> None:
    layers = Layers(kind="gpt", blocks=1, hidden_size=8, heads=1, vocabulary=10, sequence_length=4)
    assert layers.micro_batch == 1
