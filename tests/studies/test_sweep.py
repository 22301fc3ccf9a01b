"""One profile at several batch sizes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.types import RunPlan, Workload
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from estimator.studies.sweep import batches_around, gains_per_doubling, levels_off, steps_per_epoch, sweep

PLAN = RunPlan("", draws=20)


@given(st.integers(1, 10**6))
def test_the_default_batches_are_powers_of_two_around_the_profiled_one(batch: int) -> None:
    batches = batches_around(batch)
    others = [size for size in batches if size != batch or size.bit_count() == 1]
    assert batch in batches
    assert all(size.bit_count() == 1 for size in others)
    assert all(b == 2 * a for a, b in pairwise(others))
    assert batch == 1 or min(batches) < batch < max(batches)


def test_gains_are_per_doubling_whatever_the_step_between_batches() -> None:
    rates = {1: 10.0, 2: 20.0, 32: 320.0, 64: 330.0, 128: 320.0}
    gains = gains_per_doubling(rates)
    assert gains == pytest.approx({2: 1.0, 32: 1.0, 64: 0.03125, 128: -1 / 33})
    assert levels_off(gains, list(rates)) == 32
    assert levels_off({2: 1.0, 32: 1.0}, [1, 2, 32]) is None
    assert levels_off({2: 0.01, 4: 0.5}, [1, 2, 4]) is None, "it gains again"
    assert levels_off({}, [8]) is None


def test_steps_per_epoch_follow_the_rounding_of_the_workload() -> None:
    def steps(rounding: str, samples: int | None, batch: int) -> int | None:
        return steps_per_epoch(
            Workload.model_validate({"name": "own", "samples": samples, "steps_rounding": rounding}), batch
        )

    assert [steps("floor", 100, 30), steps("ceil", 100, 30)] == [3, 4]
    assert [steps("floor", 100, 101), steps("floor", None, 10)] == [None, None]


@pytest.mark.slow
def test_a_sweep_is_the_estimates_at_its_batches() -> None:
    profile = read_profile("p1b3/amd-epyc.xplane")
    document = sweep("p1b3/amd-epyc.xplane", ["v100", "v100", "k20x"], [400, 100, 100], PLAN)
    assert [target["target"] for target in document["targets"]] == ["v100-sxm2-16gb", "k20x"]
    rows = document["targets"][0]["batches"]
    assert [row["batch_size"] for row in rows] == [100, 400]
    for row in rows:
        alone = estimate(profile, RunPlan("v100", draws=20, batch=row["batch_size"]))
        assert row["step_s"]["mid"] == alone.step.total[0]
        assert row["samples_per_s"]["mid"] == pytest.approx(row["batch_size"] / row["step_s"]["mid"])
        assert row["samples_per_s"]["low"] == pytest.approx(row["batch_size"] / row["step_s"]["high"], rel=1e-2)
        assert row["epoch_s"]["mid"] == pytest.approx(row["step_s"]["mid"] * (900136 // row["batch_size"]))
        assert sum(row["shares"].values()) == pytest.approx(1)
        assert 0 < row["efficiency"] <= 1
    assert rows[0]["gain_per_doubling"] is None
    assert rows[1]["gain_per_doubling"] > 0
    assert (document["mode"], document["profiled_batch_size"]) == ("training", 100)
    assert any("DAWNBench" in note for note in document["notes"])


@pytest.mark.slow
def test_a_sweep_of_inference_is_of_the_forward_pass() -> None:
    documents = {
        mode: sweep("nt3", ["v100"], [20], RunPlan("", draws=5, mode=mode)) for mode in ("training", "inference")
    }
    training, inference = (documents[mode]["targets"][0]["batches"][0]["step_s"]["mid"] for mode in documents)
    assert documents["inference"]["mode"] == "inference"
    assert inference < training / 2


def test_a_step_that_is_mostly_carried_over_has_a_warning() -> None:
    document = sweep("p1b3/amd-epyc.xplane", ["v100"], [25], RunPlan("", draws=5, host="profile"))
    assert sum("the source's own time, carried over" in text for text in document["warnings"]) == 1


@pytest.mark.slow
def test_a_measured_step_beside_predicted_ones_has_a_warning() -> None:
    actual = sweep("p1b3", ["k20x"], [100, 200], RunPlan("", source="k20x", draws=5))
    assert any("batch 100 is the profile's own" in warning for warning in actual["warnings"])
    assert not any("the profile's own" in w for w in sweep("p1b3", ["v100"], [100, 200], PLAN)["warnings"])


def test_a_profile_without_a_batch_size_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    table = tmp_path_factory.mktemp("own") / "ops.csv"
    table.write_text("op_type,time_s,m,n,k\nMatMul,0.1,8,8,8\n")
    with pytest.raises(EstimatorError, match="batch size is not known"):
        sweep(str(table), ["v100"], [4], PLAN)
