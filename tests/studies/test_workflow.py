"""A workflow of counted units: what a campaign takes on each machine, and where it is shown."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from estimator.cli.render.fom import render_fom
from estimator.core.types import StudyResult
from estimator.reports import documents, study_documents
from estimator.reports.html import write_report
from estimator.rollup.scaling import expected_maximum
from estimator.studies.run import run_study
from tests.cli.command_line import printed

GIVEN = """title: t
baseline: old
machines:
  old: {nodes: 10}
  new: {nodes: 20, availability: 50 %, usd_per_node_hour: 2 USD}
units_of_work:
  search: {time_per_unit: {old: 2 h, new: 1 h}, count: 25}
  ensemble: {time_per_unit: {old: 4 h, new: 1 h}, count: 10}
  other: {time_per_unit: {old: 1 h, new: 1 h}}
"""
PROFILED = """title: t
baseline: old
draws: 20
machines:
  old: {device: v100-sxm2-16gb, nodes: 2, devices_per_node: 4}
  new: {device: a100-sxm4-40gb, nodes: 2, devices_per_node: 4}
units_of_work:
  search: {profile: p1b2, count: 100}
  uq: {profile: combo, mode: inference, count: 10, input: none}
"""
ALONE = PROFILED.replace("  uq: {profile: combo, mode: inference, count: 10, input: none}\n", "")
REFUSED = PROFILED.replace("profile: combo, ", "profile: combo, precision: bf16, ")


def run(folder: Path, text: str) -> StudyResult:
    (folder / "study.yaml").write_text(text)
    return run_study(folder / "study.yaml")


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    return run(tmp_path_factory.mktemp("profiled"), PROFILED)


def test_phases_run_in_waves_one_after_another(tmp_path: Path) -> None:
    """Old: 3 waves of 10 nodes for 25 units of 2 h, then 1 of 4 h. New: 2 waves of 1 h, then 1; up half the time."""
    actual = study_documents.figures_of_merit(run(tmp_path, GIVEN))["campaigns"]
    assert actual["old"]["time_s"]["mid"] == pytest.approx((3 * 2 + 4) * 3600)
    assert actual["new"]["time_s"]["mid"] == pytest.approx((2 * 1 + 1) * 3600 / 0.5)
    assert actual["new"]["campaigns_per_day"]["mid"] == pytest.approx(4)
    assert actual["new"]["ratio"]["mid"] == pytest.approx(10 / 6)
    assert list(actual["new"]["phases"]) == ["search", "ensemble"]
    assert actual["new"]["phases"]["search"] == {"count": 25, "time_s": actual["new"]["phases"]["search"]["time_s"]}
    assert (actual["old"]["usd"], actual["new"]["usd"]["mid"]) == (None, pytest.approx(35 * 2))


@pytest.mark.slow
def test_a_phase_ends_with_its_slowest_unit(tmp_path: Path, profiled: StudyResult) -> None:
    """100 units on 8 devices are 13 waves; devices differ unless the study says otherwise."""
    assumed = profiled.chains["new", "search"]
    same = ALONE.replace("count: 100}", "count: 100, spread: 0}")
    without_spread = run(tmp_path, same).chains["new", "search"]
    assert without_spread["phase_s"].samples == pytest.approx(13 * without_spread["time_per_unit_s"].samples)
    assert assumed["phase_s"].samples[0] > without_spread["phase_s"].samples[0]
    assert assumed["spread"].source == "assumed, as devices of one kind differ (rollup/scaling.py)"
    assert without_spread["spread"].source == "study file"


@pytest.mark.slow
@pytest.mark.parametrize(("count", "each"), [(1, 1), (8, 1), (9, 2), (12, 2), (100, 4)])
def test_no_more_trainings_share_a_device_than_the_campaign_has(tmp_path: Path, count: int, each: int) -> None:
    """Eight devices, each of which may run four."""
    text = ALONE.replace("count: 100}", f"count: {count}, trainings_per_device: 4, sharing: fused}}")
    result = run(tmp_path, text)
    chain = result.chains["new", "search"]
    assert chain["trainings_per_device"].samples[0] == 4  # of a machine that goes on and on
    codes = [note.code for note in result.estimates["new", "search"].notes]
    assert ("fewer-trainings" in codes) == (each < 4)
    own = {name.removeprefix("campaign."): number for name, number in chain.items() if name.startswith("campaign.")}
    actual = own or chain
    assert actual["trainings_per_device"].samples[0] == each
    assert chain["phase_s"] is actual["phase_s"]
    assert actual["phase_s"].samples[0] >= actual["time_per_unit_s"].samples[0]
    numbers = result.numbers()
    assert all(set(number.inputs) <= numbers.keys() for number in numbers.values())


def test_models_per_minute_are_those_to_the_last_stop(tmp_path: Path) -> None:
    """New: 25 units in 2 waves of 20, whose devices differ by 10 %; up half the time."""
    text = GIVEN.replace("count: 25", "count: 25, spread: 10 %") + "figure_of_merit: {preset: mlperf-hpc}\n"
    result = run(tmp_path, text.replace("  other: {time_per_unit: {old: 1 h, new: 1 h}}\n", ""))
    actual = {name: number.samples[0] for name, number in result.chains["new", "search"].items()}
    slowest = np.exp(0.1 * expected_maximum(20))
    assert actual["phase_s"] == pytest.approx(min(2 * slowest, 2) * 3600 / 0.5)
    assert actual["counted_per_day"] == pytest.approx(25 * 86400 / actual["phase_s"])
    rates = [result.chains["new", unit]["counted_per_day"].samples[0] for unit in ("search", "ensemble")]
    assert result.foms["new"].means["new"][0] == pytest.approx(np.sqrt(np.prod(rates)) / 1440)
    assert "new/search/counted_per_day" in result.fom_numbers["new/fom"].inputs


def test_without_counts_there_is_no_campaign(tmp_path: Path) -> None:
    result = run(tmp_path, GIVEN.replace(", count: 25", "").replace(", count: 10", ""))
    assert study_documents.figures_of_merit(result)["campaigns"] is None
    html, _ = write_report(result, tmp_path)
    assert 'id="campaign"' not in html.read_text("utf-8")


def test_inference_is_one_pass_whatever_the_epochs_of_its_training(profiled: StudyResult) -> None:
    chain = profiled.chains["new", "uq"]
    assert chain["epochs"].samples[0] == 1
    assert chain["epochs"].source == "one pass of inference"
    assert chain["waves"].samples[0] == 2
    assert chain["phase_energy_kwh"].samples[0] == pytest.approx(10 * chain["energy_kwh"].samples[0])


def test_every_number_of_a_campaign_is_derived(profiled: StudyResult) -> None:
    numbers = profiled.numbers()
    assert {"old/campaign_s", "new/campaign_s", "new/campaign_ratio", "new/campaign_energy_kwh"} <= numbers.keys()
    assert all(set(number.inputs) <= numbers.keys() for number in numbers.values())
    assert numbers["new/campaign_s"].inputs == ("new/search/phase_s", "new/uq/phase_s")
    assert numbers["new/campaign_ratio"].level == "system"


@pytest.mark.slow
def test_a_machine_that_cannot_run_a_phase_has_no_campaign(tmp_path: Path) -> None:
    result = run(tmp_path, REFUSED)
    actual = study_documents.figures_of_merit(result)["campaigns"]
    assert actual["old"] is None
    assert actual["new"]["time_s"]["mid"] > 0
    assert actual["new"]["ratio"] is None
    html, results = write_report(result, tmp_path)
    assert "it cannot run all of these units" in html.read_text("utf-8")
    assert json.loads(results.read_text("utf-8"))["figure_of_merit"]["campaigns"]["old"] is None
    shown = printed(partial(render_fom, documents.plain(study_documents.figures_of_merit(result)), "t")).stdout
    assert "cannot run all of its units" in shown


def test_people_see_the_campaign_of_each_machine(tmp_path: Path) -> None:
    result = run(tmp_path, GIVEN)
    shown = printed(partial(render_fom, documents.plain(study_documents.figures_of_merit(result)), "t")).stdout
    assert [" ".join(line.split()) for line in shown.splitlines()][-2:] == [
        "old 10.00 h 2.4 1",
        "new 6.000 h 4 1.66667",
    ]
    html, _ = write_report(result, tmp_path)
    assert "<h2>A campaign of 25 search, then 10 ensemble</h2>" in html.read_text("utf-8")
