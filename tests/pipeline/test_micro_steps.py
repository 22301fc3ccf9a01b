"""A group's step from one micro-batch: on one device, through stages, and with divided products."""

import dataclasses
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from estimator.core.parallel import DataWord, Split
from estimator.core.scenarios import Host
from estimator.core.schema import MESSAGES
from estimator.core.types import Network, RunPlan, StepTime
from estimator.pipeline.alone import step_of_one
from estimator.pipeline.group_steps import steps_of_groups
from estimator.pipeline.micro_steps import BetweenStages, MicroBatch, MicroBatches
from estimator.pipeline.predicted_step import PredictedStep
from estimator.pipeline.step import predict_step
from estimator.profiles import read_profile
from estimator.profiles.layers.shards import HeaviestStage, divided, heaviest_stage
from estimator.rollup.scaling import NO_SPREAD, GroupStep, Scaling, group_of
from estimator.work.parallel import exchange, passed_on, tied_gradients

NETWORK = Network.model_validate({"linked_devices": 8, "interconnect": "InfiniBand", "injection_bandwidth": "200 GB/s"})


SMALL = """
kind: llama
blocks: 4
hidden_size: 256
heads: 4
vocabulary: 1000
sequence_length: 128
precision: bf16
"""  # so small that the host's launches take longer than its ops


@cache
def on_machine(
    split: Split, batch: int, workload: str = "bert-large", host: Host = "none", precision: str | None = None
) -> tuple[PredictedStep, StepTime]:
    """The step of one micro-batch on one device of a machine; BERT's, without a host."""
    profile = divided(read_profile(workload), split)
    step = predict_step(profile, RunPlan("a100-sxm4-80gb", batch=batch, draws=10, host=host, precision=precision))
    device = step.target.device.model_copy(update={"network": NETWORK})
    target = dataclasses.replace(step.target, device=device)
    step = dataclasses.replace(step, devices=step.devices._replace(target=target))
    return step, step_of_one(step)


def of_group(split: Split, devices: int, batch: int, scaling: Scaling = "weak") -> GroupStep:
    """The mid of its step where no device is slower than others."""
    predicted, one = on_machine(split, split.micro_batch or batch)
    group = group_of(devices, 8, scaling, batch, split)
    return steps_of_groups(predicted, one, [group], split, NO_SPREAD)[0]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("small")
    (folder / "layers.yaml").write_text(SMALL)
    return str(folder)


def of_host(workload: str, split: Split, devices: int, batch: int) -> GroupStep:
    """The step of a group whose host launches."""
    predicted, one = on_machine(split, split.micro_batch or batch, workload, None)
    return steps_of_groups(predicted, one, [group_of(devices, 8, "weak", batch, split)], split, NO_SPREAD)[0]


def total_s(split: Split, devices: int, batch: int) -> float:
    return float(of_group(split, devices, batch).step.total[0])


def test_micro_batches_on_one_device_repeat_all_but_the_update() -> None:
    one_s, four_s = total_s(Split(micro_batch=8), 1, 8), total_s(Split(micro_batch=8), 1, 32)
    assert 3.5 * one_s < four_s < 4 * one_s


@pytest.mark.slow
def test_gradients_are_exchanged_once_and_weights_gathered_each_time() -> None:
    communication_s = {
        (data, batch): float(of_group(Split(data, micro_batch=8), 8, batch).communication_s[0])
        for data in ("data", "zero3")
        for batch in (8, 32)
    }
    assert communication_s["data", 32] == pytest.approx(communication_s["data", 8])
    assert communication_s["zero3", 32] == pytest.approx(4 * communication_s["zero3", 8])


@pytest.mark.slow
def test_gradients_are_compressed_once_a_step_and_for_each_exchange_of_sharded_weights() -> None:
    def coded_s(data: DataWord, batch: int) -> float:
        plain, narrow = (of_group(Split(data, micro_batch=8, gradients=to), 8, batch) for to in (None, "bf16"))
        return float((narrow.step.total - plain.step.total)[0])

    assert coded_s("data", 32) == pytest.approx(coded_s("data", 8), rel=0.2)
    assert coded_s("zero3", 32) > 2 * coded_s("zero3", 8)


@pytest.mark.slow
def test_divided_products_are_faster_by_less_than_their_devices() -> None:
    whole_s, four_s = total_s(Split(), 1, 32), total_s(Split(tensor=4), 4, 32)
    assert whole_s / 4 < four_s < whole_s


@pytest.mark.parametrize("batch", [1, 8, 32])
def test_results_of_divided_products_are_those_of_the_whole_batch(batch: int) -> None:
    """Shoeybi et al., 2019, section 3: batch × sequence × hidden size; here 512 tokens, 1024 wide, in fp32."""
    predicted, _ = on_machine(Split(tensor=4), batch)
    messages = exchange(predicted.work.work, predicted.profile.workload, Split(tensor=4)).messages
    summed = messages[messages["among"] == "tensor"]
    of_tokens, of_predictions = (batch * tokens * 1024 * 4 for tokens in (512, 80))
    assert summed["bytes"].tolist().count(of_tokens) == 4 * 24 + 1  # and the embedding
    assert summed["bytes"].tolist().count(of_predictions) == len(summed) - (4 * 24 + 1) == 1  # gradient of the logits
    assert set(passed_on(predicted.work.work, Split(pipeline=4))["bytes"]) == {batch * 512 * 1024 * 4}


def test_a_scatter_and_a_gather_are_as_large_as_the_sum() -> None:
    """Korthikanti et al., 2022, section 4.2.2: the volume of an all-reduce, and one more gather backward."""
    summed, shared = (
        exchange(predicted.work.work, predicted.profile.workload, split).messages.query("among == 'tensor'")
        for split in (Split(tensor=4), Split(tensor=4, sequence=True))
        for predicted in [on_machine(split, 8)[0]]
    )
    size = 8 * 512 * 1024 * 4
    counts = {name: int((rows["bytes"] == size).sum()) for name, rows in shared.groupby("operator")}
    sums = int((summed["bytes"] == size).sum())
    assert counts["reduce_scatter"] == sums
    assert counts["all_gather"] == sums + 2 * 24 + 1  # two a block once more, and the head's


@pytest.mark.slow
def test_shared_tokens_make_a_shorter_step() -> None:
    plain, shared = (of_group(Split(tensor=8, sequence=sequence), 8, 32).step.total[0] for sequence in (False, True))
    assert 0.7 * plain < shared < plain


@pytest.mark.slow
def test_messages_that_overlap_with_products_make_a_shorter_step() -> None:
    """All bytes travel as without; what a product does not hide stays, as do the messages of embeddings and head."""
    plain, hidden = (of_group(Split(tensor=8, sequence=True, overlap=overlap), 8, 32) for overlap in (False, True))
    assert hidden.communication_s[0] == pytest.approx(plain.communication_s[0])
    least = float(plain.step.total[0] - plain.communication_s[0])
    assert least < hidden.step.total[0] < plain.step.total[0]


@pytest.mark.slow
def test_parts_of_a_product_send_a_part_each_to_the_next_stage() -> None:
    """Narayanan et al., 2021, section 4.1."""
    size = 8 * 512 * 1024 * 4
    for split, expected in {
        Split(pipeline=4): [("send_recv", size)],
        Split(tensor=4, pipeline=4): [("send_recv", size / 4), ("all_gather", size)],
        Split(tensor=4, pipeline=4, sequence=True): [("send_recv", size / 4)],
    }.items():
        sent = passed_on(on_machine(split, 8)[0].work.work, split)
        assert list(zip(sent["operator"], sent["bytes"], strict=True)) == expected


@pytest.mark.slow
def test_owners_update_their_share() -> None:
    """Rajbhandari et al., ZeRO, 2020: each copy updates 1 / N of the weights."""
    own_s = {
        (data, devices): float((step.total - step.communication_exposed)[0])
        for data in ("data", "zero1")
        for devices in (2, 8)
        for step in [of_group(Split(data), devices, 8).step]
    }
    assert own_s["data", 2] == pytest.approx(own_s["data", 8])
    update_s = own_s["data", 2] - own_s["zero1", 2]  # half of it
    assert update_s > 0
    assert own_s["data", 8] - own_s["zero1", 8] == pytest.approx(2 * update_s * 7 / 8)


@pytest.mark.parametrize("data", ["data", "zero1", "zero2", "zero3"])
def test_no_owners_shorten_a_step_that_the_host_launches(small: str, data: DataWord) -> None:
    """Each copy updates its share of the weights, with as many launches."""
    steps_s = [float(of_host(small, Split(data), devices, 1).step.total[0]) for devices in (1, 2, 8, 64)]
    assert steps_s == sorted(steps_s)


def test_micro_batches_that_the_host_launches_have_one_update(small: str) -> None:
    """Of each further micro-batch the host launches both passes."""
    split = Split("zero1", micro_batch=1)
    one_s, four_s = (float(of_host(small, split, 1, batch).step.total[0]) for batch in (1, 4))
    predicted, _ = on_machine(split, 1, small, None)
    of_update = float((predicted.work.work["phase"] == "optimizer").mean())
    assert 0 < of_update < 1
    assert four_s == pytest.approx((4 - 3 * of_update) * one_s)
    many_s = float(of_host(small, split, 8, 4).step.total[0])
    assert four_s <= many_s < four_s + one_s


def test_copies_of_one_node_share_its_way_to_others() -> None:
    """With the model on 8 devices, 8 reductions of an eighth leave a node at once."""
    whole, divided_s = (of_group(Split(tensor=count), 16, 8).communication_s[0] for count in (1, 8))
    assert divided_s > 0.8 * whole


@pytest.mark.slow
def test_products_divided_among_nodes_wait_longer() -> None:
    inside, across = (of_group(Split(tensor=count), count, 32) for count in (8, 16))
    assert across.communication_s[0] > 1.2 * inside.communication_s[0]


@pytest.mark.slow
def test_the_bubble_shrinks_with_micro_batches() -> None:
    per_sample = [total_s(Split(pipeline=4, micro_batch=4), 4, 4 * count) / count for count in (1, 4, 16)]
    assert per_sample[0] > 2 * per_sample[1]
    assert per_sample[1] > 1.2 * per_sample[2]


def test_interleaved_stages_shrink_the_bubble_and_send_more() -> None:
    plain, interleaved = (
        of_group(Split(pipeline=4, micro_batch=4, interleave=runs), 4, 32) for runs in (1, 3)
    )  # fmt: skip
    assert interleaved.step.total[0] < plain.step.total[0]
    assert interleaved.communication_s[0] > 2 * plain.communication_s[0]


def test_stages_compute_their_share() -> None:
    actual = of_group(Split(pipeline=4, micro_batch=4), 4, 64).step
    whole_s = total_s(Split(micro_batch=4), 1, 64)
    assert float((actual.total - actual.communication_exposed)[0]) == pytest.approx(whole_s / 4)
    assert np.isclose(sum(part[0] for part in actual.parts().values()), actual.total[0])


@pytest.mark.slow
def test_stages_share_the_casts_of_all_weights() -> None:
    """256 micro-batches cast BERT's weights 256 times: on one device all of them, on each of four stages a quarter."""
    alone_s, staged_s = (
        float(steps_of_groups(*on_machine(split, 1, precision="bf16"), [group], split, NO_SPREAD)[0].step.total[0])
        for split in (Split(micro_batch=1), Split(pipeline=4, micro_batch=1))
        for group in [group_of(split.pipeline, 8, "weak", 256, split)]
    )
    assert staged_s == pytest.approx(alone_s / 4, rel=0.12)  # the head lies on one stage


@pytest.mark.slow
def test_the_fullest_stage_sets_the_pace() -> None:
    """Of 24 blocks, 10 stages have 2 or 3, and 8 stages 3 each: 128 micro-batches take as long."""
    eight, ten = (of_group(Split(pipeline=stages, micro_batch=1), stages, 128) for stages in (8, 10))
    assert ten.step.total[0] == pytest.approx(eight.step.total[0], rel=0.03)


def test_the_heaviest_stage_ends_the_update_and_its_reduction() -> None:
    """BERT's last stage has 2 of 24 blocks, a table, a transform and a pooler: of 336.2 million parameters 25.2 +
    31.3 + 1.05 + 1.05, and not 1/12.
    """
    split = Split(pipeline=12, micro_batch=4)
    predicted, one = on_machine(split, 4)
    alone = MicroBatch(predicted, one, split)
    update_s = float((alone.own_update(group_of(12, 8, "weak", 4, split)).whole_s - alone.passes_s)[0])
    assert alone.heaviest.share == pytest.approx(58.6 / 336.2, rel=0.001)
    even = dataclasses.replace(alone, predicted=predicted)
    even.__dict__["heaviest"] = HeaviestStage(1 / 12, 1 / 12, alone.heaviest.tied, 1 / 12)
    found_s, even_s = (
        MicroBatches(each, MESSAGES.empty(), np.ones(11)).total_s(
            group_of(12, 8, "weak", 4, split), each.own_update(group_of(12, 8, "weak", 4, split)), np.empty((11, 0)),
            BetweenStages(np.zeros(11), np.zeros(11)),
        )
        for each in (alone, even)
    )  # fmt: skip
    assert float((found_s - even_s)[0]) == pytest.approx((alone.heaviest.share - 1 / 12) * update_s)


def test_both_ends_add_up_the_gradients_of_a_tied_table() -> None:
    """30522 × 1024 gradients in fp32, once a step; zero1 sends them as its products are. Megatron-LM."""
    predicted, _ = on_machine(Split(pipeline=4), 8)
    heaviest = heaviest_stage(predicted.profile, Split(pipeline=4))
    sent = tied_gradients(predicted.work.work, predicted.profile.workload, heaviest.tied, Split(pipeline=4))
    assert sent[["operator", "among"]].to_numpy().tolist() == [["all_reduce", "stages"]]
    assert sent["bytes"].tolist() == [30522 * 1024 * 4]


def test_a_tied_table_lengthens_the_step_by_its_exchange(tmp_path: Path) -> None:
    """Of 50 000 × 256 gradients of 4 bytes, which two devices add up; the untied model has as large a table twice."""
    sent_s = {}
    for tied in (True, False):
        folder = tmp_path / str(tied)
        folder.mkdir()
        (folder / "layers.yaml").write_text(f"{SMALL.replace('1000', '50000')}tied_embeddings: {str(tied).lower()}\n")
        sent_s[tied] = of_host(str(folder), Split(pipeline=2, micro_batch=1), 2, 2).communication_s[0]
    least_s = 50_000 * 256 * 4 / 300e9  # over NVLink, one direction
    assert least_s < sent_s[True] - sent_s[False] < 3 * least_s
