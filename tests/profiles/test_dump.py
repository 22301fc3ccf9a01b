import gzip
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.profiles import dump, read_profile
from estimator.profiles.dump import Dump, decode_head

TABLE = b"op_type,time_s\nMatMul,0.25\n"


def write(folder: Path, content: bytes) -> Dump:
    path = folder / "dump"
    path.write_bytes(content)
    return Dump(path)


def test_plain_and_gzip_files_have_equal_content(tmp_path: Path) -> None:
    for content in (TABLE, gzip.compress(TABLE)):
        written = write(tmp_path, content)
        with written.piecewise() as whole:
            assert bytes(whole[:]) == bytes(written.content) == written.head == TABLE
            assert (whole[3], whole[3:9], len(whole)) == (TABLE[3], TABLE[3:9], len(TABLE))
        assert written.text() == TABLE.decode()
        assert read_profile(written.path).ops["time_s"].sum() == 0.25


@pytest.mark.parametrize("first", [0, 1, 9])
def test_a_gzip_file_of_several_members_is_read_as_one(first: int, tmp_path: Path) -> None:
    members = write(tmp_path, gzip.compress(TABLE[:first]) + gzip.compress(TABLE[first:]))
    assert members.head == members.content == TABLE
    assert read_profile(members.path).ops["time_s"].sum() == 0.25


def test_a_gzip_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump, "GROWTH_FREE", 1 << 20)
    bomb = write(tmp_path, gzip.compress(TABLE + bytes(1 << 23)))
    with pytest.raises(EstimatorError, match="unzips to more than"):
        bomb.text()
    with pytest.raises(EstimatorError, match="unzips to more than"):
        read_profile(bomb.path)


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:12] + b"x" + data[13:]])
def test_damaged_gzip_is_refused(damage: object, tmp_path: Path) -> None:
    assert callable(damage)
    with pytest.raises(EstimatorError, match="gzip file is damaged"):
        write(tmp_path, damage(gzip.compress(TABLE * 50))).text()


@pytest.mark.parametrize("kept", [8, 20, 40])
def test_the_beginning_of_a_gzip_file_is_damaged_too(kept: int, tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="gzip file is damaged"):
        read_profile(write(tmp_path, gzip.compress(TABLE * 50)[:kept]).path)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="found other bytes at byte 3"):
        write(tmp_path, b"abc\xff").text()


def test_a_character_cut_at_the_end_of_the_head_is_dropped() -> None:
    head = ("a" * (dump.HEAD - 1) + "é").encode()[: dump.HEAD]
    assert decode_head(head) == "a" * (dump.HEAD - 1)
    assert decode_head(b"a\xff") is None
