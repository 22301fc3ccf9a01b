"""``figure_of_merit`` and ``write_report`` in Python."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from estimator.api.merit import FigureOfMeritResult, figure_of_merit, write_report
from estimator.core.errors import EstimatorError
from estimator.core.types import StudyResult
from estimator.studies.run import run_study
from tests.cli.command_line import read
from tests.reports.test_html import Page
from tests.studies.audit.tables import write_study

LECTURE: dict[str, Any] = {  # must give 82.5973 for machine-a
    "title": "The lecture's figure-of-merit example",
    "baseline": "titan",
    "figure_of_merit": {"mean": "harmonic", "of": "rates", "threshold": 50},
    "machines": {"titan": {"nodes": 18688}, "machine-a": {"nodes": 94000, "node_name": "nodelet"}},
    "units_of_work": {
        "P1": {"time_per_unit": {"titan": "60 h", "machine-a": "4 h"}},
        "P2": {"time_per_unit": {"titan": "6 h", "machine-a": "0.5 h"}},
        "P3": {"time_per_unit": {"titan": "12 h", "machine-a": "0.25 h"}},
    },
}


@pytest.fixture(scope="module")
def result(shipped_study: Callable[[str], StudyResult]) -> FigureOfMeritResult:
    return FigureOfMeritResult(shipped_study("candle-fom"))


def test_the_document_is_that_of_the_command_line() -> None:
    assert figure_of_merit("lecture-example").document() == read("fom", "reports/lecture-example/study.yaml")


def test_a_study_may_be_a_mapping() -> None:
    actual = figure_of_merit(LECTURE)
    assert actual.fom.loc["machine-a", "fom"] == pytest.approx(82.5973, abs=5e-5)
    assert bool(actual.fom.loc["machine-a", "meets_threshold"])
    assert actual.study.inputs.keys() == {"study"}
    assert actual.study.inputs == figure_of_merit(LECTURE).study.inputs
    assert repr(actual).splitlines()[1:] == ["  machine-a: 82.5973"]


def test_faults_of_a_mapping_name_no_file_and_no_line() -> None:
    with pytest.raises(EstimatorError) as error:
        figure_of_merit({**LECTURE, "mashines": 3, "baseline": 5})
    assert sorted(error.value.faults) == [
        "study: 'mashines' is not a key that is known here. Did you mean machines?",
        "study: baseline is 5; expected text",
    ]
    with pytest.raises(EstimatorError, match="study: 'titan2' is not one of the machines titan, machine-a"):
        figure_of_merit({**LECTURE, "baseline": "titan2"})


def test_files_of_a_mapping_are_named_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").write_text("name: mine\npeak: {fp32: 10 TFLOP/s}\nmemory_bandwidth: 1 TB/s\n")
    monkeypatch.chdir(tmp_path)
    machines = {"old": {"system": "titan"}, "new": {"device": Path("mine.yaml"), "nodes": 10, "devices_per_node": 4}}
    unit = {"profile": "p1b3", "samples": 1000, "epochs": 1}
    actual = figure_of_merit(
        {"title": "t", "baseline": "old", "draws": 20, "machines": machines, "units_of_work": {"P": unit}}
    )
    assert actual.estimates["new", "P"].estimate.target.name == "mine"


def test_a_row_for_each_machine_and_each_unit_on_it(result: FigureOfMeritResult) -> None:
    fom, units, study = result.fom, result.units, result.study
    assert fom.index.tolist() == [name for name in study.machines if name != study.baseline]
    assert (fom["fom_low"] < fom["fom"]).all()
    assert units["machine"].iloc[0] == study.baseline
    assert len(units) == len(study.pairs)
    assert units["ratio"].iloc[0] == 1
    assert (units["units_low_per_day"] < units["units_per_day"]).all()


def test_estimates_are_results(result: FigureOfMeritResult) -> None:
    for (machine, unit), estimate in result.estimates.items():
        assert estimate.step_s.mid > 0
        assert (machine, unit) in result.study.pairs
    assert len(next(iter(result.estimates.values())).timeline)


def test_it_shows_itself(result: FigureOfMeritResult) -> None:
    assert len(repr(result).splitlines()) == 1 + len(result.fom)
    assert len(repr(result.study)) < 200
    page = Page(result._repr_html_())
    assert page.tags.count("table") == 3  # figures, units, energy
    assert len(result.plot().axes[0].get_yticklabels()) == len(result.fom)
    assert all(any(text.startswith(left_open) for text in result.assumptions) for left_open in result.left_open)
    assert isinstance(result.warnings, tuple)


@pytest.mark.slow
def test_a_study_of_tables_alone_has_no_figure(tmp_path: Path) -> None:
    audit = FigureOfMeritResult(run_study(write_study(tmp_path, {"old": "9 s", "new": "3 s"})))
    assert repr(audit).endswith(": no figure of merit")
    assert "no figure of merit" in audit._repr_html_()
    with pytest.raises(EstimatorError, match="has no machines and so no figure of merit"):
        _ = audit.fom


def test_a_report_is_written_of_either_result(tmp_path: Path) -> None:
    actual = figure_of_merit(LECTURE)
    paths = write_report(actual, tmp_path / "a")
    assert [path.name for path in paths] == ["report.html", "results.json"]
    assert paths[0].read_bytes() == write_report(actual.study, str(tmp_path / "b"))[0].read_bytes()
