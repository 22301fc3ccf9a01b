import json
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import DeviceSpec, SystemSpec
from estimator.devices import load_device, load_system, source_device
from estimator.devices.specs import catalogue
from tests.conftest import ROOT


def test_the_smallest_device_is_a_name_a_peak_and_a_bandwidth(tmp_path: Path) -> None:
    path = tmp_path / "vendor-b.yaml"
    path.write_text("name: vendor-b\npeak: {fp32: 60 TFLOP/s}\nmemory_bandwidth: 4 TB/s\n")
    device = load_device(path)
    fp32 = device.peak_of("fp32")
    assert fp32.vector is not None
    assert fp32.vector.value == 60e12
    assert fp32.tensor is None
    assert fp32.vector.unverified
    assert device.peak_of("bf16").matrix is None


def test_unknown_names_suggest_near_ones() -> None:
    with pytest.raises(EstimatorError) as caught:
        load_device("V10O")
    expected = "Unknown device 'V10O'. Did you mean v100-sxm2-16gb? 'estimator devices' lists all."
    assert str(caught.value) == expected
    with pytest.raises(EstimatorError, match=r"Unknown system 'sumit'\. Did you mean summit\?"):
        load_system("sumit")
    with pytest.raises(EstimatorError, match="no folder"):
        load_device("none/here.yaml")


def test_aliases_match_in_any_case() -> None:
    assert load_device("nv_v100").name == load_device("V100").name == "v100-sxm2-16gb"
    assert source_device("v100") == load_device("v100")
    assert source_device("somebody's laptop") is None
    assert source_device(None) is None


def test_the_name_must_be_that_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: b\npeak: {fp32: 1 TFLOP/s}\nmemory_bandwidth: 1 GB/s\n")
    with pytest.raises(EstimatorError, match="name is 'b'; expected 'a'"):
        load_device(tmp_path / "a.yaml")


@pytest.fixture
def user_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The devices folder of a user's library."""
    (tmp_path / "devices" / "systems").mkdir(parents=True)
    monkeypatch.setenv("ESTIMATOR_LIBRARY", str(tmp_path))
    return tmp_path / "devices"


OUTSIDERS = """\
name: vendor-b
vendor: B
architecture: b1
peak:
  fp32: 60 TFLOP/s
  bf16: {value: 900 TFLOP/s, path: tensor, accumulate: fp32, clock: 1.8 GHz, source: "datasheet, p. 2", status: read}
memory_bandwidth: {value: 4 TB/s, uncertainty: 3 %, source: "datasheet rev 3"}
memory_capacity: 128 GiB
compute_units: 128
boost_clock: 1.8 GHz
last_level_cache: 50 MiB
power_limit: 700 W
link: {name: fabric, per_direction: 450 GB/s}
"""
SMALL = "name: {}\npeak: {{fp32: 10 TFLOP/s}}\nmemory_bandwidth: 500 GB/s\n"


def write(folder: Path, name: str, more: str = "") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(SMALL.format(name) + more)
    return path


def test_the_check_finds_numbers_without_source(user_devices: Path) -> None:
    path = write(user_devices, "a")
    shipped = len(catalogue.all_devices()) - 1
    checked, faults = catalogue.check(DeviceSpec)
    assert checked == shipped + 1
    lacking = "has no source; say where it is from and how it is known: write"
    ends = 'status: read, source: "data sheet, p. 2"}'
    assert faults == [
        f"{path}:2: peak.fp32.vector {lacking} {{value: 10 TFLOP/s, {ends}",
        f"{path}:3: memory_bandwidth {lacking} {{value: 500 GB/s, {ends}",
    ]
    assert {fault.rule for fault in faults} == {"missing-source"}
    assert catalogue.check(DeviceSpec, str(path)) == (1, faults)
    assert catalogue.check(DeviceSpec, "A") == (1, faults)


def test_a_link_that_says_nothing_is_refused(user_devices: Path) -> None:
    path = write(user_devices, "b", "link: {}\n")
    with pytest.raises(EstimatorError, match=f"{path}:4: link is empty; write its rate, such as"):
        catalogue.load_device("b")


def test_all_faults_of_form_are_reported_together(user_devices: Path) -> None:
    path = write(
        user_devices,
        "b",
        "year: 2020\nyear: 2021\nmemory_bandwith: 1 GB/s\npower_limit: 300 GB\nlink: {total: -1 GB/s}\n",
    )
    _, faults = catalogue.check(DeviceSpec, "b")
    expected = {"duplicate-key": 5, "unknown-key": 6, "wrong-unit": 7, "wrong-value": 8}
    of_form = [fault for fault in faults if fault.rule != "missing-source"]
    assert {fault.rule: int(fault.split(":")[1]) for fault in of_form} == expected
    assert [int(fault.split(":")[1]) for fault in faults if fault.rule == "missing-source"] == [2, 3]
    path.write_text("name: [")
    assert [fault.rule for fault in catalogue.check(DeviceSpec, "b")[1]] == ["yaml"]
    path.write_text(SMALL.format("c"))
    assert catalogue.check(DeviceSpec, "b")[1][0].rule == "file-name"


def test_a_wrong_key_gets_a_suggestion(user_devices: Path) -> None:
    path = user_devices / "a.yaml"
    path.write_text("name: a\npeak: {fp32: 1 TFLOP/s, bf61: 2 TFLOP/s}\nwaiver: all\npart_of: mi250x\n")
    sentences = [
        fault.split(": ", 1)[1] for fault in catalogue.check(DeviceSpec, "a")[1] if fault.rule != "missing-source"
    ]
    assert sentences == [
        "part_of is 'mi250x'; expected keys with values, of device, parts",
        "'peak.bf61' is not a key that is known here. Did you mean bf16?",
        "'waiver' is not a key that is known here. It belongs to one value: write {value: …, waiver: …} there.",
    ]


@pytest.mark.parametrize("detail", ["uncertainty: -3 %", "uncertainty: wide", "clock: 0 GHz", "clock: 1 TB/s"])
def test_a_fault_names_the_detail_of_a_number(user_devices: Path, detail: str) -> None:
    path = user_devices / "a.yaml"
    path.write_text(f"name: a\npeak: {{fp32: 1 TFLOP/s}}\nmemory_bandwidth: {{value: 1 TB/s, {detail}}}\n")
    key, value = detail.split(": ")
    with pytest.raises(EstimatorError, match=f"memory_bandwidth has the {key} '{value}'; write a"):
        load_device(str(path))


def test_a_vendors_file_of_our_form_lacks_only_sources(user_devices: Path) -> None:
    path = user_devices / "vendor-b.yaml"
    path.write_text(OUTSIDERS)
    assert {fault.rule for fault in catalogue.check(DeviceSpec, str(path))[1]} == {"missing-source"}
    assert not any(
        "memory_bandwidth" in fault or "bf16" in fault for fault in catalogue.check(DeviceSpec, str(path))[1]
    )
    assert catalogue.target_warnings(path, load_device(path)) == ()


def test_target_warnings_are_about_user_files(user_devices: Path) -> None:
    path = write(user_devices, "k20x", "boost_clock: 732 kHz\n")
    (warning,) = catalogue.target_warnings(str(path), load_device(str(path)))
    assert warning.startswith(f"{path}:4: boost_clock is 732 kHz; expected")
    assert catalogue.target_warnings("k20x", load_device("k20x")) == ()


@pytest.mark.parametrize("wrong", ["power: 12 W", "latency: 10 s", "injection_bandwidth: 25 MB/s"])
def test_a_system_with_a_slip_in_a_prefix_has_a_warning(user_devices: Path, wrong: str) -> None:
    path = user_devices / "mine.yaml"
    path.write_text(f"name: mine\ndevice: h100\nnodes: 4\ndevices_per_node: 8\n{wrong}\n")
    warnings = catalogue.system_warnings(load_system(path))
    assert any(warning.startswith(f"mine: {wrong.partition(':')[0]} ") for warning in warnings)
    assert catalogue.system_warnings(load_system("frontier")) == ()


@pytest.mark.parametrize(("module", "part"), [("mi250x", "mi250x-gcd"), ("k80-board", "k80-gpu")])
def test_a_module_has_a_warning_and_its_part_has_none(module: str, part: str) -> None:
    (warning,) = catalogue.target_warnings(module, load_device(module))
    assert f"{module} is a module of 2 {part}" in warning
    assert catalogue.target_warnings(part, load_device(part)) == ()


@pytest.mark.parametrize("name", ["Blue Gene/Q node (Mira)", "blue gene/q node (mira)"])
def test_a_name_may_hold_a_slash(name: str) -> None:
    assert load_device(name).name == "bgq-node"
    assert not catalogue.target_warnings(name, load_device(name))


def test_a_path_without_ending_is_a_file_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text(SMALL.format("mine"))
    assert load_device(tmp_path / "mine").name == "mine"
    with pytest.raises(EstimatorError, match=r"Unknown device 'Blue Gene/P node \(Mira\)'\. Did you mean bgq-node"):
        load_device("Blue Gene/P node (Mira)")


def test_a_fault_names_the_line_of_its_value(user_devices: Path) -> None:
    path = write(user_devices, "a", "power_limit:\n  value: 300 kW\n  source: x\n  status: read\n")
    faults = [fault for fault in catalogue.check(DeviceSpec, "a")[1] if fault.rule == "plausible"]
    assert faults[0].startswith(f"{path}:4: power_limit is 300 kW; expected")


def test_an_alias_of_two_files_is_a_fault(user_devices: Path) -> None:
    write(user_devices, "a", "aliases: [One, b]\n")
    write(user_devices, "b", "aliases: [ONE]\n")
    faults = [fault for fault in catalogue.check(DeviceSpec)[1] if fault.rule == "duplicate-alias"]
    assert [fault.split(": ", 1)[1] for fault in faults] == [
        "the alias 'One' also names b; delete it in one file",
        "the alias 'b' also names b; delete it in one file",
        "the alias 'ONE' also names a; delete it in one file",
    ]
    assert load_device("one").name == "a"


SYSTEM = "name: {}\nnodes: 2\ndevices_per_node: 4\ndevice: {}\n"


def test_a_system_may_name_a_device_beside_its_own_file(user_devices: Path) -> None:
    write(user_devices / "systems", "mine")
    path = user_devices / "systems" / "s.yaml"
    path.write_text(SYSTEM.format("s", "mine.yaml"))
    assert load_device(load_system("s").device).name == "mine"
    assert load_device(load_system(path).device).name == "mine"
    assert {fault.rule for fault in catalogue.check(SystemSpec, "s")[1]} == {"missing-source"}
    path.write_text(SYSTEM.format("s", "mine.yaml") + "yaer: 2020\n")
    assert {fault.rule for fault in catalogue.check(SystemSpec, "s")[1]} == {"missing-source", "unknown-key"}
    path.write_text(SYSTEM.format("s", "../none.yaml"))
    (fault,) = (fault for fault in catalogue.check(SystemSpec, "s")[1] if fault.rule == "unknown-device")
    assert fault.startswith(f"{path}:4: ")
    assert "none.yaml: there is no such file" in fault


@pytest.mark.parametrize(("name", "device"), [("mine", "{}/mine.yaml"), ("v100", "v100"), ("summit", "summit")])
def test_a_system_may_name_a_device_beside_its_own_file_without_its_ending(
    name: str, device: str, tmp_path: Path
) -> None:
    """A shipped name stays one: a system may have the name of its device."""
    path = tmp_path / "s.yaml"
    path.write_text(SYSTEM.format("s", name))
    assert load_system(path).device == name
    write(tmp_path, name)
    assert load_system(path).device == device.format(tmp_path)


def test_a_device_beside_a_systems_file_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SYSTEM.format("s", "mine"))
    assert "unknown-device" in {fault.rule for fault in catalogue.check(SystemSpec, str(path))[1]}
    write(tmp_path, "mine")
    assert {fault.rule for fault in catalogue.check(SystemSpec, str(path))[1]} == {"missing-source"}


def test_the_users_file_comes_before_the_shipped_one(user_devices: Path) -> None:
    write(user_devices, "k20x", "aliases: [V100]\n")
    assert load_device("K20X").memory_bandwidth == load_device("v100").memory_bandwidth
    assert str(load_device("k20x").memory_bandwidth) == "500 GB/s"


BLOCKS = [
    ("aliases: [A b, 'C: d', \"e\"]\n", ["a b", "c: d", "e"]),
    ("aliases:\n  - A b\n  # more\n\n  - c\n", ["a b", "c"]),
    ("aliases:\n- A b\n- c\n", ["a b", "c"]),
    ("aliases: [A b,\n  c]\nyear: 2020\n", ["a b", "c"]),
    ("'aliases' : [A b]\r\n", ["a b"]),
    ("notes: ['aliases: [no]']\nvendor: |\n  x\n  aliases: [no]\n", []),
    ("aliases: text\n", []),
    ("aliases: [2080]\n", ["2080"]),
    ("'aliases': [A b]\n", ["a b"]),
]


@pytest.mark.parametrize(("block", "expected"), BLOCKS)
@pytest.mark.parametrize("place", ["before", "after"])
def test_aliases_are_read_without_parsing_the_file(
    block: str, expected: list[str], place: str, user_devices: Path
) -> None:
    text = SMALL.format("a")
    (user_devices / "a.yaml").write_text(block + text if place == "before" else text + block)
    for alias in expected:
        assert catalogue.find("device", alias.upper(), catalogue.DEVICE_FILES) == user_devices / "a.yaml"
    assert source_device("no") is None


def test_aliases_in_a_json_file_are_read(user_devices: Path) -> None:
    device = {"name": "a", "peak": {"fp32": "1 TFLOP/s"}, "aliases": ["A b"], "memory_bandwidth": "1 GB/s"}
    for indent in (None, 2):
        (user_devices / "a.yaml").write_text(json.dumps(device, indent=indent))
        assert load_device("a B").name == "a"


def test_a_broken_file_hides_no_other(user_devices: Path) -> None:
    path = write(user_devices, "a", "aliases: [x\n")
    assert load_device("V100").name == "v100-sxm2-16gb"
    with pytest.raises(EstimatorError, match="this is not YAML") as caught:
        load_device("x")
    assert str(path) in str(caught.value)
    assert [fault.rule for fault in catalogue.check(DeviceSpec)[1]] == ["yaml"]


def test_a_users_file_may_take_a_shipped_alias(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "devices").mkdir()
    text = "name: h100\npeak: {fp32: {value: 60 TFLOP/s, source: me}}\nmemory_bandwidth: {value: 3 TB/s, source: me}\n"
    (tmp_path / "devices" / "h100.yaml").write_text(text)
    monkeypatch.setenv("ESTIMATOR_LIBRARY", str(tmp_path))
    assert load_device("H100").name == "h100"
    assert [fault for fault in catalogue.check(DeviceSpec)[1] if fault.rule == "duplicate-alias"] == []


def test_a_file_is_parsed_anew_where_it_changed(tmp_path: Path) -> None:
    path = tmp_path / "toy.yaml"
    for bandwidth in ("1 TB/s", "2 TB/s"):
        path.write_text(f"name: toy\npeak: {{fp32: 10 TFLOP/s}}\nmemory_bandwidth: {bandwidth}\n", encoding="utf-8")
        first = load_device(path)
        assert first.memory_bandwidth is not None
        assert first.memory_bandwidth.value == float(bandwidth.split()[0]) * 1e12
        assert catalogue._read(DeviceSpec, path) is catalogue._read(DeviceSpec, path)


def test_what_a_caller_changes_is_not_what_the_next_one_gets() -> None:
    load_device("h100").peak.clear()
    assert "fp32" in load_device("h100").peak


def test_a_shipped_device_is_read_from_a_deleted_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    shipped = ROOT / "devices" / "k80-gpu.yaml"
    assert catalogue._read(DeviceSpec, shipped).name == "k80-gpu"
