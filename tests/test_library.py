"""Every shipped file loads and passes every check."""

from pathlib import Path

import pytest

from estimator.core import library
from estimator.core.types import DeviceSpec, SystemSpec
from estimator.devices import catalogue, load_device, load_measurements, load_system
from estimator.profiles import read_profile, shipped
from estimator.studies.study import read_study
from estimator.work import count_work

DEVICES = library.names("devices", catalogue.DEVICE_FILES)
SYSTEMS = library.names("devices", catalogue.SYSTEM_FILES)
MEASURED = library.names("devices", "measurements/*.csv")
STUDIES = library.names("reports", "*")


def test_the_catalogue_has_no_fault() -> None:
    assert catalogue.check(DeviceSpec) == (len(DEVICES), [])
    assert catalogue.check(SystemSpec) == (len(SYSTEMS), [])


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
    rows = load_measurements(load_device(name))
    assert len(rows) >= 160
    assert rows["source"].notna().all()
    assert rows["library"].notna().all()


@pytest.mark.parametrize("name", shipped())
def test_every_profile_is_read_and_counted(name: str) -> None:
    profile = read_profile(name)
    work, warnings = count_work(profile.ops, profile.workload)
    assert len(work) == len(profile.ops)
    assert not warnings


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_is_read(name: str) -> None:
    assert read_study(STUDIES[name] / "study.yaml").title


FLOP_PER_CLOCK = {  # dense, per compute unit: vendors' architecture papers
    "kepler": {"fp64": 128, "fp32": 384},
    "pascal-gp100": {"fp64": 64, "fp32": 128, "fp16": 256},
    "volta": {"fp64": 64, "fp32": 128, "fp16": 1024},
    "knights-landing": {"fp64": 32, "fp32": 64},
    "ampere-ga100": {"fp64": 128, "fp32": 128, "tf32": 1024, "bf16": 2048, "fp16": 2048},
    "hopper": {"fp64": 256, "fp32": 256, "tf32": 2048, "bf16": 4096, "fp16": 4096, "fp8": 8192},
    "cdna2": {"fp64": 256, "fp32": 256, "bf16": 1024, "fp16": 1024},
    "xe-hpc": {"fp64": 256, "fp32": 256, "tf32": 2048, "bf16": 4096, "fp16": 4096},
}


@pytest.mark.parametrize("name", [n for n in DEVICES if not n.startswith("lecture")])
def test_peaks_are_units_times_flop_per_clock_times_clock(name: str) -> None:
    device = load_device(name)
    assert device.compute_units is not None
    for precision, per_clock in FLOP_PER_CLOCK[str(device.architecture)].items():
        rate = device.peak_of(precision).matrix
        assert rate is not None
        assert rate.clock is not None
        assert rate.value == pytest.approx(device.compute_units.value * per_clock * rate.clock, rel=0.03), precision


def test_a_library_of_ones_own_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "devices").mkdir()
    own = "name: k20x\npeak: {fp32: 1 TFLOP/s}\nmemory_bandwidth: 1 GB/s\n"
    (tmp_path / "devices" / "k20x.yaml").write_text(own)
    monkeypatch.setenv("ESTIMATOR_LIBRARY", str(tmp_path))
    bandwidth = load_device("k20x").memory_bandwidth
    assert bandwidth is not None
    assert bandwidth.value == 1e9
    assert load_device("v100-sxm2-16gb")
