"""Both devices of a prediction, with their measurements."""

from dataclasses import replace
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.notes import Note
from estimator.core.types import DeviceNumbers, Profile, RunPlan, Sourced
from estimator.devices import load_device
from estimator.devices.recorded import recorded_devices
from estimator.devices.sides import Side, load_source, load_target, siblings_of, unknown_source
from tests.conftest import make_device
from tests.profiles.layers.models import profile as layers_profile

DEVICE = "name: {name}\npeak: {{fp32: 1 TFLOP/s}}\nmemory_bandwidth: 10 GB/s\n"
ROWS = "op_class,kernel,precision,bytes,time_s,library\nelementwise,{kernel},fp32,12,{time},toy 1.0\n"


def source_of(profile: Profile, plan: RunPlan) -> Side | None:
    return load_source(profile, plan, load_target(plan), recorded_devices(profile))


def unknown(profile: Profile, plan: RunPlan, source: Side | None, *, needed: bool) -> tuple[Note, ...]:
    return unknown_source(profile, plan, source, recorded_devices(profile), needed=needed)


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


def test_a_part_of_a_board_has_its_share_of_the_boards_power_limit(p1b3: Profile) -> None:
    whole, plan = load_device("mi250x").power_limit, RunPlan("mi250x-gcd", source="mi250x-gcd")
    target = load_target(plan)
    source = load_source(p1b3, plan, target, ())
    assert whole is not None
    assert source is not None
    limits = [side.device.power_limit for side in (target, source)]
    assert [limit and limit.value for limit in limits] == [whole.value / 2, whole.value / 2]


def test_a_target_without_a_limit_has_that_of_its_machine() -> None:
    limit = Sourced(value=500.0, unit="W", note="share of the listed power of alps")
    unknown, known = (load_target(RunPlan(name, power_limit=limit)) for name in ("gh200-96gb", "v100"))
    assert unknown.device.power_limit == limit
    assert [note.code for note in unknown.notes if note.code == "power-listed"] == ["power-listed"]
    assert known.device.power_limit == load_device("v100").power_limit
    assert not any(note.code == "power-listed" for note in known.notes)


@pytest.mark.parametrize(("source", "is_limited"), [("gh200-96gb", True), ("gh200-144gb", False)])
def test_a_source_like_the_target_ran_within_the_same_limit(p1b3: Profile, source: str, is_limited: bool) -> None:
    plan = RunPlan("gh200-96gb", source=source, power_limit=Sourced(value=500.0, unit="W", note="share"))
    side = load_source(p1b3, plan, load_target(plan), ())
    assert side is not None
    assert (side.device.power_limit == plan.power_limit) == is_limited


def test_a_device_that_a_plan_gives_needs_no_file(p1b3: Profile) -> None:
    own = make_device(
        name="mine", compute_unit="MXU", peak={"fp32": "10 TFLOP/s", "fp64": "90 TFLOP/s"}, aliases=["v100"]
    )
    plan = RunPlan("mine", source="mine", given={"mine": own})
    target = load_target(plan)
    assert (target.device, len(target.measurements)) == (own, 0)
    assert not any("alias" in note.text or "source" in note.text for note in target.notes)
    source = source_of(p1b3, plan)
    assert source is not None
    assert source.device == own
    with pytest.raises(EstimatorError, match="Unknown device 'other'"):
        load_target(replace(plan, target="other"))


def test_an_announced_device_that_a_plan_gives_has_wide_numbers() -> None:
    target = load_target(RunPlan("mine", given={"mine": make_device(name="mine", announced=True)}))
    assert target.device.memory_bandwidth is not None
    assert target.device.memory_bandwidth.relative_uncertainty
    assert [note.code for note in target.notes if note.subject == "mine"] == ["announced"]


def test_the_lints_judge_a_device_that_a_plan_gives() -> None:
    own = make_device(name="mine", memory_bandwidth="900 PB/s")
    notes = load_target(RunPlan("mine", given={"mine": own})).notes
    assert any(note.code == "device-check" and note.text.startswith("mine: ") for note in notes)


def test_source_measurements_need_target_measurements(tmp_path: Path, p1b3: Profile) -> None:
    measured, other = write(tmp_path, "mine", 3e-6), write(tmp_path, "here", 5e-6)
    plan = RunPlan(measured, source=other)
    source = source_of(p1b3, plan)
    assert source is not None
    assert len(source.measurements) == 1
    unmeasured = replace(plan, target="h100")
    source = source_of(p1b3, unmeasured)
    assert source is not None
    assert source.measurements.empty
    assert source.device.launch_latency is None


def test_a_source_that_the_profile_contradicts_is_noted(p1b3: Profile) -> None:
    plan = RunPlan("h100", source="v100")
    source = source_of(replace(p1b3, device="lecture-x86"), plan)
    assert source is not None
    assert [note.code for note in source.notes] == ["source-contradicted"]
    for device in (None, "V100", "my own machine"):
        source = source_of(replace(p1b3, device=device), plan)
        assert source is not None
        assert not source.notes
    source = source_of(replace(p1b3, device="lecture-x86"), replace(plan, source=None))
    assert source is not None
    assert not source.notes


def test_an_unnamed_source_is_none(p1b3: Profile) -> None:
    plan = RunPlan("h100")
    assert source_of(replace(p1b3, device=None), plan) is None
    with pytest.raises(EstimatorError, match="Unknown device"):
        source_of(p1b3, replace(plan, source="h1000"))


def test_the_device_that_the_profiler_names_is_looked_up_in_the_catalogue(p1b3: Profile) -> None:
    recorded = replace(p1b3, device=None, device_recorded="NVIDIA H100 80GB HBM3")
    plan = RunPlan("mi300x")
    source = source_of(recorded, plan)
    assert source is not None
    assert source.device.name == "h100-sxm5-80gb"
    assert unknown(recorded, plan, source, needed=True) == ()


def test_a_recorded_device_that_the_catalogue_does_not_hold_is_a_warning(p1b3: Profile) -> None:
    recorded = replace(p1b3, device=None, device_recorded="AMD Radeon Graphics")
    plan = RunPlan("mi300x")
    (note,) = unknown(recorded, plan, None, needed=False)
    assert note.kind == "warning"
    assert "'AMD Radeon Graphics'" in note.text
    assert "--from" in note.text
    given = replace(plan, source="mi210")
    assert unknown(recorded, given, source_of(recorded, given), needed=True) == ()
    unnamed = replace(recorded, device_recorded=None)
    assert unknown(unnamed, plan, None, needed=False) == ()
    assert unknown(unnamed, plan, None, needed=True)[0].share == 1


def test_a_device_without_a_name_is_known_by_its_numbers(p1b3: Profile) -> None:
    numbers = DeviceNumbers(304, 206141652992)
    recorded, plan = replace(p1b3, device=None, device_numbers=numbers), RunPlan("h100")
    source = source_of(recorded, plan)
    assert source is not None
    assert source.device.name == "mi300x"
    assert [note.code for note in source.notes] == ["source-by-numbers"]


def test_of_several_devices_with_these_numbers_none_is_taken(p1b3: Profile) -> None:
    recorded, plan = replace(p1b3, device=None, device_numbers=DeviceNumbers(56, 17069309952)), RunPlan("h100")
    assert source_of(recorded, plan) is None
    (note,) = unknown(recorded, plan, None, needed=False)
    assert "may be p100-pcie-16gb or p100-sxm2-16gb" in note.text


def test_a_source_of_layers_of_which_nothing_ran_is_noted_to_be_unused() -> None:
    (note,) = unknown(layers_profile(), RunPlan("v100", source="k20x"), None, needed=True)
    assert "nothing ran in this profile, so it holds no times of k20x" in note.text
    assert unknown(layers_profile(), RunPlan("v100"), None, needed=True) == ()


PRODUCTS = "op_class,precision,m,n,k,time_s,library\ngemm,fp32,1024,1024,1024,0.01,toy 1.0\n"


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's library: two devices of one architecture, of which the first was measured, and measured others."""
    monkeypatch.setenv("ESTIMATOR_LIBRARY", str(tmp_path))
    folder = tmp_path / "devices"
    (folder / "measurements").mkdir(parents=True)
    architectures = {"first": "toy", "second": "Toy", "third": "toys", "fourth": ""}
    for name, architecture in architectures.items():
        (folder / f"{name}.yaml").write_text(DEVICE.format(name=name) + f"architecture: '{architecture}'\n")
    for table in ("first.torch", "third", "fourth"):
        (folder / "measurements" / f"{table}.csv").write_text(PRODUCTS)
    return folder


def siblings(name: str, table: str | None = None) -> list[str]:
    return [each.device.name for each in load_target(RunPlan(name, measurements=table)).siblings()]


def test_a_target_has_the_measured_devices_of_its_architecture(family: Path) -> None:
    assert siblings("second") == ["first"]
    assert siblings("first") == []
    assert siblings("third") == siblings("fourth") == []
    assert len(load_target(RunPlan("second")).siblings()[0].measurements) == 1


@pytest.mark.parametrize(("name", "measured"), [("first", ["first"]), ("second", ["second", "first"])])
def test_a_source_is_one_of_its_siblings(name: str, measured: list[str], family: Path, p1b3: Profile) -> None:
    for target in ("second", "third"):  # without and with measurements
        source = source_of(p1b3, RunPlan(target, source=name))
        assert source is not None
        assert [each.device.name for each in source.siblings()] == measured


def test_a_broken_table_of_a_source_is_refused_where_it_is_needed(family: Path, p1b3: Profile) -> None:
    (family / "measurements" / "first.torch.csv").write_text(PRODUCTS.replace("0.01", "never"))
    source = source_of(p1b3, RunPlan("second", source="first"))
    assert source is not None
    with pytest.raises(EstimatorError, match="never"):
        source.siblings()


def test_measurements_that_a_user_gives_leave_no_place_to_siblings(family: Path, tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text(ROWS.format(kernel="launch", time=5e-6))
    assert siblings("second", str(table)) == []


def test_a_broken_table_of_a_sibling_stops_no_other_device(family: Path) -> None:
    (family / "measurements" / "first.torch.csv").write_text(PRODUCTS.replace("0.01", "never"))
    assert siblings("second") == []


def test_tables_of_loops_or_of_a_framework_stand_for_a_sibling() -> None:
    device = load_device("p100-sxm2-16gb")
    loops, framework = (siblings_of(device, alone=alone)()[0].measurements for alone in (True, False))
    libraries = [
        set(rows.loc[rows["op_class"].eq("gemm") & rows["precision"].eq("fp32"), "library"])
        for rows in (loops, framework)
    ]
    assert libraries[1] == {"torch, eager"} != libraries[0]
