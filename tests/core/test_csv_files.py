from pathlib import Path

import pytest

from estimator.core import csv_files
from estimator.core.errors import EstimatorError


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "the file is empty"), ("a,a\n1,2\n", "stands twice"), ("a,b\n1\n", "found 1 cells, expected 2")],
)
def test_csv_faults_are_named_with_their_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(EstimatorError, match=words):
        csv_files.read_csv(tmp_path / "t.csv")


def test_frames_count_the_rows_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "ROWS_AT_ONCE", 2)
    (tmp_path / "t.csv").write_text('a,b\n1, 2\n,\n3,\n"4\n5",6\n7,8\n9,10\n')
    frames = list(csv_files.csv_frames(tmp_path / "t.csv"))
    assert [list(frame.index) for frame in frames] == [[0, 1], [2, 3], [4]]
    whole = csv_files.read_csv(tmp_path / "t.csv")
    assert csv_files.read_csv(Path("x"), "a,b\n").empty
    assert whole["a"].tolist() == ["1", "3", "4\n5", "7", "9"]
    assert whole["b"].isna().tolist() == [False, True, False, False, False]
    with pytest.raises(EstimatorError, match="x: the file has no rows; expected at least one below the column names"):
        csv_files.read_csv(Path("x"), "a,b\n", may_be_empty=False)


@pytest.mark.parametrize("row", ["1" * 60, '"' + "1\n" * 30, "1,2\n" * 3 + "3" * 60])
def test_an_endless_row_does_not_fill_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    monkeypatch.setattr(csv_files, "LONGEST_ROW", 50)
    (tmp_path / "t.csv").write_text("a,b\n" + row)
    with pytest.raises(EstimatorError, match="found a row of more than 50 characters"):
        csv_files.read_csv(tmp_path / "t.csv")
