"""Both devices of a prediction, with their measurements."""

from dataclasses import replace
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.notes import Note
from estimator.core.types import Profile, RunPlan
from estimator.devices.sides import load_source, load_target, unknown_source

DEVICE = "name: {name}\npeak: {{fp32: 1 TFLOP/s}}\nmemory_bandwidth: 10 GB/s\n"
ROWS = "op_class,kernel,precision,bytes,time_s,library\nelementwise,{kernel},fp32,12,{time},toy 1.0\n"


def write(folder: Path, name: str, time: float) -> str:
    (folder / f"{name}.yaml").write_text(DEVICE.format(name=name))
    (folder / f"{name}.csv").write_text(ROWS.format(kernel="launch", time=time))
    return str(folder / f"{name}.yaml")


def test_a_target_has_its_measured_launch_latency_and_warnings(tmp_path: Path) -> None:
    target = load_target(RunPlan(write(tmp_path, "mine", 3e-6)))
    assert target.device.launch_latency is not None
    assert target.device.launch_latency.value == 3e-6
    assert len(target.measurements) == 1
    assert {note.code for note in target.notes} <= {"device-check", "measurements-left-out"}


def test_source_measurements_need_target_measurements(tmp_path: Path, p1b3: Profile) -> None:
    measured, other = write(tmp_path, "mine", 3e-6), write(tmp_path, "here", 5e-6)
    plan = RunPlan(measured, source=other)
    source = load_source(p1b3, plan, load_target(plan))
    assert source is not None
    assert len(source.measurements) == 1
    unmeasured = replace(plan, target="h100")
    source = load_source(p1b3, unmeasured, load_target(unmeasured))
    assert source is not None
    assert source.measurements.empty
    assert source.device.launch_latency is None


def test_a_source_that_the_profile_contradicts_is_noted(p1b3: Profile) -> None:
    plan = RunPlan("h100", source="v100")
    target = load_target(plan)
    source = load_source(replace(p1b3, device="lecture-x86"), plan, target)
    assert source is not None
    assert [note.code for note in source.notes] == ["source-contradicted"]
    for device in (None, "V100", "my own machine"):
        source = load_source(replace(p1b3, device=device), plan, target)
        assert source is not None
        assert not source.notes
    source = load_source(replace(p1b3, device="lecture-x86"), replace(plan, source=None), target)
    assert source is not None
    assert not source.notes


def test_an_unnamed_source_is_none(p1b3: Profile) -> None:
    plan = RunPlan("h100")
    assert load_source(replace(p1b3, device=None), plan, load_target(plan)) is None
    with pytest.raises(EstimatorError, match="Unknown device"):
        load_source(p1b3, replace(plan, source="h1000"), load_target(plan))


def test_the_device_that_the_profiler_names_is_looked_up_in_the_catalogue(p1b3: Profile) -> None:
    recorded = replace(p1b3, device=None, device_recorded="NVIDIA H100 80GB HBM3")
    plan = RunPlan("mi300x")
    source = load_source(recorded, plan, load_target(plan))
    assert source is not None
    assert source.device.name == "h100-sxm5-80gb"
    assert unknown_source(recorded, source, decides=True) == ()


def unknown(profile: Profile, source: str | None = None, *, decides: bool = False) -> list[Note]:
    plan = RunPlan("mi300x", source=source)
    return list(unknown_source(profile, load_source(profile, plan, load_target(plan)), decides=decides))


def test_a_recorded_device_that_the_catalogue_does_not_hold_is_a_warning(p1b3: Profile) -> None:
    recorded = replace(p1b3, device=None, device_recorded="AMD Radeon Graphics")
    (note,) = unknown(recorded)
    assert (note.kind, note.subject, note.share) == ("warning", "AMD Radeon Graphics", 0.0)
    assert "'AMD Radeon Graphics'" in note.text
    assert "--from DEVICE" in note.text
    assert unknown(recorded, "mi210", decides=True) == []
    assert unknown(replace(recorded, device_recorded=None)) == []


@pytest.mark.parametrize(
    ("device", "recorded", "words"),
    [
        (None, None, "the profile does not name it"),
        ("h100-sxm5-81gb", None, "Did you mean h100-sxm5-80gb"),
        ("lecture-x86", None, "no rates of 'lecture-x86'"),
        ("lecture-x86", "AMD Radeon Graphics", "no rates of 'lecture-x86'"),
        (None, "AMD Radeon Graphics", "no rates of 'AMD Radeon Graphics'"),
    ],
)
def test_where_unknown_rates_decide_one_warning_says_what_to_give(
    p1b3: Profile, device: str | None, recorded: str | None, words: str
) -> None:
    (note,) = unknown(replace(p1b3, device=device, device_recorded=recorded), decides=True)
    assert words in note.text
    assert "most of this step's times go by them" in note.text
    assert note.share == 1.0
    if device:
        assert unknown(replace(p1b3, device=device, device_recorded=recorded)) == []
