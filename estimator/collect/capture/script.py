"""The user's file: what it defines, and its faults as one sentence with file and line."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

from estimator.core import files, library, yaml_files
from estimator.core.errors import EstimatorError
from estimator.core.types import Workload

NAME = "captured_script"  # of its module: a file called keras.py must not hide Keras
MODEL = "model.py"  # the file of a workload in the library
LONGEST = 300  # characters of a foreign error that are repeated


@dataclass(frozen=True)
class Script:
    """A file that defines a training run; its names, their values, and what ``workload.yaml`` beside it states."""

    path: Path
    names: Mapping[str, Any]
    stated: Workload

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def get(self, name: str) -> Any:
        """What a name holds; None where it is not defined."""
        return self.names.get(name)

    def made(self, name: str) -> Any:
        """What a name holds, or what its function returns. Raises EstimatorError where that needs arguments."""
        found = self.names[name]
        if not callable(found):
            return found
        try:
            signature(found).bind()
        except TypeError as error:
            raise self.fault(f"{name}() cannot be called without arguments ({error}); give them defaults") from None
        return found()

    def whole(self, name: str) -> int | None:
        """A count that the file states, or workload.yaml. Raises EstimatorError where it is none above zero."""
        value = self.names.get(name, getattr(self.stated, name.lower()))
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value <= 0):
            raise self.fault(f"{name} is {value!r}; write a whole number above zero")
        return value

    def fault(self, sentence: str) -> EstimatorError:
        """The error for a fault of this file."""
        return EstimatorError(f"{self.path}: {sentence}")


def locate(name: str) -> Path:
    """The file that a path, a folder, or the name of a shipped workload leads to."""
    path = Path(name)
    shipped = {folder: place / MODEL for folder, place in library.names("profiles", "*").items()}
    if path.suffix == ".py" or path.is_file():
        return path
    if path.is_dir():
        return path / MODEL
    if name not in shipped:
        raise library.unknown("workload", name, shipped, "ingest --list")
    return shipped[name]


@contextmanager
def loaded(path: Path) -> Iterator[Script]:
    """Run the file, with its folder on the import path, and blame it for every error inside the block.

    Raises EstimatorError where it cannot be read, or where its code, or code that it calls, fails.
    """
    source, folder, before = files.read_text(path), path.resolve().parent, set(sys.modules)
    module = ModuleType(NAME)
    module.__file__ = str(path)
    sys.modules[NAME] = module
    sys.path.insert(0, str(folder))
    try:
        with blamed(path):
            exec(compile(source, str(path), "exec"), module.__dict__)
            yield Script(path, module.__dict__, _stated(path))
    finally:
        sys.path.remove(str(folder))
        for name in sys.modules.keys() - before:
            if name == NAME or Path(getattr(sys.modules[name], "__file__", None) or "/").parent == folder:
                del sys.modules[name]  # another file's helper may have the same name


def _stated(path: Path) -> Workload:
    beside = path.with_name("workload.yaml")
    return yaml_files.check(Workload, yaml_files.read_yaml(beside)) if beside.is_file() else Workload(name=label(path))


def label(path: Path) -> str:
    """What a file's training run is called where nothing states a name."""
    return path.resolve().parent.name if path.name == MODEL else path.stem


@contextmanager
def blamed(path: Path) -> Iterator[None]:
    """Turns errors of a file's code inside the block into sentences; those of ours pass."""
    try:
        yield
    except EstimatorError:
        raise
    except (Exception, SystemExit) as error:
        innermost = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
        if innermost.is_relative_to(library.PACKAGE) and not isinstance(error, SyntaxError):
            raise  # a defect of ours
        line = _line(path, error)
        where = f"{path}:{line}: this line" if line else f"{path}: the training run"
        raise EstimatorError(f"{where} raised {_said(error)}; mend it, then capture again") from None


def _line(path: Path, error: BaseException) -> int | None:
    """The last line of the file on the way to the error; AutoGraph names it only in its message."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    lines += [int(found) for found in re.findall(rf'File "{re.escape(str(path))}", line (\d+)', str(error))]
    return lines[-1] if lines else None


def _said(error: BaseException) -> str:
    """The error's type and what it says in one line; the cause stands at the end of what AutoGraph says."""
    told = re.sub(r"\{\{function_node \S*\}\} ", "", str(error))
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    if lines[0].startswith("Exception encountered when calling") and len(lines) > 1:  # Keras puts the reason below
        lines[0] = re.sub(r"\x1b\[[\d;]*m", "", lines[1])
    said = lines[-1] if lines[0] == "in user code:" else f"{type(error).__name__}: {lines[0]}"
    return (said if len(said) <= LONGEST else f"{said[:LONGEST]}…").rstrip(".;")
