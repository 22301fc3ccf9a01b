"""What a reader should know of the prediction of a step."""

import pytest

from estimator.core import units
from estimator.core.types import Profile, RunPlan, Workload
from estimator.pipeline.step import estimate
from estimator.profiles import canonical, read_profile
from tests.conftest import make_ops


@pytest.mark.parametrize(
    ("device", "words"), [(None, "does not name its device"), ("h100-sxm5-81gb", "mean h100-sxm5-80gb")]
)
def test_where_little_is_modelled_from_an_unknown_source_the_user_is_asked_for_it(
    device: str | None, words: str
) -> None:
    ops = canonical.to_ops(make_ops({"op_type": "Mystery"}), "toy")
    profile = Profile(ops, Workload(name="toy"), device, "toy")
    actual = estimate(profile, RunPlan("v100", draws=5))
    (text,) = (note.text for note in actual.notes if note.code == "source-unknown")
    assert "--from DEVICE" in text
    assert words in text
    actual = estimate(profile, RunPlan("v100", draws=5, source="h100"))
    assert "source-unknown" not in {note.code for note in actual.notes}
    assert actual.evidence == {"proportional": 1.0}


@pytest.mark.parametrize("mode", [None, "none", "overlapped"])
def test_what_takes_no_time_is_no_assumption(mode: str | None) -> None:
    rows = ({"op_type": "Fetch", "op_class": "input"}, {"op_type": "MatMul", "m": 512, "n": 512, "k": 512})
    profile = Profile(canonical.to_ops(make_ops(*rows), "toy"), Workload(name="toy"), None, "toy")
    codes = {note.code for note in estimate(profile, RunPlan("v100", draws=5, input=mode)).notes}  # type: ignore[arg-type]
    assert ("carried" in codes) == (mode != "none")
    assert ("input-overlapped" in codes, "input-none" in codes) == (mode == "overlapped", mode == "none")


def test_plain_fp32_says_what_the_frameworks_format_gives() -> None:
    profile = read_profile("p1b3")
    plain, auto = (estimate(profile, RunPlan("a100", draws=5, precision=precision)) for precision in (None, "auto"))
    (note,) = [note for note in plain.notes if note.code == "precision-by-default"]
    step, kernels = (
        f"{units.show(float(then[0]), 's', 3)} in place of {units.show(float(now[0]), 's', 3)}"
        for then, now in ((auto.step.total, plain.step.total), (auto.kernels_s, plain.kernels_s))
    )
    assert "keep the profile's number format; Keras on TensorFlow 1.x would take tf32 on this device" in note.text
    details = f": a step of batch 100 of one device would then take {step}, its kernels alone {kernels}"
    assert note.text.endswith(details)
    assert not any(note.code == "precision-by-default" for note in auto.notes)


def test_a_step_of_launches_alone_is_as_long_in_another_format() -> None:
    rows = [{"op_type": "aten::convolution", "shapes": "1x4x8x8;4x4x3x3", "time_s": 1e-6}] * 5
    ops = canonical.to_ops(make_ops(*rows), "toy")
    profile = Profile(ops, Workload(name="toy", framework="PyTorch 2.3", batch_size=1), "epyc-7763", "toy")
    notes = estimate(profile, RunPlan("a100", draws=5)).notes
    (text,) = [note.text for note in notes if note.code == "precision-by-default"]
    assert " as before, its kernels alone " in text


@pytest.mark.slow
def test_what_the_frameworks_format_gives_is_noted_where_its_middle_does_not_fit() -> None:
    """The step itself may fit, by the low end of its interval: then it is predicted."""
    actual = estimate(read_profile("resnet50"), RunPlan("h100", draws=50, batch=950))
    assert actual.memory is not None
    assert actual.memory.fits is False
    assert any(note.code == "precision-by-default" for note in actual.notes)


def test_without_tf32_nothing_else_is_the_default() -> None:
    notes = estimate(read_profile("p1b3"), RunPlan("v100", draws=5)).notes
    assert not any(note.code == "precision-by-default" for note in notes)
