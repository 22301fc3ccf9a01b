"""A unit that a machine cannot run is a cell that says why; the rest of the study goes on."""

import json
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import StudyResult
from estimator.reports import study_documents
from estimator.reports.html import write_report
from estimator.studies.run import run_study

STUDY = """title: t
baseline: old
draws: 20
machines:
  old: {device: v100-sxm2-16gb, nodes: 10}
  new: {device: a100-sxm4-40gb, nodes: 10}
  tiny: {device: tiny.yaml, nodes: 10}
units_of_work:
  small: {profile: p1b2}
  large: {profile: nt3}
"""
TINY = "name: tiny\npeak: {fp32: 60 TFLOP/s}\nmemory_bandwidth: 1 TB/s\nmemory_capacity: 2 GiB\n"
FIGURES = (("fom", "2"), ("epoch_s", "2 s"))
PRINTED = "  - {quantity: %s, printed: %s, machine: %s, unit: large, source: s}\n"


def run(folder: Path, text: str) -> StudyResult:
    (folder / "tiny.yaml").write_text(TINY)
    (folder / "study.yaml").write_text(text)
    return run_study(folder / "study.yaml")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    """The study with a figure that its source prints of either machine, of a whole and of a cell."""
    figures = [PRINTED % (*figure, machine) for figure in FIGURES for machine in ("new", "tiny")]
    return run(tmp_path_factory.mktemp("cells"), f"{STUDY}published:\n{''.join(figures)}")


@pytest.mark.slow
def test_a_machine_without_the_memory_has_a_cell_that_says_why(result: StudyResult) -> None:
    assert list(result.foms) == ["new"]
    actual = study_documents.figures_of_merit(result)["targets"]
    refused = actual["tiny"]["units"]["large"]
    assert refused["fits"] is False
    assert refused["time_per_unit_s"] is refused["ratio"] is None
    assert refused["refused"].startswith("nt3: the step needs at least")
    assert "tiny has 2.000 GiB" in refused["refused"]
    assert actual["tiny"]["units"]["small"]["units_per_day"]["mid"] > 0
    assert actual["new"]["units"]["large"]["fits"] is True
    assert actual["new"]["units"]["large"]["refused"] is None
    assert refused.keys() == actual["new"]["units"]["large"].keys()


def test_a_figure_is_never_that_of_the_units_that_are_left(result: StudyResult) -> None:
    target = study_documents.figures_of_merit(result)["targets"]["tiny"]
    assert target["fom"] is target["p_threshold"] is target["dominant_unit"] is None
    assert target["refused"].startswith("large on tiny: nt3: the step needs at least")


@pytest.mark.slow
def test_a_baseline_that_is_unfit_leaves_no_figure_but_rates(tmp_path: Path) -> None:
    actual = study_documents.figures_of_merit(run(tmp_path, STUDY.replace("baseline: old", "baseline: tiny")))
    assert [target["fom"] for target in actual["targets"].values()] == [None, None]
    assert actual["targets"]["new"]["refused"].startswith("large on tiny: ")
    large = actual["targets"]["new"]["units"]["large"]
    assert large["units_per_day"]["mid"] > 0
    assert large["ratio"] is None
    assert actual["targets"]["new"]["units"]["small"]["ratio"]["mid"] > 0


@pytest.mark.slow
def test_a_precision_that_a_device_lacks_is_a_cell(tmp_path: Path) -> None:
    lacking = STUDY.replace("{profile: p1b2}", "{profile: p1b2, precision: bf16}")
    (refusal,) = [r for pair, r in run(tmp_path, lacking).refusals.items() if pair == ("old", "small")]
    assert (refusal.fits, refusal.why.split(";")[0]) == (None, "v100-sxm2-16gb has no hardware path for bf16")


@pytest.mark.slow
def test_faults_of_the_study_stop_it(tmp_path: Path) -> None:
    for change in (("v100-sxm2-16gb", "v1"), ("profile: p1b2", "profile: p1b2, batch_size: 10000")):
        with pytest.raises(EstimatorError, match=r"study.yaml(:5: Unknown device|: small on old: .*do not fill)"):
            run(tmp_path, STUDY.replace(*change))


@pytest.mark.slow
def test_the_report_shows_why(tmp_path: Path, result: StudyResult) -> None:
    html, results = write_report(result, tmp_path)
    text = html.read_text("utf-8")
    assert "<strong>does not fit</strong>: nt3: the step needs at least" in text
    assert "No figure of merit, as a unit cannot run: large on tiny: nt3" in text
    targets = json.loads(results.read_text("utf-8"))["figure_of_merit"]["targets"]
    assert targets["tiny"]["fom"] is None
    assert "large on tiny" in targets["tiny"]["refused"]


def test_published_figures_of_cells_that_cannot_be_are_left_out(result: StudyResult) -> None:
    assert {c.on for c in result.comparisons} == {"new"}
    assert len({c.quantity for c in result.comparisons}) == len(result.comparisons) == len(FIGURES)
