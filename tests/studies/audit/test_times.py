"""Check times made from predictions, whose marks are known beforehand."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.studies.audit.types import ImpliedStep
from tests.studies.audit.tables import OPS, STEPS, audit_rows, audit_study, scaled_times, write_study


@pytest.mark.slow
@pytest.mark.parametrize(
    ("new", "mark"),
    [(1.0, "reproduced"), (1.3, "reproduced"), (1.4, "cannot be told"), (0.5, "cannot be told"), (9, "cannot be told")],
)
def test_times_are_marked_by_the_predicted_kernels(
    tmp_path: Path, kernels: Mapping[str, float], new: float, mark: str
) -> None:
    checked = audit_rows(tmp_path, scaled_times(kernels, 1, new)).cell("times", "A", "new")[0]
    assert checked.mark == mark
    step, flop = new * kernels["new"] / STEPS, 4 * 2 * 2048**3
    assert checked.implied_step is not None
    assert checked.implied_step.time_s == pytest.approx(step)
    assert checked.implied_step.flop_per_s == pytest.approx(flop / step)
    assert checked.implied_step.utilisation == pytest.approx(flop / step / 15.7e12, rel=0.01)  # the V100's fp32 peak


@pytest.mark.slow
def test_the_step_of_a_validated_epoch_holds_its_share_of_the_forward_passes(
    tmp_path: Path, kernels: Mapping[str, float]
) -> None:
    """12 samples held out are two steps of 8, beside the ten of training."""
    checked = audit_rows(tmp_path, scaled_times(kernels, 1, 1), validation_samples=12).cell("times", "A", "new")[0]
    assert checked.implied_step is not None
    flop = (1 + 2 / STEPS) * 4 * 2 * 2048**3
    assert checked.implied_step.flop_per_s == pytest.approx(flop / (kernels["new"] / STEPS))


def step_without_host(folder: Path, times: Mapping[str, object], **fields: object) -> ImpliedStep:
    """The step that a time implies, where the profile's host did nothing."""
    path = write_study(folder, times, both=False, **fields)  # type: ignore[arg-type]
    (folder / "dump.csv").write_text("\n".join(line for line in OPS.splitlines() if "host" not in line))
    actual = audit_study(path).cell("times", "A", "new")[0].implied_step
    assert actual is not None
    return actual


@pytest.mark.slow
def test_the_whole_step_is_judged_by_its_interval(tmp_path: Path, kernels: Mapping[str, float]) -> None:
    """Within a few per cent of its kernels it is inside, at nine times them it is not."""
    near, far = (step_without_host(tmp_path, scaled_times(kernels, 1, new)) for new in (1.05, 9.0))
    assert (near.holds, far.holds) == (True, False)
    assert near.predicted is not None
    assert near.predicted == far.predicted
    assert near.predicted.mid == pytest.approx(kernels["new"] / STEPS, rel=0.02)


@pytest.mark.slow
def test_the_whole_step_holds_its_share_of_the_validation(tmp_path: Path, kernels: Mapping[str, float]) -> None:
    """As many samples held out as trained: each step is followed by a forward pass, here four products."""
    times = scaled_times(kernels, 1, 1)
    alone = step_without_host(tmp_path, times).predicted
    validated = step_without_host(tmp_path, times, validation_samples=8 * STEPS).predicted
    half = step_without_host(tmp_path, times, validation_samples=4 * STEPS).predicted
    assert alone is not None
    assert validated is not None
    assert half is not None
    assert validated.mid - alone.mid > 4 * 2 * 2048**3 / 15.7e12
    assert half.mid - alone.mid == pytest.approx((validated.mid - alone.mid) / 2)


def test_a_stated_mark_that_contradicts_the_numbers_is_refused(tmp_path: Path, kernels: Mapping[str, float]) -> None:
    stated = [{"of": "new", "mark": "data-bound", "reason": "it waits"}]
    with pytest.raises(EstimatorError, match=r"one: A: new is stated to be 'data-bound', but .* 'reproduced'"):
        audit_rows(tmp_path, scaled_times(kernels, 1, 1.1), stated=stated)


def test_a_machine_without_a_device_has_an_implied_step_alone(tmp_path: Path, kernels: Mapping[str, float]) -> None:
    checked = audit_rows(tmp_path, {**scaled_times(kernels, 1, 1), "dark": "50 s"}).cell("times", "A", "dark")[0]
    assert (checked.ours, checked.mark) == (None, "cannot be told")
    assert checked.implied_step == ImpliedStep(50 / STEPS)
    assert checked.reason == "5.00 s a step; nothing is known of the device"


def test_every_device_that_a_column_may_be_is_in_the_derivation(tmp_path: Path, kernels: Mapping[str, float]) -> None:
    checked = audit_rows(tmp_path, scaled_times(kernels, 1, 1)).cell("times", "A", "new")[0]
    ids = [number.id for number in checked.numbers]
    assert ids[0] == "one/A/new/printed"
    assert {"one/A/new/v100-sxm2-16gb/epoch_s", "one/A/new/p100-pcie-16gb/epoch_s"} <= set(ids)
    assert checked.ours is not None
    assert checked.ours.id == "one/A/new/v100-sxm2-16gb/epoch_s"
