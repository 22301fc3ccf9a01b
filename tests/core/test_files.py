from pathlib import Path

import pytest

from estimator.core import files
from estimator.core.errors import EstimatorError


def test_missing_folder_and_bytes(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "none", "no such file"), (tmp_path, "this is a folder")):
        with pytest.raises(EstimatorError, match=words):
            files.read_text(path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EstimatorError, match="expected text"):
        files.read_text(tmp_path / "bytes")


def test_nothing_half_written(tmp_path: Path) -> None:
    target = tmp_path / "out" / "file.txt"
    files.write_text(target, "whole")
    assert target.read_text() == "whole"
    with pytest.raises(UnicodeEncodeError):
        files.write_text(target, "half \ud800")
    assert target.read_text() == "whole"
    assert [p.name for p in target.parent.iterdir()] == ["file.txt"]


def test_unwritable_places_are_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EstimatorError, match="cannot be written"):
        files.write_text(tmp_path / "file" / "below", "text")


def test_a_name_that_no_file_can_have() -> None:
    with pytest.raises(EstimatorError, match="there is no such file"):
        files.read_text(Path("a\0b"))
