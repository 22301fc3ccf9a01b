"""A profile of many ranks on another number of devices."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.notes import Note
from estimator.core.parallel import WHOLE, Split, read_split
from estimator.core.types import DeviceSpec, Estimate, Network, Profile, RunPlan, Workload
from estimator.devices import load_device
from estimator.pipeline.group import estimate_group
from estimator.pipeline.recorded_group import recorded_messages
from estimator.pipeline.step import estimate, predict_step
from estimator.profiles import read_profile
from estimator.rollup.scaling import Group, group_of
from estimator.work.on_target import ranks_of
from tests.conftest import make_device
from tests.profiles.kineto.events import event, kernel, launch, read, step

REDUCED: dict[str, Any] = {"Collective name": "allreduce", "dtype": "Float", "Group size": 8, "Process Group Name": "0"}
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
MM: dict[str, Any] = {"Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["float", "float"]}
OWN, OTHER = (
    make_device(name=name, link={"per_direction": link}, compute_units=80)
    for name, link in (("own", "50 GB/s"), ("other", "20 GB/s"))
)
WALL = 20_000.0  # of a step [µs]
DUMPS = {  # of several ranks, and the device they were taken on
    "nccl-a100-2ranks": "a100-sxm4-40gb", "resnet-act-ckpt-mi300x": "mi300x", "ddp-v100-2ranks": "v100-sxm2-32gb",
    "dlrm-v100-8ranks": "v100-sxm2-32gb", "sampled-2of128ranks": "a100-sxm4-80gb",
}  # fmt: skip


def one_step(begin: float, first: int, summed: bool) -> list[dict[str, Any]]:
    """A product, a sum of its results where products are divided, its gradient, and the reduction of that."""
    sums = {**REDUCED, "In msg nelems": 250_000, "Group size": 4, "Process Group Name": "1"}
    reduced = {**REDUCED, "In msg nelems": 25_000_000}
    actual = [
        step(first, begin, WALL),
        event("aten::mm", begin + 10, 20, **MM),
        launch(begin + 15, first + 1),
        kernel("sgemm_128x64_nn", begin + 100, 9000, first + 1),
        event("autograd::engine::evaluate_function: MmBackward0", begin + 60, 100, tid=2),
        event("aten::mm", begin + 65, 20, tid=2, **MM),
        {**launch(begin + 70, first + 3), "tid": 2},
        kernel("sgemm_128x64_nt", begin + 9700, 9000, first + 3),
        event("record_param_comms", begin + 90, 30, tid=2, **reduced),
        {**launch(begin + 95, first + 4), "tid": 2},
        kernel(NCCL, begin + 9800, 9000, first + 4, stream=9),
    ]
    if summed:
        actual += [
            event("record_param_comms", begin + 40, 15, **sums),
            launch(begin + 45, first + 2),
            kernel(NCCL, begin + 9200, 400, first + 2),
        ]
    return actual


def profiled(folder: Path, *, summed: bool = False, world: int = 8) -> Profile:
    events = [made for number in range(3) for made in one_step(number * WALL, 100 * number, summed)]
    return read(folder, *events, workload=Workload(name="toy", batch_size=16), distributedInfo={"world_size": world})


def plan(target: str = "own", **fields: Any) -> RunPlan:
    given: Mapping[str, DeviceSpec] = {device.name: device for device in (OWN, OTHER)}
    joined = Network(linked_devices=8)
    return RunPlan(target, source="own", draws=20, given=given, network=joined, **fields)


def group(profile: Profile, devices: int) -> Group:
    return group_of(devices, 8, "weak", profile.workload.batch_size, WHOLE, ranks_of(profile).of_copy)


def on(profile: Profile, devices: int, target: str = "own", split: Split = WHOLE) -> Estimate:
    return estimate_group(profile, plan(target), group(profile, devices), split)


def step_s(*args: Any, **kwargs: Any) -> float:
    return float(on(*args, **kwargs).step.total[0])


@pytest.mark.slow
def test_on_its_own_devices_a_profile_has_its_own_step(tmp_path: Path) -> None:
    profile = profiled(tmp_path)
    assert step_s(profile, 8) == pytest.approx(profile.wall_step_s, rel=0.01)
    assert estimate(profile, plan()).step.total[0] == pytest.approx(profile.wall_step_s, rel=0.01)


@pytest.mark.slow
def test_more_devices_never_make_a_step_shorter_and_one_sends_nothing(tmp_path: Path) -> None:
    profile = profiled(tmp_path)
    for target, counts in {"own": (1, 2, 8, 64), "other": (1, 4, 8, 16)}.items():
        actual = [on(profile, devices, target) for devices in counts]
        steps = [each.step.total[0] for each in actual]
        assert steps == sorted(steps)
        assert actual[0].step.communication_exposed[0] == 0


@pytest.mark.slow
def test_messages_are_those_of_the_profile_and_never_both(tmp_path: Path) -> None:
    """Ours would be the gradients of one product, 67 MB; the profile's is of 100 MB."""
    profile = profiled(tmp_path)
    predicted = predict_step(profile, plan("other"))
    recorded = recorded_messages(predicted, WHOLE)
    assert recorded is not None
    assert recorded.count == 1
    assert "100 MB" in recorded.describe()
    codes = {note.code for note in on(profile, 16, "other").notes}
    assert {"ranks-replaced", "parallel", "stragglers"} <= codes
    assert "gradients-unknown" not in codes


@pytest.mark.slow
def test_another_split_sends_our_own_messages(tmp_path: Path) -> None:
    profile = profiled(tmp_path)
    assert recorded_messages(predict_step(profile, plan()), read_split("fsdp")) is None
    assert "ranks-replaced" not in {note.code for note in on(profile, 16, split=read_split("fsdp")).notes}


@pytest.mark.slow
def test_sums_of_results_stay_as_they_are(tmp_path: Path) -> None:
    profile = profiled(tmp_path, summed=True, world=32)
    ranks = ranks_of(profile)
    assert (ranks.world, ranks.copies, ranks.parts, ranks.of_copy) == (32, 8, 4, 4)
    alone = on(profile, 4)
    assert (alone.copies, on(profile, 64).copies) == (1, 16)
    sums = alone.prediction.ops.query("among == 'model'")
    assert (len(sums), sums["ranks"].iloc[0]) == (1, 4)
    steps = [step_s(profile, devices) for devices in (4, 32, 128)]
    assert steps == sorted(steps)
    assert steps[1] == pytest.approx(profile.wall_step_s, rel=0.01)


def test_ranks_that_hold_one_model_cannot_be_fewer(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="4 ranks of the profile hold one copy of the model; expected a multiple"):
        group(profiled(tmp_path, summed=True, world=32), 6)


def test_an_estimate_says_that_it_is_one_rank_of_several(tmp_path: Path) -> None:
    notes = estimate(profiled(tmp_path), plan("other")).notes
    kept = [note for note in notes if note.code == "ranks-kept"]
    assert [type(note) for note in kept] == [Note]
    assert "one of 8 ranks" in kept[0].text


@pytest.mark.slow
def test_ranks_of_inference_exchange_what_they_did(tmp_path: Path) -> None:
    """An engine's all-reduce states no bytes, as its graph was launched as a whole; every copy is of all ranks."""
    events = [
        event("aten::mm", 10, 20, **MM),
        launch(15, 1),
        kernel("sgemm_128x64_nn", 100, 9000, 1),
        kernel("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>", 9200, 300, 1),
        step(0, 0, WALL),
    ]
    profile = read(tmp_path, *events, workload=Workload(name="toy", batch_size=16), distributedInfo={"world_size": 8})
    assert ranks_of(profile).of_copy == 8
    sent = on(profile, 8, "other").prediction.ops.query("op_class == 'collective'")
    assert (sent["operator"].iloc[0], sent["method"].iloc[0], sent["among"].iloc[0]) == (
        "custom_all_reduce", "proportional", "model",
    )  # fmt: skip
    assert sent["low_s"].iloc[0] < sent["target_time_s"].iloc[0] / 5
    assert on(profile, 32).copies == 4
    assert step_s(profile, 32) >= step_s(profile, 8)


@pytest.mark.slow
def test_slower_links_make_messages_longer_but_do_not_touch_products(tmp_path: Path) -> None:
    own, other = (on(profiled(tmp_path), 16, target) for target in ("own", "other"))
    assert other.step.total[0] >= own.step.total[0] * (1 - 1e-9)


@cache
def dump(path: Path) -> Profile:
    return read_profile(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", DUMPS)
def test_real_dumps_have_their_own_step_on_their_own_devices(name: str, public_data: Callable[[str], Path]) -> None:
    profile = dump(public_data("dumps") / name)
    ranks = ranks_of(profile)
    own = RunPlan(DUMPS[name], source=DUMPS[name], draws=0)
    actual = estimate_group(profile, own, group_of(ranks.world, 8, "weak", None, WHOLE, ranks.of_copy), WHOLE)
    assert actual.step.total[0] == pytest.approx(profile.wall_step_s, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("name", DUMPS)
def test_real_messages_lie_in_their_intervals_on_their_own_device(
    name: str, public_data: Callable[[str], Path]
) -> None:
    """As on another device of the same kind: the model of its links, and what ranks waited for others."""
    profile = dump(public_data("dumps") / name)
    other = make_device_like(DUMPS[name])
    predicted = predict_step(profile, RunPlan("twin", source=DUMPS[name], draws=200, given={"twin": other}))
    sent = predicted.prediction.ops.query("op_class == 'collective' and time_s > 0")
    held = (sent["low_s"] <= 1.1 * sent["time_s"]) & (sent["time_s"] <= 1.1 * sent["high_s"])
    assert np.average(held, weights=sent["time_s"]) > 0.9


def make_device_like(name: str) -> DeviceSpec:
    return load_device(name).model_copy(update={"name": "twin", "aliases": ()})
