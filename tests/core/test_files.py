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


def test_a_failure_leaves_no_new_folder(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        files.write_text(tmp_path / "new" / "newer" / "file.txt", "half \ud800")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_is_told_before(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("as it was")
    for name in ("file", "new"):
        files.check_writable(tmp_path / name)
    for place in (tmp_path, tmp_path / "none" / "new", tmp_path / "file" / "below"):
        with pytest.raises(EstimatorError, match="cannot be written"):
            files.check_writable(place)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "as it was"


def test_unwritable_places_are_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EstimatorError, match="cannot be written"):
        files.write_text(tmp_path / "file" / "below", "text")


def test_a_name_that_no_file_can_have() -> None:
    with pytest.raises(EstimatorError, match="there is no such file"):
        files.read_text(Path("a\0b"))
