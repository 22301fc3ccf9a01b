"""On which numbers of devices a profile is scaled, and which are refused."""

from dataclasses import replace

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.parallel import Split, read_split
from estimator.core.types import RunPlan
from estimator.devices import load_system
from estimator.studies.scale import scale
from tests.studies.test_scale import PLAN, run, shipped


@pytest.mark.parametrize("devices", [0, 27_649])
def test_devices_that_the_machine_does_not_have_are_refused(devices: int) -> None:
    expected = f"devices {devices}: summit has 4608 nodes of 6; expected a number from 1 to 27648"
    with pytest.raises(EstimatorError, match=expected):
        run(devices=(devices,))


@pytest.mark.slow
def test_strong_scaling_goes_by_counts_that_divide_the_batch() -> None:
    plan = RunPlan("", batch=48, draws=20)
    document = run(system="perlmutter", devices=(), scaling="strong", plan=plan)
    assert [row["devices"] for row in document["rows"]] == [1, 2, 4, 8, 16]


@pytest.mark.slow
def test_strong_scaling_goes_by_counts_that_leave_whole_rounds_to_an_interleaved_pipeline() -> None:
    split, plan = read_split("pipeline=4,interleave=3,micro=2"), RunPlan("", batch=32, draws=20)
    document = scale(shipped("gpt2"), load_system("selene"), [], plan, [split], "strong")
    assert [row["devices"] for row in document["rows"]] == [4, 8, 16]
    assert [row["local_batch"] for row in document["rows"]] == [32, 16, 8]


@pytest.mark.slow
def test_counts_leave_whole_groups_of_copies_that_share_the_states() -> None:
    """Summit has 4608 nodes of 6 devices."""
    document = run("gpt2", devices=(), split="zero1,shard=6", plan=RunPlan("", "fp16", batch=1, draws=20))
    counts = [row["devices"] for row in document["rows"]]
    assert counts == [1, 2, 4, *(6 * 2**power for power in range(13)), 6 * 4608]


def test_a_machine_that_is_smaller_than_one_copy_is_refused() -> None:
    with pytest.raises(
        EstimatorError, match="tensor × pipeline = 12: dgx-a100 has 8 devices; expected at most as many"
    ):
        scale(shipped("gpt2"), load_system("dgx-a100"), [], RunPlan("", batch=1), [Split(tensor=12)], "weak")


@pytest.mark.slow
def test_a_batch_that_one_device_cannot_count_is_refused_with_the_reason_where_it_is_efficiency() -> None:
    reason = "expected at most .*, as efficiency compares with one device that computes all samples"
    with pytest.raises(EstimatorError, match=reason):
        run("gpt2", "selene", (64,), "pipeline=4", plan=replace(PLAN, batch=10**9))
    with pytest.raises(EstimatorError, match=reason):
        run("gpt2", "selene", (64,), plan=replace(PLAN, batch=10**9), scaling="strong")
    with pytest.raises(EstimatorError, match=r"expected at most \d+$"):
        run("gpt2", "selene", (64,), plan=replace(PLAN, batch=10**9))
