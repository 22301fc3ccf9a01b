"""From OPS to WORK on the target: what the pipeline is told of the transforms together."""

from dataclasses import replace

import pytest
from pandas.testing import assert_frame_equal

from estimator.core.types import Profile, RunPlan
from estimator.work import WorkOnTarget, work_on_target
from tests.conftest import make_device

TARGET = make_device(peak={"fp32": "10 TFLOP/s", "bf16": "100 TFLOP/s"})


def on_target(profile: Profile, **asked: object) -> WorkOnTarget:
    return work_on_target(profile, replace(RunPlan("toy"), **asked), TARGET, from_processor=True)  # type: ignore[arg-type]


def test_a_plan_that_asks_for_nothing_changes_nothing(p1b3: Profile) -> None:
    found = on_target(p1b3)
    assert (found.changed, found.other_batch, found.precision) == (False, False, "fp32")
    assert_frame_equal(found.work, found.profiled)


@pytest.mark.parametrize(
    ("asked", "precision", "other_batch", "code"),
    [
        ({"batch": 400}, "fp32", True, "rebatched"),
        ({"precision": "bf16"}, "bf16", False, "precision-converted"),
    ],
)
def test_what_a_plan_asks_for_is_said(
    p1b3: Profile, asked: dict[str, object], precision: str, other_batch: bool, code: str
) -> None:
    found = on_target(p1b3, **asked)
    assert (found.changed, found.other_batch, found.precision) == (True, other_batch, precision)
    assert code in {note.code for note in found.notes}


def test_the_savings_of_a_compiler_are_told(p1b3: Profile) -> None:
    assert on_target(p1b3).saved.kind == "none"
    assert on_target(p1b3, fusion="elementwise").saved.kind == "elementwise"
