"""``estimator devices`` and ``estimator systems``: which rows are chosen, and one JSON document of each form."""

import csv
import json
import re
from pathlib import Path

import pytest

from estimator.devices import lints
from estimator.devices.specs.table.columns import DEVICES, SYSTEMS
from tests.cli.command_line import read, run, run_process

LAYOUTS = {"devices": DEVICES, "systems": SYSTEMS}


def test_a_document_for_one_and_for_all() -> None:
    assert read("devices")["k20x"]["peak"]["fp32"]["vector"]["value"] == 3.95e12
    assert read("systems", "summit")["nodes"]["value"] == 4608


def test_a_document_for_several_has_their_ratios() -> None:
    document = read("devices", "a100-sxm4-80gb", "h100-sxm5-80gb")
    assert list(document) == ["devices", "ratios"]
    bandwidths = [device["memory_bandwidth"]["value"] for device in document["devices"].values()]
    assert document["ratios"]["memory_bandwidth"] == {"h100-sxm5-80gb": pytest.approx(bandwidths[1] / bandwidths[0])}
    assert list(read("systems", "titan", "summit")["systems"]) == ["titan", "summit"]


def test_filters_hold_together_and_sorting_orders_the_document() -> None:
    words = ("--where", "memory_bandwidth >= 2 TB/s", "--where", "vendor=nvidia", "--sort", "-memory_bandwidth")
    document = read("devices", *words)
    bandwidths = [device["memory_bandwidth"]["value"] for device in document.values()]
    assert len(document) >= 2
    assert bandwidths == sorted(bandwidths, reverse=True)
    assert bandwidths[-1] >= 2e12
    assert {device["vendor"] for device in document.values()} == {"NVIDIA"}
    assert read("devices", "--where", "year > 3000") == {}


def test_csv_holds_the_table(tmp_path: Path) -> None:
    run("devices", "--columns", "year,memory_bandwidth", "--csv", str(tmp_path / "some.csv"))
    run("devices", "--csv", str(tmp_path / "all.csv"))
    some, full = (list(csv.DictReader((tmp_path / n).read_text().splitlines())) for n in ("some.csv", "all.csv"))
    assert list(some[0]) == ["name", "year", "memory_bandwidth [B/s]", "memory_bandwidth status"]
    assert {row["name"]: row["memory_bandwidth [B/s]"] for row in some}["v100-sxm2-16gb"] == "900000000000.0"
    assert len(full) == len(some)
    assert some[0].keys() <= full[0].keys()


def test_the_csv_of_a_comparison_has_ratios(tmp_path: Path) -> None:
    names = "a100-sxm4-80gb", "h100-sxm5-80gb"
    run("devices", *names, "--csv", str(tmp_path / "two.csv"))
    first, second = csv.DictReader((tmp_path / "two.csv").read_text().splitlines())
    ratios = read("devices", *names)["ratios"]
    assert first["memory_bandwidth ratio"] == "1.0"
    assert float(second["memory_bandwidth ratio"]) == ratios["memory_bandwidth"][names[1]]


@pytest.mark.slow
def test_a_system_of_an_unknown_device_stays_in_the_table(tmp_path: Path) -> None:
    (tmp_path / "devices" / "systems").mkdir(parents=True)
    text = "name: mine\ndevice: v1O0\nnodes: 2\ndevices_per_node: 4\nrmax: 1 PFLOP/s\n"
    (tmp_path / "devices" / "systems" / "mine.yaml").write_text(text)
    library = {"ESTIMATOR_LIBRARY": str(tmp_path)}
    done = run_process("systems", "--columns", "device,fp64,rmax", environment=library)
    assert re.search(r"^mine +v1O0 +1\?? *$", done.stdout, re.MULTILINE)
    assert "warning: mine: Unknown device 'v1O0'" in done.stderr
    document = json.loads(run_process("systems", "mine", "--json", environment=library).stdout)
    assert document["rmax"]["value"] == 1e15


@pytest.mark.parametrize("what", ["devices", "systems"])
def test_the_shipped_files_pass_their_check(what: str) -> None:
    document = read(what, "--check")
    assert document["checked"] == len(read(what))
    assert document["faults"] == document["findings"] == []


@pytest.mark.parametrize("what", ["devices", "systems"])
def test_columns_help_is_a_document_too(what: str) -> None:
    assert read(what, "--columns", "help").keys() == LAYOUTS[what].columns.keys()


@pytest.mark.parametrize("what", ["devices", "systems"])
def test_the_help_names_the_columns_and_the_lints(what: str) -> None:
    text = run(what, "--help").stdout
    words = set(re.split(r"[\s,]+", text))
    assert words >= LAYOUTS[what].families().keys()
    assert all(f" {name} " in text for name in lints.help_by_lint())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("devices", "v10O"), "Unknown device 'v10O'. Did you mean v100-sxm2-16gb?"),
        (("systems", "sumit"), "Unknown system 'sumit'. Did you mean summit?"),
        (("devices", "--where", "bandwith > 1 GB/s"), "Unknown column 'bandwith'. Did you mean memory_bandwidth?"),
        (("devices", "--sort", "-yeer"), "Unknown column 'yeer'. Did you mean year?"),
        (("systems", "--columns", "rmx"), "Unknown column 'rmx'. Did you mean rmax?"),
    ],
)
def test_faults_of_arguments_are_one_sentence(words: tuple[str, ...], sentence: str) -> None:
    (line,) = run(*words, code=1).stderr.splitlines()
    assert sentence in line


def test_names_and_conditions_do_not_mix() -> None:
    assert "give them without names" in run("devices", "v100", "--where", "bf16", code=2).stderr


def test_nothing_is_noted_of_numbers_where_none_are_shown() -> None:
    assert "numbers" not in run("devices", "--columns", "name").stdout
    assert "numbers shown are unverified" in run("devices", "--columns", "name,year,fp16").stdout


@pytest.mark.parametrize("what", LAYOUTS)
@pytest.mark.parametrize(
    ("words", "lost"),
    [
        (("--check", "--csv", "table.csv"), "--csv"),
        (("--check", "--where", "year > 2020"), "--where"),
        (("--check", "--sort", "name"), "--sort"),
        (("--check", "--columns", "help"), "--columns"),
        (("--columns", "help", "--csv", "table.csv"), "--csv"),
        (("--columns", "help", "--where", "year > 2020"), "--where"),
        (("--columns", "help", "--sort", "name"), "--sort"),
    ],
)
def test_an_option_without_effect_is_refused(
    what: str, words: tuple[str, ...], lost: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = run(what, *words, code=2)
    assert not shown.stdout
    option = "--check" if "--check" in words else "--columns help"
    assert f"{lost} changes nothing with {option}; leave it out" in shown.stderr
    assert not list(tmp_path.iterdir())
