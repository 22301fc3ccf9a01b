"""Every number of a figure of merit has its derivation; an algorithm and a promise stand apart from the hardware."""

from pathlib import Path

import pytest

from estimator.cli.render.fom import render_fom
from estimator.core.types import StudyResult
from estimator.reports import study_documents
from estimator.reports.html import render
from tests.studies.toy_merit import run_toy

UNITS = """
  A:
    time_per_unit: {old: 8 h, new: 2 h}
    capability: {new: {value: 2, source: a larger mesh}}
    algorithmic_factor: {new: {value: 5, source: a paper}}
    committed: {new: 2.5 h}
    group: science
  B: {time_per_unit: {old: 3 h, new: 1 h}, group: throughput}
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    return run_toy(tmp_path_factory.mktemp("toy"), UNITS, "{preset: coral-2}")


def test_the_hardware_alone_has_no_algorithm_in_it(result: StudyResult) -> None:
    merit = result.foms["new"]
    hardware = ((3 * 4 * 2) * (3 * 3)) ** 0.5
    assert merit.samples[0] == pytest.approx(hardware)
    assert merit.with_algorithm is not None
    assert merit.with_algorithm[0] == pytest.approx(hardware * 5**0.5)


def test_committed_times_stand_in_for_projected_ones(result: StudyResult) -> None:
    merit = result.foms["new"]
    assert merit.committed is not None
    assert merit.committed[0] == pytest.approx(((3 * 3.2 * 2) * (3 * 3)) ** 0.5)
    ratio = result.fom_numbers["new/A/projected_over_committed"]
    assert ratio.samples[0] == pytest.approx(1.25)
    assert ratio.inputs == ("new/A/committed", "new/A/time_per_unit_s")


def test_each_group_has_its_own_figure(result: StudyResult) -> None:
    assert result.foms["new"].groups == {"science": pytest.approx(24), "throughput": pytest.approx(9)}


def test_formulas_name_what_goes_in(result: StudyResult) -> None:
    numbers = result.numbers()
    assert numbers["new/fom"].formula == "geometric mean of the ratios × capability factors of the units"
    assert numbers["new/fom"].inputs[-1] == "new/A/capability"
    with_algorithm, committed = numbers["new/fom_with_algorithm"], numbers["new/fom_committed"]
    assert with_algorithm.formula == f"{numbers['new/fom'].formula} × their algorithmic factors"
    assert committed.formula == f"{numbers['new/fom'].formula} × projected / committed times"
    assert with_algorithm.inputs[-2:] == ("new/A/capability", "new/A/algorithmic_factor")
    assert committed.inputs[-2:] == ("new/A/capability", "new/A/committed")
    assert numbers["new/A/algorithmic_factor"].source == "a paper"
    for number in numbers.values():
        assert set(number.inputs) <= numbers.keys()
        assert number.inputs or number.source
    assert numbers["weights/A"].source == "coral-2 has no weights"


def test_the_document_has_them_beside_the_figure(result: StudyResult) -> None:
    document = study_documents.figures_of_merit(result)
    target = document["targets"]["new"]
    assert document["preset"]["name"] == "coral-2"
    assert document["preset"]["sources"][0]["status"] == "read"
    assert target["fom_with_algorithm"]["mid"] > target["fom"]["mid"] > target["fom_committed"]["mid"]
    terms = ("capability", "algorithmic_factor", "committed_s", "projected_over_committed")
    assert [target["units"]["A"][name] for name in terms] == [2, 5, 9000, pytest.approx(1.25)]
    assert [target["units"]["B"][name] for name in terms] == [None] * 4
    assert document["baseline_units"]["A"]["capability"] is None


def test_nothing_declared_leaves_no_trace(tmp_path: Path) -> None:
    result = run_toy(tmp_path, "  A: {time_per_unit: {old: 8 h, new: 2 h}}", "{mean: harmonic}")
    document = study_documents.figures_of_merit(result)
    target = document["targets"]["new"]
    assert (document["preset"], target["fom_with_algorithm"], target["fom_committed"]) == (None, None, None)
    assert set(result.fom_numbers) == {"weights/A", "new/fom"}


REFUSED = "{nodes: 300, mtbf_node: 1 min}"  # no run of hours ends there


@pytest.mark.parametrize(
    "definition", ["{preset: candle}", "{preset: ssi}", "{mean: geometric, of: ratios, level: node}"]
)
@pytest.mark.parametrize(("old", "third"), [("{nodes: 100}", "{nodes: 50}"), (REFUSED, "{nodes: 50}")])
def test_a_machine_that_runs_no_unit_has_no_figure_of_any_kind(
    old: str, third: str, definition: str, tmp_path: Path
) -> None:
    machines = f"machines: {{old: {old}, new: {REFUSED}, third: {third}}}"
    units = UNITS.replace("new: 2 h}", "new: 2 h, third: 4 h}").replace("new: 1 h}", "new: 1 h, third: 2 h}")
    study = run_toy(tmp_path, units, definition, machines)
    actual = study_documents.figures_of_merit(study)
    without, other = actual["targets"]["new"], actual["targets"]["third"]
    assert without.keys() == other.keys()
    assert (other["fom"] is None) == (old == REFUSED)
    assert without["level"] == other["level"] == actual["level"]
    empty = ("fom", "means_unit", "fom_committed", "fom_with_algorithm", "dominant_unit")
    assert [without[key] for key in empty] == [None] * len(empty)
    assert not any(without[key] for key in ("presets", "groups", "means", "other_definitions"))
    unit = without["units"]["A"]
    assert unit.keys() == other["units"]["A"].keys()
    assert (unit["capability"], unit["committed_s"], unit["projected_over_committed"]) == (2, 9000, None)
    assert "hardly ever ends" in render(study)
    render_fom(actual, "t")
