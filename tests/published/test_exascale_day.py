"""The shipped study of a day of five large machines over Titan: every cell, its campaign, and what its report says."""

from collections.abc import Callable
from pathlib import Path

import pytest

from estimator.core.types import StudyResult
from estimator.reports import study_documents

MACHINES = ["frontier", "aurora", "el-capitan", "jupiter", "alps"]
WORKLOADS = {
    "p1b1", "p1b2", "p1b3", "tc1", "nt3", "uno", "combo", "p2b1", "p3b1", "p3b2", "p3b3",
}  # fmt: skip


@pytest.fixture
def result(shipped_study: Callable[[str], StudyResult]) -> StudyResult:
    return shipped_study("exascale-day")


@pytest.mark.slow
def test_every_machine_runs_all_eleven_benchmarks(result: StudyResult) -> None:
    assert result.machines == ["titan", *MACHINES]
    assert {estimate.profile.workload.name for estimate in result.estimates.values()} == WORKLOADS
    assert not result.refusals
    assert list(result.foms) == MACHINES
    document = study_documents.figures_of_merit(result)
    for target in document["targets"].values():
        for unit in target["units"].values():
            assert unit["energy_j"]["mid"] > 0
            assert unit["fits"] is True


@pytest.mark.slow
def test_the_workflow_has_three_phases_on_every_machine(result: StudyResult) -> None:
    campaigns = study_documents.figures_of_merit(result)["campaigns"]
    for campaign in campaigns.values():
        assert {name: phase["count"] for name, phase in campaign["phases"].items()} == {
            "COMBO (search)": 100_000, "UNO (ensemble)": 1_000_000, "UNO (inference)": 10_000,
        }  # fmt: skip
        assert campaign["energy_kwh"]["mid"] > 0
    assert all(campaigns[name]["time_s"]["mid"] < campaigns["titan"]["time_s"]["mid"] for name in MACHINES)


@pytest.mark.slow
def test_the_report_says_scenario_memory_energy_and_what_is_assumed(shipped_report: Callable[[str], Path]) -> None:
    text = (shipped_report("exascale-day") / "report.html").read_text("utf-8")
    for words in (
        "The host: dispatch (every machine and unit)", "energy per unit [kWh]", "5.40 GiB of 5.59 GiB",
        "<h2>A campaign of 100,000 COMBO", "Assumed: 10,000 samples of P3B2 and P3B3", "not counted",
    ):  # fmt: skip
        assert words in text, words
