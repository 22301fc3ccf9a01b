import json
import os
from pathlib import Path

import pytest

from estimator.core import files
from estimator.core.errors import EstimatorError
from estimator.core.files import whole_folder


def test_missing_files_folders_and_binary_files_are_refused(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "none", "no such file"), (tmp_path, "this is a folder")):
        with pytest.raises(EstimatorError, match=words):
            files.read_text(path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EstimatorError, match="expected text"):
        files.read_text(tmp_path / "bytes")


def write_half(path: Path) -> None:
    """Raise KeyError amid writing a file."""
    with files.writing(path) as file:
        file.write("half")
        raise KeyError


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out" / "file.txt"
    files.write_text(target, "whole")
    assert target.read_text() == "whole"
    with pytest.raises(KeyError):
        write_half(target)
    assert target.read_text() == "whole"
    assert [p.name for p in target.parent.iterdir()] == ["file.txt"]


def test_a_failure_leaves_no_new_folder(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        write_half(tmp_path / "new" / "newer" / "file.txt")
    assert not list(tmp_path.iterdir())


def test_check_writable_refuses_unwritable_places(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("as it was")
    for name in ("file", "new"):
        files.check_writable(tmp_path / name)
    for place in (tmp_path, tmp_path / "none" / "new", tmp_path / "file" / "below"):
        with pytest.raises(EstimatorError, match="cannot be written"):
            files.check_writable(place)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "as it was"


def test_unwritable_places_are_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EstimatorError, match="cannot be written"):
        files.write_text(tmp_path / "file" / "below", "text")


def test_a_name_with_a_null_byte_is_no_file() -> None:
    with pytest.raises(EstimatorError, match="there is no such file"):
        files.read_text(Path("a\0b"))


def test_a_missing_file_is_looked_for_in_a_folder_with_near_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "study.yaml").touch()
    monkeypatch.chdir(tmp_path)
    for name, sentence in {
        "stduy.yml": f"stduy.yml: there is no such file in {tmp_path}. Did you mean study.yaml?",
        "other.yaml": f"other.yaml: there is no such file in {tmp_path}; check the path",
        "none/x.pb": f"none/x.pb: there is no folder {tmp_path / 'none'}; check the path",
    }.items():
        assert str(files.missing(Path(name))) == sentence


def test_the_name_of_a_file_that_is_no_utf8_is_written_escaped_and_hashed(tmp_path: Path) -> None:
    """Linux allows any bytes in names."""
    name = b"gr\xf6.yaml".decode(errors="surrogateescape")
    files.write_text(tmp_path / "results.json", f'"{name}"')
    assert json.loads(files.read_text(tmp_path / "results.json")) == name
    assert files.sha256_of_text(name) != files.sha256_of_text("gr.yaml")


def test_only_a_plain_file_has_a_digest(tmp_path: Path) -> None:
    file, pipe = tmp_path / "file", tmp_path / "pipe"
    file.write_text("text")
    os.mkfifo(pipe)
    assert files.sha256_of_plain(file) == files.sha256(file)
    assert [files.sha256_of_plain(path) for path in (pipe, tmp_path, tmp_path / "missing", Path("\0"))] == [""] * 4


@pytest.mark.parametrize("stop", [KeyboardInterrupt, EstimatorError, ZeroDivisionError])
def test_a_folder_is_whole_or_absent(tmp_path: Path, stop: type[BaseException]) -> None:
    def fill() -> None:
        with whole_folder(tmp_path / "deep" / "out") as place:
            (place / "half").write_text("")
            raise stop

    with pytest.raises(stop):
        fill()
    assert list((tmp_path / "deep").iterdir()) == []


def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with whole_folder(tmp_path / "out") as place:
        (place / "dump").write_text("all")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "dump"]
