"""Adapters (LoRA): narrow products next to frozen ones, which have no gradients, no update, and nothing to exchange."""

from pathlib import Path

import pandas as pd
import pytest

from estimator.core.attributes import OF_PARAMETERS, has_attribute
from estimator.core.parallel import read_split
from estimator.core.schema import MATRIX
from estimator.core.types import RunPlan
from estimator.pipeline.group_memory import memory_of_group
from estimator.profiles.layers.parameters import frozen, outside_blocks, tied, total
from estimator.profiles.layers.shards import divided, heaviest_stage
from estimator.rollup.memory import numbers
from estimator.work import count_work
from estimator.work.gradients import gradient_elements
from estimator.work.parallel import exchange
from tests.profiles.layers.models import profile, small

LLAMA = {"kind": "llama", "key_value_heads": 2, "feed_forward_size": 160}
WIDE = {"kind": "llama", "feed_forward_size": 192}  # tensor=4 divides it, and its heads
RANK = {"lora_rank": 8}
EVERY = {**RANK, "lora_layers": "all"}


def work_of(**given: object) -> pd.DataFrame:
    read = profile(**{**LLAMA, **given})
    return count_work(read.ops, read.workload, read.where).work


def test_llama_2_of_70_billion_has_44_6_million_adapted() -> None:
    """80 blocks of rank 16 at projections of 8192 by 10240 and by 8192 (Touvron et al., Llama 2, 2023)."""
    given = {"kind": "llama", "blocks": 80, "hidden_size": 8192, "heads": 64, "key_value_heads": 8}
    layers = small(**given, feed_forward_size=28672, vocabulary=32000, lora_rank=16)
    assert total(layers).count == 80 * 16 * (8192 + 10240 + 8192 + 8192)
    assert total(layers).tensors == 80 * 4
    assert total(layers).count + frozen(layers) == 69_021_212_672  # with 68,976,648,192 of the model's own


def test_what_is_frozen_is_all_that_is_trained_without_adapters() -> None:
    layers, whole = small(**LLAMA, **RANK), small(**LLAMA)
    assert frozen(layers) == total(whole).count
    assert frozen(whole) == 0
    assert outside_blocks(layers).count == tied(small(**RANK)) == 0
    stages = [frozen(layers, end) for end in ("first", "last")]
    assert stages == [total(whole, end=end).count for end in ("first", "last")]


@pytest.mark.parametrize(("given", "adapted"), [(RANK, 2), (EVERY, 5), ({**EVERY, "gated": False}, 4)])
def test_gradients_are_those_of_the_adapters_alone(given: dict[str, object], adapted: int) -> None:
    """Two of each adapted product; the number of all elements is that of the trained parameters."""
    work = work_of(**given)
    made = work[has_attribute(work, OF_PARAMETERS)]
    assert len(made) == 3 * 2 * adapted
    assert made["op"].str.contains("/lora_").all()
    trained = total(small(**{**LLAMA, **given})).count
    assert gradient_elements(work).sum() == trained == profile(**{**LLAMA, **given}).workload.parameters
    updated = work[work["phase"] == "optimizer"]
    assert set(updated["block"]) == {0, 1, 2}
    assert not work["op"].str.startswith("embeddings/").mask(work["phase"] == "forward", False).any()


def test_products_lose_the_gradients_of_frozen_weights() -> None:
    """Of dense products a third; adapters of attention add 3 · 2 · r · (k + n) for each token and product."""
    whole, adapted = (work_of(**given) for given in ({}, RANK))
    dense, core = (
        whole.loc[whole["op_class"].isin(MATRIX) & (whole["op"].str.contains("flash") == flash), "flop"].sum()
        for flash in (False, True)
    )
    of_adapters = 3 * 2 * 5 * 32 * 3 * 8 * (64 + 128 + 64 + 64)
    assert adapted.loc[adapted["op_class"].isin(MATRIX), "flop"].sum() == pytest.approx(
        2 / 3 * dense + core + of_adapters
    )


def test_an_adapter_is_scaled_and_added() -> None:
    work = work_of(**RANK)
    forward = work[(work["phase"] == "forward") & work["op"].str.startswith("block_0/attention/output")]
    ends = ["output", "lora_down", "lora_up", "lora_scale", "lora_sum"]
    assert forward["op"].str.split("/").str[-1].tolist() == ends
    assert set(work.loc[work["op"].str.endswith("/lora_sum"), "operator"]) == {"add"}


@pytest.mark.parametrize("split", ["tensor=4", "tensor=4,sequence", "context=2", "pipeline=3", "tensor=2,pipeline=3"])
def test_devices_share_adapted_products(split: str) -> None:
    """As much work together as one device has, but for what each has of the first product of an adapter."""
    read, parsed = profile(**{**WIDE, "lora_rank": 1}), read_split(split)
    part = divided(read, parsed)
    whole, own = (count_work(each.ops, each.workload, each.where).work for each in (read, part))
    flop, of_all = (work.loc[work["op_class"].isin(MATRIX), "flop"].sum() for work in (own, whole))
    assert flop * parsed.stage_devices == pytest.approx(of_all, rel=0.02)
    assert flop * parsed.stage_devices >= of_all * (1 - 1e-9)
    assert part.workload.parameters == gradient_elements(own).sum()
    assert heaviest_stage(read, parsed).share == pytest.approx(1 / parsed.pipeline)
    gathered = own.loc[has_attribute(own, "gather_beside=tensor"), "op"]
    assert set(gathered.str.split("/").str[1:3].str.join("/")) <= {"attention/query_key_value"}


@pytest.mark.parametrize("split", ["data", "zero1", "zero3"])
def test_gradients_of_adapters_travel_and_frozen_weights_are_gathered(split: str) -> None:
    """zero3 gathers all products' weights for both passes, but once those of the head, which both follow each other."""
    read, work = profile(**{**LLAMA, **RANK}), work_of(**RANK)
    sent = exchange(work, read.workload, read_split(split)).messages
    by_operator = sent.groupby("operator")["bytes"].sum()
    trained, all_of = float(total(small(**LLAMA, **RANK)).count), float(frozen(small(**LLAMA, **RANK)))
    if split == "data":
        assert by_operator.to_dict() == {"all_reduce": 4 * trained}
    elif split == "zero1":
        assert by_operator.to_dict() == {"reduce_scatter": 2 * trained, "all_gather": 2 * trained}
    else:
        gathered = sent[sent["operator"] == "all_gather"]["bytes"]
        head = gathered.iloc[3]
        assert by_operator["reduce_scatter"] == 2 * trained
        assert gathered.sum() == pytest.approx(2 * 2 * (trained + all_of) - head)
        assert (sent["bytes"] > 0).all()


def test_memory_holds_frozen_weights_once_and_no_states_of_them() -> None:
    adapted, whole = (
        memory_of_group(profile(**{**LLAMA, **given}), RunPlan("h100", draws=2), read_split("data"), 1).parts
        for given in (RANK, {})
    )
    trained, all_of = total(small(**LLAMA, **RANK)).count, frozen(small(**LLAMA, **RANK))
    assert adapted["parameters"][0] == 2 * all_of + 6 * trained
    assert adapted["optimizer"][0] == 8 * trained
    assert whole["optimizer"][0] == 8 * all_of
    assert adapted["activations"][0] < whole["activations"][0]


def test_copies_that_share_states_hold_gradients_of_a_block_of_adapters() -> None:
    """Two of them, of two bytes each."""
    adapted, whole = (
        memory_of_group(profile(**{**LLAMA, **given}), RunPlan("h100", draws=2), read_split("zero1"), 8).parts
        for given in (RANK, {})
    )
    of_block = total(small(**LLAMA, **RANK)).count / 3
    assert adapted["buckets"][0] == pytest.approx(2 * 2 * of_block * numbers().block.mid)
    assert adapted["buckets"][0] < whole["buckets"][0] / 5


def test_a_gathered_block_has_its_frozen_weights() -> None:
    read, split = profile(**{**LLAMA, **RANK, "hidden_size": 512}), read_split("zero3")
    alone, together = (memory_of_group(read, RunPlan("h100", draws=2), split, devices) for devices in (1, 64))
    assert together.parts["parameters"][0] == pytest.approx(alone.parts["parameters"][0] / 64)
    assert together.parts["buckets"][0] > 2 * 512 * 512  # two bytes of each weight of a block


def test_a_folder_of_adapted_layers_is_read(tmp_path: Path) -> None:
    from estimator.profiles import read_profile

    text = "kind: llama\nblocks: 2\nhidden_size: 64\nheads: 4\nvocabulary: 100\nsequence_length: 16\nlora_rank: 4\n"
    (tmp_path / "layers.yaml").write_text(text)
    workload = read_profile(tmp_path).workload
    assert (workload.parameters, workload.variables) == (2 * 4 * (64 + 192 + 64 + 64), 2 * 4)
    assert workload.frozen_parameters == 2 * (4 * 64 * 64 + 3 * 64 * 256 + 2 * 64) + 64 + 2 * 100 * 64
