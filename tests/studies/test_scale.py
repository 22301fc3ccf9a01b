"""A profile on more and more devices of a machine."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.parallel import WHOLE, Split, read_split
from estimator.core.types import Profile, RunPlan
from estimator.devices import load_system
from estimator.pipeline import alone
from estimator.pipeline.alone import one_device
from estimator.pipeline.predicted_step import PredictedStep
from estimator.pipeline.step import predict_step
from estimator.profiles import read_profile
from estimator.profiles.layers.parameters import of_block, outside_blocks
from estimator.profiles.layers.shards import layers_of
from estimator.rollup.power import node_overhead
from estimator.rollup.scaling import Scaling
from estimator.studies.scale import NO_POWER, POWER, scale

PLAN = RunPlan("", draws=50)
MACHINE = """
name: cluster
device: v100-sxm2-16gb
nodes: {nodes}
devices_per_node: 4
interconnect: {interconnect}
injection_bandwidth: {rate}
"""


def run(
    name: str = "vgg16", system: str | Path = "summit", devices: tuple[int, ...] = (1, 6, 96), split: str = "data",
    scaling: Scaling = "weak", plan: RunPlan = PLAN, others: Sequence[str] = (),
) -> dict[str, Any]:  # fmt: skip
    splits = [read_split(each) for each in (split, *others)]
    return scale(shipped(name), load_system(system), devices, plan, splits, scaling)


@cache
def shipped(name: str) -> Profile:
    return read_profile(name)


@pytest.fixture
def cluster(tmp_path: Path) -> Any:
    def write(rate: str, interconnect: str = "InfiniBand", nodes: int = 64) -> Path:
        path = tmp_path / "cluster.yaml"
        path.write_text(MACHINE.format(rate=rate, interconnect=interconnect, nodes=nodes))
        return path

    return write


@pytest.mark.slow
def test_more_devices_make_no_step_of_fixed_local_batch_shorter() -> None:
    rows = run(devices=(1, 2, 6, 7, 48, 384, 3072))["rows"]
    steps = [row["step_s"]["mid"] for row in rows]
    assert steps == sorted(steps)
    assert rows[0]["efficiency"]["mid"] == 1.0
    assert all(0.1 < row["efficiency"]["mid"] <= 1.0 for row in rows)
    assert [row["nodes"] for row in rows] == [1, 1, 1, 2, 8, 64, 512]


@pytest.mark.slow
@pytest.mark.parametrize(
    "split", ["data", "zero1", "data,micro=1", "data,micro=4", "zero3,micro=2", "data,pipeline=2,micro=2"]
)
def test_no_step_is_predicted_below_its_floor(split: str, tmp_path: Path) -> None:
    """So that a timed step which is the program's own prediction is never doubted."""
    profile, plan, machine = shipped("gpt2"), RunPlan("", batch=8, draws=50), load_system("dgx-a100")
    (row,) = scale(profile, machine, [8], plan, [read_split(split)], "weak")["rows"]
    path = tmp_path / "steps.csv"
    path.write_text(f"devices,step_s\n8,{row['step_s']['low']}\n")
    actual = scale(profile, machine, [8], plan, [read_split(split)], "weak", path)
    assert not any("shorter than the device's peak" in text for text in actual["warnings"])


@pytest.mark.slow
def test_several_splits_are_what_each_gives_and_share_the_step_of_one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    splits, predicted = ("data", "zero3", "data,micro=8"), list[int | None]()
    apart = [run(split=split, plan=replace(PLAN, batch=16)) for split in splits]

    def count(profile: Profile, plan: RunPlan) -> PredictedStep:
        predicted.append(plan.batch)
        return predict_step(profile, plan)

    monkeypatch.setattr(alone, "predict_step", count)
    together = run(others=splits[1:], plan=replace(PLAN, batch=16))
    assert together["rows"] == [row for document in apart for row in document["rows"]]
    assert [row["parallel"] for row in together["rows"][::3]] == [*splits]
    assert together["parallel"] == "data and zero3 and data,micro=8"
    assert sorted(predicted, key=str) == [16, 8]
    assert len(set(together["notes"])) == len(together["notes"])
    assert set(together["notes"]) == {note for document in apart for note in document["notes"]}
    assert run(others=("data",), plan=replace(PLAN, batch=16)) == apart[0]


@pytest.mark.slow
def test_samples_per_second_are_those_of_all_devices() -> None:
    row = run(plan=RunPlan("", draws=50, batch=16))["rows"][-1]
    assert (row["local_batch"], row["global_batch"]) == (16, 1536)
    assert row["samples_per_s"]["mid"] == pytest.approx(1536 / row["step_s"]["mid"])


@pytest.mark.slow
def test_a_slower_network_exposes_more(cluster: Any) -> None:
    exposed = [
        run(system=cluster(rate), devices=(64,))["rows"][0]["communication_exposed_s"]["mid"]
        for rate in ("100 GB/s", "10 GB/s", "1 GB/s")
    ]
    assert exposed == sorted(exposed)
    assert exposed[-1] > 0.3  # half a gigabyte of gradients, there and back


def test_a_link_that_is_not_given_is_noted_to_be_assumed(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "x1.yaml").write_text("name: x1\npeak: {fp32: 10 TFLOP/s}\nmemory_bandwidth: 500 GB/s\n")
    path = cluster("25 GB/s")
    path.write_text(path.read_text().replace("v100-sxm2-16gb", "x1.yaml"))
    words = "x1 gives no link: messages within a node are taken to pass PCI Express of generation 4 (assumed)"
    for devices, is_said in (((1,), False), ((1, 4), True)):
        notes = run(system=path, devices=devices)["notes"]
        assert any(text.startswith(words) for text in notes) is is_said


@pytest.mark.slow
def test_a_network_that_nobody_gave_widens_the_interval(cluster: Any) -> None:
    """Theirs alone: one node knows nothing of it. The middle is that of the same network, given."""
    path = cluster("25 GB/s")
    known = run(system=path, devices=(4, 64), plan=RunPlan("", draws=400))
    path.write_text(path.read_text().replace("injection_bandwidth: 25 GB/s", ""))
    assumed = run(system=path, devices=(4, 64), plan=RunPlan("", draws=400))
    (one_known, known_s), (one_assumed, assumed_s) = (
        [row["step_s"] for row in each["rows"]] for each in (known, assumed)
    )
    assert one_known == one_assumed
    assert known_s["mid"] == pytest.approx(assumed_s["mid"])
    assert assumed_s["high"] / assumed_s["low"] > 1.1 * known_s["high"] / known_s["low"]
    assert any("drawn from 8.3 to 400 GB/s" in text for text in assumed["notes"])
    assert not any("drawn from 8.3 to 400 GB/s" in text for text in known["notes"])


@pytest.mark.slow
@pytest.mark.parametrize("split", ["data,gradients=fp16", "data,top=0.01", "zero3,gradients=bf16"])
def test_compressed_gradients_make_no_step_shorter_on_more_devices(split: str) -> None:
    rows = run(devices=(1, 2, 6, 7, 48, 384, 3072), split=split)["rows"]
    steps = [row["step_s"]["mid"] for row in rows]
    assert steps == sorted(steps)


@pytest.mark.slow
def test_compressed_gradients_help_where_links_are_slow_alone(cluster: Any) -> None:
    """Steps that are long, over links that are fast, hide what these send, but nothing hides the casts."""
    large = RunPlan("", draws=50, batch=128)
    slow, fast = (
        [
            run(system=cluster(rate), devices=(64,), split=split, plan=large)["rows"][0]["step_s"]["mid"]
            for split in ("data", "data,gradients=fp16", "data,top=0.001")
        ]
        for rate in ("1 GB/s", "100 GB/s")
    )
    assert slow[2] < slow[1] < 0.75 * slow[0]
    assert fast[0] < fast[1] < 1.1 * fast[0]


@pytest.mark.slow
def test_gradients_that_are_not_sent_are_kept() -> None:
    plain, kept = (run(devices=(6,), split=split)["rows"][0]["memory_bytes"] for split in ("data", "top=0.01"))
    assert kept["optimizer"] - plain["optimizer"] == pytest.approx(plain["parameters"])  # of VGG-16, in fp32
    assert kept["activations"] == plain["activations"]


@pytest.mark.slow
def test_messages_through_sockets_are_slower(cluster: Any) -> None:
    rdma, tcp = (
        run(system=cluster("25 GB/s", name), devices=(64,))["rows"][0]["communication_s"]["mid"]
        for name in ("InfiniBand", "200GbE with TCP/IP")
    )
    assert tcp > 5 * rdma


@pytest.mark.slow
def test_strong_scaling_divides_the_batch() -> None:
    document = run(devices=(1, 4, 16), scaling="strong", plan=RunPlan("", draws=50, batch=64))
    assert [row["local_batch"] for row in document["rows"]] == [64, 16, 4]
    assert [row["global_batch"] for row in document["rows"]] == [64] * 3
    efficiencies = [row["efficiency"]["mid"] for row in document["rows"]]
    assert efficiencies == sorted(efficiencies, reverse=True)


@pytest.mark.slow
def test_owners_send_as_much_as_an_all_reduce() -> None:
    plain, owners = (
        run(devices=(96,), split=split)["rows"][0]["communication_s"]["mid"] for split in ("data", "zero1")
    )
    assert owners == pytest.approx(plain, rel=0.1)


def test_devices_of_a_node_that_a_training_does_not_use_are_idle(cluster: Any) -> None:
    system = load_system(cluster("25 GB/s"))
    one = one_device(predict_step(read_profile("p1b3"), replace(PLAN, target=system.device)))
    assert one.power_w is not None
    assert one.idle_w is not None
    node_w = node_overhead(4, 300.0, system)[1]
    row = run("p1b3", cluster("25 GB/s"), devices=(1,))["rows"][0]
    assert row["power_w"]["mid"] == pytest.approx(one.power_w[0] + 3 * one.idle_w + node_w)


def test_a_device_without_a_power_limit_has_its_share_of_its_machines_listed_power() -> None:
    document = run("p1b3", "alps", devices=(4,))
    (row,) = document["rows"]
    assert 4 * 50 < row["power_w"]["mid"] < 4 * 1000
    assert row["energy_j_per_step"]["mid"] > 0
    assert any("a share of the listed power of alps" in note for note in document["notes"])


def test_where_nothing_tells_a_power_limit_a_note_says_so() -> None:
    document = run("p1b3", "isambard-ai", devices=(4,))
    assert document["rows"][0]["power_w"] is None
    assert NO_POWER in document["notes"]
    assert POWER not in document["notes"]


def test_what_the_devices_file_leaves_open_is_noted() -> None:
    notes = run("resnet50", "isambard-ai", devices=(4,))["notes"]
    assert not any("compute_units" in note for note in notes)
    of_gb200 = [note for note in run("resnet50", "gb200-nvl72", devices=(4,))["notes"] if "compute_units" in note]
    assert of_gb200 == [
        "gb200: compute_units = 184 is assumed (its file gives none: 80 TFLOP/s / (256 FLOP · 1.70 GHz))"
    ]


def test_by_default_powers_of_two_and_the_whole_machine_are_shown(cluster: Any) -> None:
    document = run(system=cluster("25 GB/s", nodes=3), devices=())
    assert [row["devices"] for row in document["rows"]] == [1, 2, 4, 8, 12]


def test_a_profile_of_unknown_parameters_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("op,op_class,time_s\nx,elementwise,0.1\n")
    with pytest.raises(EstimatorError, match="tells how many parameters it has"):
        run(str(table), devices=(2,))


@pytest.mark.slow
@pytest.mark.parametrize("split", ["tensor=4,sequence", "tensor=2,sequence,pipeline=4,interleave=3,micro=2,top=1%"])
def test_more_copies_of_a_divided_model_make_no_step_shorter(split: str) -> None:
    plan = RunPlan("", batch=16, draws=20)
    rows = scale(shipped("gpt2"), load_system("selene"), [8, 16, 64, 1024], plan, [read_split(split)], "weak")["rows"]
    steps = [row["step_s"]["mid"] for row in rows]
    assert steps == sorted(steps)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "devices", "tensor", "batch", "precision"),
    [("tpu-v4-pod", (4, 8, 16, 64), 4, 8, "bf16"), ("summit", (2, 4, 6, 12), 2, 2, "fp16")],
)
def test_more_copies_of_a_divided_model_make_no_step_shorter_over_links_of_pairs(
    system: str, devices: tuple[int, ...], tensor: int, batch: int, precision: str
) -> None:
    """Whose parts have the links to each other alone, whoever else is in their node."""
    plan = RunPlan("", draws=50, batch=batch, precision=precision)
    rows = run("gpt2", system, devices, f"tensor={tensor}", plan=plan)["rows"]
    steps = [row["step_s"]["mid"] for row in rows]
    assert steps == sorted(steps)


MIXTURE = """
kind: gpt
blocks: 4
hidden_size: 1024
heads: 16
vocabulary: 10000
sequence_length: 512
experts: 16
experts_per_token: 2
"""


@pytest.mark.slow
def test_shared_experts_on_more_and_more_devices(tmp_path: Path) -> None:
    """Copies that share experts among nodes wait longer for each other's tokens, and hold less."""
    (tmp_path / "layers.yaml").write_text(MIXTURE)
    selene, plan = load_system("selene"), RunPlan("", batch=4, draws=50)
    rows = scale(read_profile(tmp_path), selene, [8, 16, 64, 512], plan, [Split(experts=8)], "weak")["rows"]
    steps = [row["step_s"]["mid"] for row in rows]
    assert steps == sorted(steps)
    (wide,) = scale(read_profile(tmp_path), selene, [64], plan, [Split(experts=16)], "weak")["rows"]
    assert wide["memory_bytes"]["parameters"] < rows[2]["memory_bytes"]["parameters"]
    assert [
        row["devices"] for row in scale(read_profile(tmp_path), selene, [], plan, [Split(experts=8)], "weak")["rows"]
    ][:2] == [8, 16]


@pytest.mark.slow
def test_states_shared_within_nodes_take_thousands_of_devices_less_time(tmp_path: Path) -> None:
    (tmp_path / "layers.yaml").write_text(MIXTURE.partition("experts")[0])
    selene, plan = load_system("selene"), RunPlan("", batch=4, draws=50)
    splits = [read_split("zero3"), read_split("zero3,shard=8")]
    every, some = scale(read_profile(tmp_path), selene, [4096], plan, splits, "weak")["rows"]
    assert some["step_s"]["mid"] < every["step_s"]["mid"]
    assert some["memory_bytes"]["optimizer"] == pytest.approx(512 * every["memory_bytes"]["optimizer"])


@pytest.mark.slow
def test_a_divided_model_needs_less_memory_of_each_device() -> None:
    gpt2, selene = shipped("gpt2"), load_system("selene")
    whole, divided = (
        scale(gpt2, selene, [8], RunPlan("", batch=8, draws=20), [split], "weak")["rows"][0]
        for split in (Split(), Split(tensor=2, pipeline=4, micro_batch=2))
    )
    of_stage = outside_blocks(layers_of(gpt2), "last").count + 3 * of_block(layers_of(gpt2)).count
    assert divided["memory_bytes"]["parameters"] == pytest.approx(6 * of_stage / 2, rel=1e-3)  # biases are not divided
    assert whole["memory_bytes"]["parameters"] > 4 * divided["memory_bytes"]["parameters"]
    assert whole["efficiency"]["mid"] > divided["efficiency"]["mid"]
    assert (divided["local_batch"], divided["global_batch"]) == (8, 8)


@pytest.mark.slow
def test_micro_batches_keep_the_gradients_of_all_parameters() -> None:
    gpt2, selene = shipped("gpt2"), load_system("selene")
    one, four = (
        scale(gpt2, selene, [1], RunPlan("", batch=16, draws=20), [Split(micro_batch=size)], "weak")["rows"][0]
        for size in (16, 4)
    )
    parameters = 124_439_808  # of GPT-2; Radford et al., 2019, and openai/gpt-2
    assert four["memory_bytes"]["gradients"] >= 4 * parameters
    assert four["memory_bytes"]["activations"] < one["memory_bytes"]["activations"]


SENT = """op_type,op_class,phase,precision,placement,m,n,k,calls,time_s,bytes,ranks
MatMul,gemm,forward,fp32,gpu:0,2048,2048,2048,4,0.5,,
{sums}
MatMul,gemm,backward,fp32,gpu:0,2048,2048,2048,4,0.5,,
all_reduce,collective,backward,fp32,gpu:0,,,,1,0.2,80000000,8
"""
SUMS = "all_reduce,collective,forward,fp32,gpu:0,,,,2,0.1,4000000,4"


def of_ranks(folder: Path, devices: Sequence[int] = (), sums: str = "") -> dict[str, Any]:
    """A profile of one of 8 copies, of which sums make 4 ranks each, on summit."""
    (folder / "dump.csv").write_text(SENT.format(sums=sums).replace("\n\n", "\n"))
    plan = RunPlan("v100", source="v100", batch=16, draws=20)
    profile = replace(read_profile(folder / "dump.csv", batch=16), world_size=32 if sums else None)
    return scale(profile, load_system("summit"), devices, plan, [WHOLE], "weak")


@pytest.mark.slow
def test_the_profile_of_a_rank_sends_its_own_messages_whatever_the_parameters(tmp_path: Path) -> None:
    document = of_ranks(tmp_path, [1, 2, 8, 64])
    one, two, *_ = document["rows"]
    assert one["communication_s"]["mid"] == 0
    assert two["communication_s"]["mid"] > 0
    assert [row["global_batch"] for row in document["rows"]] == [16, 32, 128, 1024]
    assert "the profile is of one of 8 ranks" in document["notes"][0]


@pytest.mark.slow
def test_a_copy_of_the_model_takes_the_ranks_that_it_took(tmp_path: Path) -> None:
    document = of_ranks(tmp_path, sums=SUMS)
    assert [row["devices"] for row in document["rows"]][:4] == [4, 8, 16, 32]
    first, second, *_ = document["rows"]
    assert (first["global_batch"], second["global_batch"]) == (16, 32)
    assert first["efficiency"]["mid"] == pytest.approx(1.0)
    assert first["communication_s"]["mid"] > 0
    with pytest.raises(EstimatorError, match="devices 2: 4 ranks of the profile exchange parts"):
        of_ranks(tmp_path, [2], sums=SUMS)


@pytest.mark.slow
def test_each_row_has_the_samples_that_a_copy_computes_at_once() -> None:
    """So that a row whose micro-batch was chosen can be repeated with its name."""
    profile, dgx, plan = shipped("gpt2"), load_system("dgx-a100"), RunPlan("", batch=16, draws=20)
    chosen, data = scale(profile, dgx, [4], plan, [Split(pipeline=4), Split()], "weak")["rows"]
    assert data["micro_batch"] == data["local_batch"] == 16
    named = Split(pipeline=4, micro_batch=chosen["micro_batch"])
    (again,) = scale(profile, dgx, [4], plan, [named], "weak")["rows"]
    assert again["step_s"] == chosen["step_s"]


@pytest.mark.slow
def test_states_that_too_many_share_are_noted_for_the_most_devices_of_a_split() -> None:
    actual = run("gpt2", "selene", (64, 2048, 4096), "zero3", plan=replace(PLAN, batch=8), others=["zero3,shard=64"])
    (note,) = [text for text in actual["notes"] if "mostly latency" in text]
    assert note.startswith("zero3: on 4096 devices 4096 copies share the states")
    slow, fast = (
        next(row["step_s"]["mid"] for row in actual["rows"] if (row["parallel"], row["devices"]) == (split, 4096))
        for split in ("zero3", "zero3,shard=64")
    )
    assert f"with 'zero3,shard=64' a step would be {slow / fast:.3g} times as fast" in note
