"""``estimator report``: the files of a study, all or none."""

from pathlib import Path

import pytest

from tests.cli.command_line import STUDY, read, run


def test_it_writes_the_report_and_its_results(tmp_path: Path) -> None:
    document = read("report", STUDY, "-o", str(tmp_path))
    assert [Path(path).name for path in document["written"]] == ["report.html", "results.json"]
    assert all(Path(path).stat().st_size for path in document["written"])


def test_the_report_of_another_study_in_the_folder_stays(tmp_path: Path) -> None:
    first, second = tmp_path / "study.yaml", tmp_path / "other.yaml"
    for path in (first, second):
        path.write_text(Path(STUDY).read_text())
    run("report", "study.yaml", cwd=tmp_path)
    run("report", "study.yaml", cwd=tmp_path)
    written = (tmp_path / "report.html").read_bytes()
    shown = run("report", "other.yaml", cwd=tmp_path, code=1).stderr
    assert shown == "report.html: this is the report of study.yaml; choose another folder by -o\n"
    assert (tmp_path / "report.html").read_bytes() == written
    run("report", "other.yaml", "-o", "out", cwd=tmp_path)
    first.unlink()
    run("report", "other.yaml", cwd=tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"inputs_sha256": [1]}', "\xff"])
def test_other_results_are_written_over(tmp_path: Path, content: str) -> None:
    (tmp_path / "study.yaml").write_text(Path(STUDY).read_text())
    (tmp_path / "results.json").write_text(content, encoding="latin-1")
    run("report", "study.yaml", cwd=tmp_path)
    assert (tmp_path / "results.json").stat().st_size > 1000


def test_a_study_at_fault_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(Path(STUDY).read_text() + "baseline: machine-a\n")
    done = run("report", "study.yaml", "-o", "out", code=1, cwd=tmp_path)
    assert "the key 'baseline' stands twice" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["study.yaml"]
