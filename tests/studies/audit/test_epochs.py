from collections.abc import Mapping
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, Workload
from estimator.studies.audit.epochs import count_steps
from estimator.studies.audit.table import Row
from tests.conftest import make_ops
from tests.studies.audit.tables import STEPS, audit_rows, scaled_times


def test_the_sources_host_time_is_no_part_of_the_kernels(kernels: Mapping[str, float]) -> None:
    assert 0 < kernels["new"] < kernels["old"] < STEPS * 30


@pytest.mark.slow
def test_an_epoch_ends_with_forward_passes_over_the_samples_held_out(
    tmp_path: Path, kernels: Mapping[str, float]
) -> None:
    """12 samples of them are two steps of 8, beside the ten of training."""
    checked = audit_rows(tmp_path, scaled_times(kernels, 1, 1), validation_samples=12).cell("times", "A", "new")[0]
    at = "one/A/new/v100-sxm2-16gb/"
    numbers = {n.id.removeprefix(at): n for n in checked.numbers if n.id.startswith(at)}
    value = {name: float(number.samples[0]) for name, number in numbers.items()}
    assert str(numbers["forward_s"].source).startswith("forward ops of one/A/new")
    assert "; inference is the forward pass of the profiled training" in str(numbers["forward_s"].source)
    assert 0 < value["forward_s"] < value["step_s"]
    assert value["epoch_s"] == pytest.approx(STEPS * value["step_s"] + 2 * value["forward_s"])
    assert value["epoch_step_s"] == pytest.approx(value["epoch_s"] / STEPS)
    assert checked.ours is not None
    assert checked.ours.samples[0] == pytest.approx(value["epoch_s"])


def steps(workload: Workload, **fields: object) -> dict[str, float]:
    """What is known of an epoch of a row of a workload."""
    row = Row.model_validate({"profile": "p", "times": {}, **fields})
    numbers = count_steps("t/A", row, Profile(make_ops({}), workload, None, "csv"))
    return {name: float(number.samples[0]) for name, number in numbers.items()}


@pytest.mark.parametrize(("rounding", "expected"), [("floor", 2), ("ceil", 3)])
def test_steps_are_rounded_as_the_workload_says(rounding: str, expected: int) -> None:
    workload = Workload.model_validate({"name": "w", "samples": 20, "batch_size": 8, "steps_rounding": rounding})
    assert steps(workload)["steps_per_epoch"] == expected


def test_the_rows_samples_come_before_the_workloads() -> None:
    workload = Workload(name="w", samples=20, batch_size=8)
    assert steps(workload, samples=80, validation_samples=9) == {
        "samples": 80, "validation_samples": 9, "batch_size": 8, "steps_per_epoch": 10, "validation_steps": 2,
    }  # fmt: skip


def test_unknown_samples_give_no_steps() -> None:
    assert steps(Workload(name="w", batch_size=8)) == {"batch_size": 8}


def test_samples_that_fill_no_step_are_refused() -> None:
    with pytest.raises(EstimatorError, match="t/A: the samples fill no step of the batch size"):
        steps(Workload(name="w", samples=7, batch_size=8))
