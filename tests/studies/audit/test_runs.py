from collections.abc import Mapping
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from tests.studies.audit.tables import STEPS, audit_rows, audit_study, times_of, write_study


def test_the_sources_host_time_is_no_part_of_the_kernels(kernels: Mapping[str, float]) -> None:
    assert 0 < kernels["new"] < kernels["old"] < STEPS * 30


def test_an_epoch_ends_with_forward_passes_over_the_samples_held_out(
    tmp_path: Path, kernels: Mapping[str, float]
) -> None:
    """12 samples of them are two steps of 8, beside the ten of training."""
    checked = audit_rows(tmp_path, times_of(kernels, 1, 1), validation_samples=12).cell("times", "A", "new")[0]
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


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("dump.csv", "op_type,op_class,time_s\nSleep,host,30\n", "one: A on k20x: no op of the profile is modelled"),
        ("workload.yaml", "name: w\nbatch_size: 8\nsamples: 7\n", "one/A: the samples fill no step of the batch size"),
    ],
)
def test_a_row_that_cannot_run_is_refused(tmp_path: Path, name: str, text: str, words: str) -> None:
    path = write_study(tmp_path, {"old": "9 s", "new": "9 s"})
    (tmp_path / name).write_text(text)
    with pytest.raises(EstimatorError, match=words):
        audit_study(path)


def test_a_rounded_up_step_counts(tmp_path: Path) -> None:
    path = write_study(tmp_path, {"old": "9 s", "new": "9 s"})
    for rounding, steps in (("floor", 2), ("ceil", 3)):
        (tmp_path / "workload.yaml").write_text(f"name: w\nbatch_size: 8\nsamples: 20\nsteps_rounding: {rounding}\n")
        checked = audit_study(path).cell("times", "A", "old")[0]
        assert next(n for n in checked.numbers if n.id.endswith("/steps_per_epoch")).samples[0] == steps
