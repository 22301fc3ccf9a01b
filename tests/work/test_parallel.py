"""Messages of a data-parallel step: which gradients, in which order, in which buckets."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.parallel import read_split
from estimator.core.types import Profile, Workload
from estimator.profiles import read_profile
from estimator.profiles.layers.shards import divided
from estimator.work import count_work
from estimator.work.gradients import BUCKET_BYTES, FIRST_BUCKET_BYTES, MOST_BUCKETS
from estimator.work.parallel import Exchange, exchange, messages_among_parts, passed_on
from tests.conftest import make_ops


def sent(profile: Profile, split: str = "data") -> Exchange:
    work = count_work(profile.ops, profile.workload, profile.where).work
    return exchange(work, profile.workload, read_split(split))


def layers(*widths: int, batch: int = 32, update: bool = True) -> pd.DataFrame:
    """WORK of dense layers: the forward pass, both gradients from the last layer on, and updates of the weights."""
    pairs = list(itertools.pairwise(widths))
    forward = [{"op_type": "MatMul", "shapes": f"{batch}x{i};{i}x{o}", "phase": "forward"} for i, o in pairs]
    backward = [
        {"op_type": "MatMul", "shapes": shapes, "attributes": f"transpose_{side}=True", "phase": "backward"}
        for i, o in reversed(pairs)
        for shapes, side in ((f"{batch}x{o};{i}x{o}", "b"), (f"{batch}x{i};{batch}x{o}", "a"))
    ]
    updates = [{"op_type": "ResourceApplyAdam", "shapes": f";;;{i}x{o}", "phase": "optimizer"} for i, o in pairs]
    ops = make_ops(*forward, *backward, *(updates if update else []))
    return count_work(ops, Workload(name="t", batch_size=batch)).work


@pytest.mark.parametrize(("precision", "itemsize"), [("bf16", 4), ("fp32", 4), ("fp64", 8)])
def test_gradients_travel_as_training_keeps_the_weights(precision: str, itemsize: int) -> None:
    work = layers(64, 64, 64, update=False).assign(precision=precision)
    step = exchange(work, Workload(name="t", parameters=2 * 64**2), read_split("data"))
    assert step.messages["bytes"].sum() == itemsize * 2 * 64**2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet50", "vgg16", "nt3", "uno", "p3b3", "p1b3/amd-epyc.xplane", "p1b3"])
def test_messages_hold_the_gradients_of_all_parameters(name: str) -> None:
    profile = read_profile(name)
    actual = sent(profile).messages
    assert actual["bytes"].sum() == pytest.approx(4.0 * float(profile.workload.parameters or 0))
    assert actual["ready"].is_monotonic_increasing
    assert (actual["needed"] > actual["ready"].max()).all()


def test_the_last_layer_is_sent_first() -> None:
    work = layers(512, 4096, 4096, 1000)
    actual = exchange(work, Workload(name="t"), read_split("data")).messages
    assert actual["bytes"].tolist() == [4.0 * 4096 * 1000, 4.0 * 4096 * 4096, 4.0 * 512 * 4096]
    assert actual["operator"].unique().tolist() == ["all_reduce"]
    assert actual["needed"].tolist() == [9, 9, 9]  # the first update


def test_small_gradients_share_a_message() -> None:
    actual = exchange(layers(*[1024] * 21), Workload(name="t"), read_split("data")).messages
    assert actual["bytes"].iloc[0] == 4 * 2**20  # the first gradient, larger than the first bucket
    assert len(actual) == pytest.approx(20 * 4 * 2**20 / BUCKET_BYTES, abs=2)
    assert FIRST_BUCKET_BYTES < actual["bytes"].max() < BUCKET_BYTES + 4 * 2**20


def test_a_huge_model_is_sent_in_a_bounded_number_of_messages() -> None:
    actual = exchange(layers(*[256] * 9), Workload(name="t", parameters=10**12), read_split("data")).messages
    assert len(actual) <= MOST_BUCKETS + 1
    assert actual["bytes"].sum() == 4e12


def test_copies_that_have_the_same_share_of_the_states_add_up_its_gradients() -> None:
    work, workload = layers(*[256] * 9), Workload(name="t")
    every, some = (exchange(work, workload, read_split(f"zero3{shard}")).messages for shard in ("", ",shard=8"))
    own = some[some["among"] == "like_shards"]
    shared = some.drop(own.index)
    assert shared.drop(columns="among").values.tolist() == every.drop(columns="among").values.tolist()
    assert set(shared["among"]) == {"shards"}
    reduced = some.loc[own.index - 1]  # each comes behind that in which its gradients are reduced
    assert set(reduced["operator"]) == {"reduce_scatter"}
    assert (own["bytes"].to_numpy() == reduced["bytes"].to_numpy() / 8).all()
    assert own["ready"].tolist() == reduced["ready"].tolist()


def test_gradients_travel_no_wider_than_parameters_are_kept() -> None:
    kept = Workload(name="t", parameters=10**9, parameter_precision="bf16")
    work = layers(*[256] * 9).assign(precision="bf16")
    assert exchange(work, kept, read_split("data")).messages["bytes"].sum() == 2e9


def test_without_known_gradients_they_are_spread_over_the_backward_pass() -> None:
    work = count_work(make_ops(*({"op_type": "Mystery", "time_s": 1.0} for _ in range(30))), Workload(name="t")).work
    actual = exchange(work, Workload(name="t", parameters=10**9), read_split("data"))
    assert actual.messages["bytes"].sum() == pytest.approx(4e9)
    assert actual.messages["ready"].min() >= 9  # the forward pass makes none
    assert actual.messages["ready"].max() == 29
    assert [note.code for note in actual.notes] == ["gradients-unknown"]
    assert actual.assumed_places is not None
    assert actual.messages["bucket"].tolist() == list(range(len(actual.assumed_places)))
    assert actual.assumed_places[-1] == pytest.approx(1.0)


def test_without_parameters_nothing_can_be_sent() -> None:
    work = count_work(make_ops({"op_type": "Mystery", "time_s": 1.0}), Workload(name="t")).work
    with pytest.raises(EstimatorError, match="how many parameters it has; expected 'parameters: 25000000'"):
        exchange(work, Workload(name="t"), read_split("data"))


def test_where_ops_tell_when_gradients_are_made_nothing_is_assumed() -> None:
    assert exchange(layers(64, 64, 64), Workload(name="t"), read_split("data")).assumed_places is None


def test_owners_reduce_and_gather() -> None:
    work = layers(512, 8192, 8192, 8192)
    actual = exchange(work, Workload(name="t"), read_split("zero1")).messages
    assert actual["bucket"].isna().tolist() == [False] * 3 + [True]  # all weights are gathered at once
    assert actual["operator"].tolist() == ["reduce_scatter"] * 3 + ["all_gather"]
    assert actual["bytes"].iloc[-1] == actual["bytes"].iloc[:-1].sum()
    assert actual["ready"].iloc[-1] == len(work) - 1  # the last update
    assert actual["needed"].isna().tolist() == [False] * 3 + [True]


@pytest.mark.parametrize(
    ("split", "copies", "sent"),
    [("zero1", 40, 3), ("zero2", 64, 3), ("zero1", 70, 2), ("zero1,context=2", 70, 1), ("data", 70, 3)],
)
def test_owners_of_many_copies_get_larger_messages(split: str, copies: int, sent: int) -> None:
    """Layers of 4, 67 and 67 million weights: each message has 40 million, and one million for each device."""
    work = layers(512, 8192, 8192, 8192)
    actual = exchange(work, Workload(name="t"), read_split(split), copies).messages
    assert (actual["operator"] != "all_gather").sum() == sent


def test_sharded_weights_are_gathered_for_each_pass() -> None:
    """Twice for the forward and the backward pass, but the last ones, which the backward pass still has."""
    work = layers(512, 4096, 4096, 4096, 1000)
    actual = exchange(work, Workload(name="t"), read_split("fsdp")).messages
    by_operator = actual.groupby("operator")["bytes"].sum()
    whole = 4.0 * (512 * 4096 + 2 * 4096 * 4096 + 4096 * 1000)
    assert by_operator["reduce_scatter"] == whole
    assert by_operator["all_gather"] == 2 * whole - 4.0 * 4096 * 1000
    forward = actual[(actual["operator"] == "all_gather") & actual["needed"].lt(4).fillna(True)]
    assert forward["needed"].tolist() == [0, 1, 2, 3]
    assert forward["ready"].isna().tolist() == [True, True, False, False]  # one bucket ahead
    assert (actual["needed"].dropna() > actual["ready"].fillna(-1)[actual["needed"].notna()]).all()


def test_frozen_weights_are_gathered_of_ops_without_shapes_too() -> None:
    work = count_work(make_ops(*({"op_type": "Mystery", "time_s": 1.0} for _ in range(30))), Workload(name="t")).work
    workload = Workload(name="t", parameters=10**6, frozen_parameters=10**9)
    actual = exchange(work, workload, read_split("zero3")).messages
    by_operator = actual.groupby("operator")["bytes"].sum()
    assert by_operator["reduce_scatter"] == pytest.approx(4e6)
    assert 4.004e9 < by_operator["all_gather"] <= 2 * 4.004e9


@pytest.mark.parametrize("precision", ["bf16", "fp8"])
def test_divided_states_travel_in_the_format_in_which_products_are_stored(precision: str) -> None:
    work = layers(512, 512, 512)
    narrow = work.assign(precision=work["precision"].mask(work["op_class"] == "gemm", precision))
    sizes = {
        split: exchange(narrow, Workload(name="t"), read_split(split)).messages["bytes"].sum()
        for split in ("data", "zero1")
    }
    assert sizes["zero1"] == sizes["data"]  # two bytes, sent and gathered
    assert exchange(work, Workload(name="t"), read_split("zero1")).messages["bytes"].sum() == 2 * sizes["data"]


def test_a_dump_without_order_has_its_gradients_after_its_forward_pass() -> None:
    """The lecture's table sorts ops by name: gradients stand before the products that they belong to."""
    profile = read_profile("p1b3")
    work = count_work(profile.ops, profile.workload, profile.where).work
    actual = exchange(work, profile.workload, read_split("data")).messages
    assert set(work["phase"].iloc[actual["ready"].to_numpy(dtype=int)]) == {"backward"}
    assert np.isfinite(actual["bytes"]).all()


MIXTURE = """
kind: llama
blocks: 4
hidden_size: 64
heads: 4
vocabulary: 1000
sequence_length: 32
precision: bf16
micro_batch: 2
"""
EXPERTS = """
experts: 8
experts_per_token: 4
"""


def of_layers(folder: Path, text: str) -> tuple[pd.DataFrame, Workload]:
    (folder / "layers.yaml").write_text(text)
    profile = read_profile(folder)
    return count_work(profile.ops, profile.workload, profile.where).work, profile.workload


@pytest.mark.parametrize("experts", ["", EXPERTS], ids=["dense", "mixture"])
def test_a_stage_passes_each_token_on_once(tmp_path: Path, experts: str) -> None:
    """Batch × sequence × hidden size, in bf16, however many experts each token goes to."""
    work, _ = of_layers(tmp_path, MIXTURE + experts)
    assert passed_on(work, read_split("pipeline=2"))["bytes"].tolist() == [2 * 32 * 64 * 2]


def test_keys_and_values_go_around_and_back_with_their_gradients(tmp_path: Path) -> None:
    """Two tensors of batch × whole sequence × heads of keys × size, in bf16."""
    (tmp_path / "layers.yaml").write_text(MIXTURE + "key_value_heads: 2\n")
    part = divided(read_profile(tmp_path), read_split("context=4"))
    work = count_work(part.ops, part.workload, part.where).work
    messages = messages_among_parts(work)
    assert set(messages["bytes"]) == {2 * (2 * 32 * 2 * 16) * 2}
    assert set(messages["among"]) == {"context"}
    assert messages["operator"].value_counts().to_dict() == {"all_gather": 2 * 4, "reduce_scatter": 4}
    beside = messages["needed"] - messages["ready"]
    assert set(beside) == {2}
    assert set(work["op_class"].iloc[messages["ready"] + 1]) == {"attention"}


def test_sharded_weights_travel_by_the_blocks_of_a_model(tmp_path: Path) -> None:
    """Zhao et al., PyTorch FSDP, VLDB 2023, section 3; what is all-reduced keeps its buckets."""
    work, workload = of_layers(tmp_path, MIXTURE)
    actual = exchange(work, workload, read_split("zero3")).messages
    assert actual["operator"].value_counts().to_dict() == {"all_gather": 2 * 6 - 1, "reduce_scatter": 6}
    gathered = actual[actual["operator"] == "all_gather"]
    assert len(set(gathered["bytes"])) == 3  # a block, the head, and the embedding with all norms
    forward, backward = gathered.iloc[:6], gathered.iloc[6:]
    assert set(work["phase"].iloc[forward["needed"].to_numpy(dtype=int)]) == {"forward"}
    assert set(work["phase"].iloc[backward["needed"].to_numpy(dtype=int)]) == {"backward"}
    first = int(backward["ready"].iloc[0])  # the block behind is gathered while the head's gradients are made
    assert work["phase"].iloc[[first, first + 1]].tolist() == ["forward", "backward"]
    assert len(exchange(work, workload, read_split("data")).messages) == 2


def test_what_no_product_makes_is_made_behind_the_blocks(tmp_path: Path) -> None:
    work, workload = of_layers(tmp_path, MIXTURE)
    last = int(exchange(work, workload, read_split("data")).messages["ready"].iloc[-1])
    assert work["phase"].iloc[[last, last + 1]].tolist() == ["backward", "optimizer"]
