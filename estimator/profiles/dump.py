"""One dump file as bytes, gzip or plain; its content is read only when a reader asks for it."""

from __future__ import annotations

import gzip
import mmap
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import FileIO
from pathlib import Path
from typing import overload

from estimator.core.errors import EstimatorError

GZIP = b"\x1f\x8b"
HEAD = 1 << 16  # size of the beginning by which readers recognise formats [B]
MOST_UNZIPPED = 8 << 30  # [B]
MOST_GROWTH = 400  # unzipped / zipped size; text traces reach about 40
GROWTH_FREE = 64 << 20  # below this size any growth is harmless [B]
CHUNK = 1 << 20
WINDOW = 1 << 14  # read-ahead for single bytes [B]


class FileBytes:
    """The bytes of a file, read piece by piece and not kept, so that they do not count as this process's memory."""

    def __init__(self, file: FileIO) -> None:
        self.file = file
        self.size = os.fstat(file.fileno()).st_size
        self.start, self.window = 0, b""

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, key: int) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> bytes: ...
    def __getitem__(self, key: int | slice) -> int | bytes:
        if isinstance(key, slice):
            start, stop, _ = key.indices(self.size)
            return self._read(start, stop - start)
        if not self.start <= key < self.start + len(self.window):
            self.start, self.window = key, self._read(key, WINDOW)
        return self.window[key - self.start]

    def _read(self, start: int, size: int) -> bytes:
        parts = []
        self.file.seek(start)
        while size > 0 and (part := self.file.read(size)):
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


@dataclass(frozen=True)
class Dump:
    """A dump file. All methods raise EstimatorError where it cannot be read, or unzips to too much."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def zipped(self) -> bool:
        """Whether the file is gzip."""
        return self._first(2) == GZIP

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the content, HEAD at most."""
        if not self.zipped:
            return self._first(HEAD)
        try:
            with gzip.open(self.path) as file:  # of several members, as of pieces that were zipped one by one
                return file.read(HEAD)
        except (OSError, EOFError, zlib.error) as error:
            raise self._damaged(str(error) or "it ends early") from None

    @cached_property
    def content(self) -> bytes | mmap.mmap:
        """The whole content: the file mapped into memory, or unzipped."""
        if self.zipped:
            return self._unzipped()
        try:
            with self.path.open("rb") as file:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self.path.stat().st_size else b""
        except OSError as error:
            raise self._unreadable(error) from None

    @contextmanager
    def piecewise(self) -> Iterator[bytes | FileBytes]:
        """The whole content; a plain file is read piece by piece."""
        if self.zipped:
            yield self._unzipped()
            return
        try:
            file = self.path.open("rb", buffering=0)
        except OSError as error:
            raise self._unreadable(error) from None
        with file:
            yield FileBytes(file)

    def text(self) -> str:
        """The whole content as text."""
        try:
            return bytes(self.content).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise EstimatorError(
                f"{self.path}: expected text, found other bytes at byte {error.start}; check what this file is"
            ) from None

    def _first(self, size: int) -> bytes:
        try:
            with self.path.open("rb") as file:
                return file.read(size)
        except OSError as error:
            raise self._unreadable(error) from None

    def _unzipped(self) -> bytes:
        allowed = min(MOST_UNZIPPED, max(GROWTH_FREE, MOST_GROWTH * self.path.stat().st_size))
        chunks, size = [], 0
        try:
            with gzip.open(self.path) as file:
                while chunk := file.read(CHUNK):
                    chunks.append(chunk)
                    size += len(chunk)
                    if size > allowed:
                        raise EstimatorError(f"{self.path}: unzips to more than {allowed >> 20} MiB; unzip it yourself")
        except (OSError, EOFError, zlib.error) as error:
            raise self._damaged(str(error) or "it ends early") from None
        return b"".join(chunks)

    def _damaged(self, problem: str) -> EstimatorError:
        return EstimatorError(f"{self.path}: this gzip file is damaged ({problem}); copy the dump again")

    def _unreadable(self, error: OSError) -> EstimatorError:
        return EstimatorError(f"{self.path}: cannot be read ({error.strerror}); check the path")


def decode_head(head: bytes) -> str | None:
    """The head as text, without a character cut off at its end; None where it is no text."""
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(head) < HEAD or error.start < HEAD - 4:
            return None
        return head[: error.start].decode("utf-8-sig")
