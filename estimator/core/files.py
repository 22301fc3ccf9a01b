"""Files read as text, and files written completely or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import reprlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from typing import TextIO

from estimator.core.errors import EstimatorError, suggestion

NO_UTF8 = "backslashreplace"  # how files hold what is no UTF-8, such as names of other files


def place(what: str, given: object, otherwise: str = "") -> str:
    """A name or path as text; ``otherwise``: what else could have been given. Raises EstimatorError for the rest."""
    if not isinstance(given, str | os.PathLike) or not os.fspath(given):  # an empty path is the working folder
        also = f", or {otherwise}" if otherwise else ""
        raise EstimatorError(f"{what} is {reprlib.repr(given)}; expected a name or a path{also}")
    return os.fspath(given)


def read_text(path: Path) -> str:
    """The text of a file. Raises EstimatorError where it is missing, a folder, or no text."""
    with open_text(path) as file:
        return file.read()


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """A file to read as text. Raises EstimatorError where it is missing, a folder, or, inside the block, no text."""
    with reading(path), path.open(encoding="utf-8-sig") as file:
        yield file


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raises EstimatorError where a file that is read inside the block is missing, a folder, or no text."""
    try:
        if "\0" in str(path):
            raise FileNotFoundError
        yield
    except FileNotFoundError:
        raise missing(path) from None
    except IsADirectoryError:
        raise EstimatorError(f"{path}: this is a folder; name the file in it") from None
    except UnicodeDecodeError:
        raise EstimatorError(
            f"{path}: expected text in UTF-8, found other bytes; save it as UTF-8, or check what this file is"
        ) from None
    except OSError as error:
        raise EstimatorError(f"{path}: cannot be read ({error.strerror}); check the path") from None


def missing(path: Path, given_name: str = "", nor_in: Path | None = None) -> EstimatorError:
    """The error for a file that is not there: it names the folder where it was looked for, and near names in it.

    ``nor_in``: another folder where it was looked for.
    """
    whole, name = path.absolute(), given_name or path
    if "\0" not in str(path) and path.is_symlink():
        return EstimatorError(f"{name}: there is no such file, only a link to one that is gone; mend the link")
    folder = next((parent for parent in whole.parents if "\0" not in str(parent) and parent.is_dir()), whole.parent)
    other = f", and no such file in {nor_in}" if nor_in else ""
    if folder != whole.parent:
        absent = [parent for parent in whole.parents if parent != folder and folder in parent.parents][-1:]
        return EstimatorError(f"{name}: there is no folder {(absent or [whole.parent])[0]}{other}; check the path")
    with suppress(OSError):
        near = _near_name(folder, whole.name)
        places = f", neither in {folder} nor in {nor_in}" if nor_in else f" in {folder}"
        return EstimatorError(f"{name}: there is no such file{places}{f'.{near}' if near else '; check the path'}")
    return EstimatorError(f"{name}: there is no such file; check the path")


def _near_name(folder: Path, name: str) -> str:
    """A sentence that suggests a file of the folder with a name like this one; empty without any."""
    stem = name.partition(".")[0]
    stems = {entry.name: entry.name.partition(".")[0] for entry in folder.iterdir()}
    files = {each: file for file, each in sorted(stems.items()) if each == stem or _suffix(file) == _suffix(name)}
    return suggestion(stem, files, files)


def _suffix(name: str) -> str:
    """All suffixes of a name; those of YAML are one."""
    return name.partition(".")[2].replace("yml", "yaml")


def write_text(path: Path, text: str) -> None:
    """Write a file completely or not at all: a temporary file beside it is renamed."""
    with writing(path) as file:
        file.write(text)


def check_writable(path: Path) -> None:
    """Raises EstimatorError where a file cannot be written now, such as where its folder is missing."""
    with _refuse_unwritable(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if path.is_file() or not path.exists():
            tempfile.TemporaryFile(dir=path.resolve().parent).close()


@contextmanager
def writing(path: Path) -> Iterator[TextIO]:
    """A text file that is written completely or not at all: a temporary file is renamed when the block succeeds.

    Missing folders are then created. A name of a file that is no UTF-8 stands in the text as JSON escapes it.
    """
    temporary, path = None, path.resolve()  # a link stays a link
    try:
        with _refuse_unwritable(path):
            if path.exists() and not path.is_file() and not path.is_dir():
                with path.open("w", encoding="utf-8", errors=NO_UTF8) as file:  # a pipe or a device is never replaced
                    yield file
                return
            handle, name = tempfile.mkstemp(dir=next(folder for folder in path.parents if folder.is_dir()))
            temporary = Path(name)
            with open(handle, "w", encoding="utf-8", errors=NO_UTF8, newline="") as file:
                yield file
            temporary.chmod(0o666 & ~_umask())
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.replace(path)
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@contextmanager
def _refuse_unwritable(path: Path) -> Iterator[None]:
    """Turn OSError for a file or folder that cannot be written into EstimatorError."""
    try:
        yield
    except (FileExistsError, NotADirectoryError):
        raise EstimatorError(
            f"{path}: cannot be written (a file stands for one of its folders); choose another place"
        ) from None
    except OSError as error:
        raise EstimatorError(f"{path}: cannot be written ({error.strerror}); choose another place") from None


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that is renamed to ``folder`` when the block succeeds, and removed on any error.

    Raises EstimatorError where ``folder`` exists and is not empty, or cannot be written.
    """
    folder = folder.resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise EstimatorError(f"{folder}: is there already and not empty; choose a new folder, or delete it first")
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        with _refuse_unwritable(folder):
            temporary.mkdir(parents=True)
            yield temporary
            if folder.exists():
                folder.rmdir()
            temporary.replace(folder)
    finally:
        rmtree(temporary, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sha256_of_text(text: str) -> str:
    """SHA-256 of a text, as hex digits."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def sha256_of_plain(path: Path) -> str:
    """SHA-256 of a file; empty for a pipe, which can be read but once, and for what cannot be read."""
    try:
        return sha256(path) if path.is_file() else ""
    except OSError:
        return ""


def sha256(*paths: Path) -> str:
    """SHA-256 of the bytes of one or several files, in the given order, as hex digits."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                digest.update(part)
    return digest.hexdigest()
