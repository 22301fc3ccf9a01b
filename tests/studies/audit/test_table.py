from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.studies.study import read_study

TABLE = """title: t
tables:
  one:
    title: A table
    source: somewhere
    baseline: old
    columns:
      old: {devices: k20x, peak: 1x}
      new: {devices: [v100-sxm2-16gb, p100-pcie-16gb], peak: 4.0x}
    rows:
      A:
        profile: p1b3
        times: {old: 20 s, new: 10 s}
        ratios: {new: 2x}
    means: [{new: 2x}]
"""


def test_a_study_of_tables_needs_no_machines(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(TABLE)
    assert read_study(path).tables["one"].columns["new"].devices == ("v100-sxm2-16gb", "p100-pcie-16gb")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ("baseline: old", "baseline: odl"),
            ":6: 'odl' is no column of the table; expected one of old, new. Did you mean",
        ),
        (("new: 10 s", "nwe: 10 s"), "'nwe' is no column of the table"),
        (("times: {old: 20 s, ", "times: {"), "the ratio of new has no time of old to be checked by; add it"),
        (("means: [{new", "means: [{neu"), "'neu' is no column with ratios"),
        (("means: [{new", "means: [{old"), "'old' is no column with ratios"),
        (("means: [{new: 2x}]", "means: [{}]"), "names no column"),
        (("ratios: {new: 2x}", "ratios: {new: 0.60}"), "without quotes, which loses zeros at its end"),
        (("ratios: {new: 2x}", "ratios: {new: fast}"), "is 'fast', which is no printed number"),
        (("new: 10 s", "new: 10"), "new is '10', which is a plain number"),
        (
            ("    means", "    alike: [{rows: [A, B], reason: r}]\n    means"),
            "'B' is no row of the table; expected one of A",
        ),
        (
            ("        ratios", "        stated: [{of: newer, reason: r}]\n        ratios"),
            "'newer' is no column with a time of the table",
        ),
        (("        ratios", "        stated: [{of: new, mark: fine, reason: r}]\n        ratios"), "mark is 'fine'"),
        (("source: somewhere", "sauce: somewhere"), "'tables.one.sauce' is not a key that is known here"),
    ],
)
def test_faults_of_a_table_are_sentences_with_their_line(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    path = tmp_path / "study.yaml"
    assert change[0] in TABLE
    path.write_text(TABLE.replace(*change))
    with pytest.raises(EstimatorError) as caught:
        read_study(path)
    assert any(words in fault for fault in caught.value.faults), caught.value.faults
    assert all(fault.startswith(f"{path}:") for fault in caught.value.faults)


def test_an_empty_study_is_refused(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text("title: t\n")
    with pytest.raises(EstimatorError, match="a figure of merit needs at least two"):
        read_study(tmp_path / "study.yaml")
