"""Energy and price of units of work: numbers of the chain with their sources, and what is refused."""

import json
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import StudyResult
from estimator.reports import study_documents
from estimator.reports.html import write_report
from estimator.studies import expenses
from estimator.studies.run import run_study

GIVEN = """title: t
baseline: old
machines:
  old: {nodes: 10, devices_per_node: 4, usd_per_device_hour: 3 USD}
  new: {nodes: 20, usd_per_node_hour: 5 USD}
units_of_work:
  A: {time_per_unit: {old: 2 h, new: 30 min}}
"""
PROFILED = """title: t
baseline: old
draws: 20
machines:
  old: {system: titan}
  new: {device: v100-pcie-32gb, nodes: 3, devices_per_node: 4, pue: 1.2, usd_per_node_hour: 8 USD}
units_of_work:
  A: {profile: dump.csv, batch_size: 8, samples: 80, load_time: 10 s, host: none}
"""
OPS = "op_type,op_class,precision,m,n,k,time_s\nMatMul,gemm,fp32,4096,4096,4096,0.5\n"


def run(tmp_path: Path, text: str) -> StudyResult:
    (tmp_path / "dump.csv").write_text(OPS)
    (tmp_path / "study.yaml").write_text(text)
    return run_study(tmp_path / "study.yaml")


def units(result: StudyResult) -> dict[str, dict[str, object]]:
    actual = study_documents.figures_of_merit(result)
    return {"old": actual["baseline_units"]["A"], "new": actual["targets"]["new"]["units"]["A"]}


def test_given_times_have_a_price_and_no_energy(tmp_path: Path) -> None:
    actual = units(run(tmp_path, GIVEN))
    assert [unit["usd"]["mid"] for unit in actual.values()] == pytest.approx([4 * 3 * 2, 5 * 0.5])  # type: ignore[index]
    assert [unit["energy_j"] for unit in actual.values()] == [None, None]


def test_without_a_price_there_is_none(tmp_path: Path) -> None:
    assert units(run(tmp_path, GIVEN.replace(", usd_per_node_hour: 5 USD", "")))["new"]["usd"] is None


def test_the_energy_of_a_unit_is_that_of_its_parts_times_pue(tmp_path: Path) -> None:
    n = {name: number.samples for name, number in run(tmp_path, PROFILED).chains["new", "A"].items()}
    steps_s = n["time_per_unit_s"] - 10
    device_j = n["device_power_w"] * steps_s + n["idle_power_w"] * 10
    assert n["energy_j"] == pytest.approx(1.2 * (device_j + n["node_overhead_w"] / 4 * n["time_per_unit_s"]))
    assert n["energy_kwh"] == pytest.approx(n["energy_j"] / 3.6e6)
    assert n["step_energy_j"] == pytest.approx(n["device_power_w"] * n["step_s"])
    assert n["usd"] == pytest.approx(8 / 4 * n["time_per_unit_s"] / 3600)


def test_every_number_says_where_it_comes_from(tmp_path: Path) -> None:
    result = run(tmp_path, PROFILED)
    old, new = result.chains["old", "A"], result.chains["new", "A"]
    assert (old["pue"].samples[0], old["pue"].source) == (1, expenses.NOT_COUNTED)
    assert (new["pue"].samples[0], new["pue"].source) == (1.2, "study file")
    assert str(old["node_overhead_w"].source).startswith("system titan: power less 0.9 of its devices' limits")
    assert str(new["node_overhead_w"].source).startswith("assumed")
    assert old["energy_j"].level == "device"
    ids = set(result.numbers())
    assert all(set(number.inputs) <= ids for number in result.numbers().values())


def test_a_price_needs_its_unit_and_one_basis(tmp_path: Path) -> None:
    for written, words in {
        "usd_per_node_hour: 3": "usd_per_node_hour is '3', which is a plain number; write an amount of money such as",
        "usd_per_node_hour: 3 EUR": "which is no unit known here; write an amount of money such as '3 USD'",
        "usd_per_node_hour: 1e308 USD": "is '1e308 USD', which is no price; write from 1e-30 to 1e+30 USD",
        "usd_per_node_hour: 1e-300 USD": "is '1e-300 USD', which is no price; write from 1e-30 to 1e+30 USD",
        "usd_per_node_hour: 3 USD, usd_per_device_hour: 1 USD": "names both 'usd_per_node_hour' and",
        "usd_per_device_hour: 1 USD": "new has a price of a device, but no 'devices_per_node'; add it",
        "pue: 12": "pue is 12, but no facility draws that many times its computers' power; write it anew",
        "pue: 0.9": "pue is 0.9, but a facility draws what its computers draw and more; write 1 or above",
    }.items():
        with pytest.raises(EstimatorError) as refusal:
            run(tmp_path, GIVEN.replace("usd_per_node_hour: 5 USD", written))
        assert words in str(refusal.value)


@pytest.mark.slow
def test_the_report_shows_energy_and_price_where_they_are_known(tmp_path: Path) -> None:
    html, results = write_report(run(tmp_path, PROFILED), tmp_path)
    text = html.read_text("utf-8")
    assert "energy per unit [kWh]" in text
    assert "price per unit [USD]" in text
    by_id = {number["id"]: number for number in json.loads(results.read_text("utf-8"))["numbers"]}
    assert by_id["new/A/energy_j"]["formula"] == "(energy of the device + energy of the rest of the node) × PUE"
    (tmp_path / "given").mkdir()
    plain = GIVEN.replace(", usd_per_device_hour: 3 USD", "").replace(", usd_per_node_hour: 5 USD", "")
    html, _ = write_report(run(tmp_path / "given", plain), tmp_path / "given")
    assert "per unit [" not in html.read_text("utf-8")
