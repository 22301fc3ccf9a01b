"""Files that are written whole, and their digests."""

import hashlib
from pathlib import Path

from estimator.collect.bench.output import digest, write_whole


def test_a_file_is_written_over_whole(tmp_path: Path) -> None:
    for text in ("first", "second"):
        write_whole(tmp_path / "out.csv", text)
        assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out.csv", text)]
    assert digest(tmp_path / "out.csv") == hashlib.sha256(b"second").hexdigest()
