"""Real dumps of others, changed in ways that change nothing of what they tell: they are read as before."""

import gzip
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from estimator.core.errors import EstimatorError
from estimator.profiles import read_profile
from tests.conftest import SHARED
from tests.profiles.dump_mutants import MUTANTS, Event, events_of
from tests.profiles.test_public_dumps import KINETO, MANIFEST, faults

LARGEST = 52_000  # size of the dumps that are changed [B]: each is read in many spellings
SMALL = [row for row in KINETO if (path := SHARED / "dumps" / row["file"]).is_file() and path.stat().st_size < LARGEST]


@cache
def content(file: str) -> bytes:
    return gzip.decompress((SHARED / "dumps" / file).read_bytes())


def changed(file: str, change: Callable[[list[Event]], None], path: Path) -> Path:
    """The dump after a change, in a file of its own."""
    trace: Any = json.loads(content(file))
    change(events_of(trace))
    path.write_text(json.dumps(trace))
    return path


def test_the_dumps_are_at_hand(public_data: Callable[[str], Path]) -> None:
    assert public_data(MANIFEST).is_file()
    assert len(SMALL) > 5


@pytest.mark.slow
@pytest.mark.parametrize("change", [pytest.param(change, id=change.__name__) for change in MUTANTS])
@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in SMALL])
def test_a_dump_in_another_spelling_is_read_alike(
    row: Mapping[str, str], change: Callable[[list[Event]], None], tmp_path: Path
) -> None:
    assert not faults(read_profile(changed(row["file"], change, tmp_path / "trace.json")), row)


@pytest.mark.slow
@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in SMALL])
@pytest.mark.parametrize("spelling", ["indented", "zipped without its name", "with a mark of its encoding", "cut off"])
def test_a_file_written_in_another_way(row: Mapping[str, str], spelling: str, tmp_path: Path) -> None:
    text = content(row["file"])
    path = tmp_path / "trace.json"
    if spelling == "cut off":
        path.write_bytes(text[: len(text) // 2])
        with pytest.raises(EstimatorError, match="cut off or damaged"):
            read_profile(path)
        return
    written = json.dumps(json.loads(text), indent=4).encode() if spelling == "indented" else text
    written = b"\xef\xbb\xbf" + written if spelling.startswith("with") else written
    path.write_bytes(gzip.compress(written) if spelling.startswith("zipped") else written)
    assert not faults(read_profile(path), row)
