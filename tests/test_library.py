"""Every shipped file loads and passes every check."""

from pathlib import Path

import pytest

from estimator.core import library
from estimator.core.types import DeviceSpec, SystemSpec
from estimator.devices import load_device, load_system
from estimator.devices.lints.peaks import computed, rates
from estimator.devices.measurements import load_measurements
from estimator.devices.specs import catalogue
from estimator.devices.specs.values import sourced_values
from estimator.profiles import read_profile, shipped
from estimator.studies.study import read_study
from estimator.work import count_work
from tests.conftest import unpacked

DEVICES = library.names("devices", catalogue.DEVICE_FILES)
SYSTEMS = library.names("devices", catalogue.SYSTEM_FILES)
MEASURED = library.names("devices", "measurements/*.csv")
STUDIES = library.names("reports", "*")


def test_the_catalogue_has_no_fault_and_every_waiver_silences_one() -> None:
    assert catalogue.check(DeviceSpec) == (len(DEVICES), [])  # a waiver that silences nothing is a fault
    assert catalogue.check(SystemSpec) == (len(SYSTEMS), [])


def test_every_number_says_how_it_is_known_and_every_file_where_its_words_are_from() -> None:
    specs: list[DeviceSpec | SystemSpec] = [*catalogue.all_devices(), *catalogue.all_systems()]
    lacking = [f"{spec.name}.{field}" for spec in specs for field, v in sourced_values(spec) if not v.status]
    assert not lacking
    assert not [spec.name for spec in specs if not spec.source]


def test_the_catalogue_is_large_enough_to_choose_from() -> None:
    assert len(DEVICES) >= 90
    assert len(SYSTEMS) >= 27


def test_most_peaks_are_held_to_units_times_flop_per_clock_times_clock() -> None:
    peaks = [(device, rate) for device in catalogue.all_devices() for _, _, rate in rates(device)]
    held = [rate for device, rate in peaks if computed(device, rate)]
    assert len(held) >= 0.8 * len(peaks)


def test_the_studies_devices_and_systems_are_there() -> None:
    assert {
        "k20x", "p100-pcie-16gb", "v100-sxm2-16gb", "xeon-phi-7250", "a100-sxm4-80gb", "h100-sxm5-80gb", "mi250x-gcd",
        "max-1550", "lecture-a-nodelet", "lecture-x86",
    } <= DEVICES.keys()  # fmt: skip
    assert {"titan", "summit", "frontier", "aurora"} <= SYSTEMS.keys()
    assert {"p100-pcie-16gb", "v100-sxm2-16gb", "xeon-phi-7250"} <= MEASURED.keys()


@pytest.mark.parametrize("name", DEVICES)
def test_every_alias_leads_to_its_device_alone(name: str) -> None:
    device = load_device(name)
    assert all(load_device(alias).name == name for alias in device.aliases)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_names_a_device_of_the_catalogue(name: str) -> None:
    assert load_device(load_system(name).device)


@pytest.mark.parametrize("name", MEASURED)
def test_every_measurement_names_its_source(name: str) -> None:
    device, _, framework = name.partition(".")
    rows = load_measurements(load_device(device), MEASURED[name])
    assert len(rows) >= 90
    assert rows["source"].notna().all()
    assert rows["library"].str.startswith(framework).all()
    assert rows["library"].notna().all()


@pytest.mark.parametrize("name", shipped())
def test_every_profile_is_read_and_counted(name: str) -> None:
    profile = read_profile(name)
    work, warnings = unpacked(count_work(profile.ops, profile.workload))
    assert len(work) == len(profile.ops)
    assert not warnings


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_is_read(name: str) -> None:
    assert read_study(STUDIES[name] / "study.yaml").title


def test_a_library_of_ones_own_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "devices").mkdir()
    own = "name: k20x\npeak: {fp32: 1 TFLOP/s}\nmemory_bandwidth: 1 GB/s\n"
    (tmp_path / "devices" / "k20x.yaml").write_text(own)
    monkeypatch.setenv("ESTIMATOR_LIBRARY", str(tmp_path))
    bandwidth = load_device("k20x").memory_bandwidth
    assert bandwidth is not None
    assert bandwidth.value == 1e9
    assert load_device("v100-sxm2-16gb")
