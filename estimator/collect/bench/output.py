"""Print lines, and write files whole."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path


def digest(path: str | Path) -> str:
    """SHA-256 of a file's bytes."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def print_line(sentence: str) -> None:
    """Print a line; after the reader has gone (`| head`), print nothing."""
    try:
        sys.stdout.write(f"{sentence}\n")
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, "utf-8")
    temporary.replace(path)
