"""``estimator report``: the files of a study, all or none."""

from pathlib import Path

from tests.cli.command_line import STUDY, read, run


def test_it_writes_the_report_and_its_results(tmp_path: Path) -> None:
    document = read("report", STUDY, "-o", str(tmp_path))
    assert [Path(path).name for path in document["written"]] == ["report.html", "results.json"]
    assert all(Path(path).stat().st_size for path in document["written"])


def test_a_study_at_fault_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(Path(STUDY).read_text() + "baseline: machine-a\n")
    done = run("report", "study.yaml", "-o", "out", code=1, cwd=tmp_path)
    assert "the key 'baseline' stands twice" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["study.yaml"]
