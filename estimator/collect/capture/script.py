"""The user's file: its definitions, and its faults with file and line."""

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

NAME = "captured_script"  # name of its module: a file keras.py must not hide Keras
MODEL = "model.py"  # the file of a workload in the library
MAX_LENGTH = 300  # of the text of a foreign error


@dataclass(frozen=True)
class Script:
    """A file that defines a training run: its names with values, and the ``workload.yaml`` beside it."""

    path: Path
    names: Mapping[str, Any]
    stated: Workload

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def get(self, name: str) -> Any:
        """The value of a name; None where it is not defined."""
        return self.names.get(name)

    def value_of(self, name: str) -> Any:
        """The value of a name, or of its function's call. Raises EstimatorError where that needs arguments."""
        value = self.names[name]
        if not callable(value):
            return value
        try:
            signature(value).bind()
        except TypeError as error:
            raise self.fault(f"{name}() cannot be called without arguments ({error}); give them defaults") from None
        return value()

    def count(self, name: str) -> int | None:
        """A count in the file, else in workload.yaml. Raises EstimatorError where it is not a positive integer."""
        value = self.names.get(name, getattr(self.stated, name.lower()))
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value <= 0):
            raise self.fault(f"{name} is {value!r}; write a whole number above zero")
        return value

    def fault(self, sentence: str) -> EstimatorError:
        """The error for a fault of this file."""
        return EstimatorError(f"{self.path}: {sentence}")


def locate(name: str) -> Path:
    """The file of a path, a folder, or a shipped workload's name."""
    path = Path(name)
    shipped = {folder: folder_path / MODEL for folder, folder_path in library.names("profiles", "*").items()}
    if path.suffix == ".py" or path.is_file():
        return path
    if path.is_dir():
        return path / MODEL
    if name not in shipped:
        raise library.unknown("workload", name, shipped, "ingest --list")
    return shipped[name]


@contextmanager
def load_script(path: Path) -> Iterator[Script]:
    """Run the file with its folder on the import path; errors inside the block are reported as its own.

    Raises EstimatorError where it cannot be read, or where its code fails.
    """
    source, folder, loaded_modules = files.read_text(path), path.resolve().parent, set(sys.modules)
    module = ModuleType(NAME)
    module.__file__ = str(path)
    sys.modules[NAME] = module
    sys.path.insert(0, str(folder))
    try:
        with blame_file(path):
            exec(compile(source, str(path), "exec"), module.__dict__)
            yield Script(path, module.__dict__, _read_workload(path))
    finally:
        sys.path.remove(str(folder))
        for name in sys.modules.keys() - loaded_modules:
            if name == NAME or Path(getattr(sys.modules[name], "__file__", None) or "/").parent == folder:
                del sys.modules[name]  # another file's helper may have the same name


def _read_workload(path: Path) -> Workload:
    workload_file = path.with_name("workload.yaml")
    return (
        yaml_files.check(Workload, yaml_files.read_yaml(workload_file))
        if workload_file.is_file()
        else Workload(name=label(path))
    )


def label(path: Path) -> str:
    """The default name of a file's training run."""
    return path.resolve().parent.name if path.name == MODEL else path.stem


@contextmanager
def blame_file(path: Path) -> Iterator[None]:
    """Convert errors of a file's code inside the block to EstimatorError; our own errors pass."""
    try:
        yield
    except EstimatorError:
        raise
    except (Exception, SystemExit) as error:
        innermost = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
        if innermost.is_relative_to(library.PACKAGE) and not isinstance(error, SyntaxError):
            raise  # our own defect
        line = _line_of_error(path, error)
        where = f"{path}:{line}: this line" if line else f"{path}: the training run"
        raise EstimatorError(f"{where} raised {_error_text(error)}; mend it, then capture again") from None


def _line_of_error(path: Path, error: BaseException) -> int | None:
    """The last line of the file in the error's traceback, or in AutoGraph's message."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    lines += [int(number) for number in re.findall(rf'File "{re.escape(str(path))}", line (\d+)', str(error))]
    return lines[-1] if lines else None


def _error_text(error: BaseException) -> str:
    """The error's type and message in one line; AutoGraph's message ends with the cause."""
    message = re.sub(r"\{\{function_node \S*\}\} ", "", str(error))
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    if lines[0].startswith("Exception encountered when calling") and len(lines) > 1:
        # Keras gives the reason in the next line
        lines[0] = re.sub(r"\x1b\[[\d;]*m", "", lines[1])
    text = lines[-1] if lines[0] == "in user code:" else f"{type(error).__name__}: {lines[0]}"
    return (text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}…").rstrip(".;")
