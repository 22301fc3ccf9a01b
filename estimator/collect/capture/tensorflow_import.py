"""Import TensorFlow for a capture, and suppress its output."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from estimator.core.errors import EstimatorError

INSTALL = "install it with: pip install 'fom-estimator[tensorflow]'"


def import_tensorflow(module: str = "tensorflow") -> Any:
    """TensorFlow, or a module of it or of Keras. Raises EstimatorError where it cannot be imported."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise EstimatorError(f"estimator capture: needs {module}, which is not installed; {INSTALL}") from None
    except ImportError as error:
        raise EstimatorError(f"estimator capture: {module} cannot be imported ({error}); {INSTALL}") from None


@contextmanager
def suppress_output(verbose: bool = False) -> Iterator[None]:
    """Redirect stdout to stderr; unless ``verbose``, drop warnings and the stderr of compiled code."""
    if verbose:
        with contextlib.redirect_stdout(sys.stderr):
            yield
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with contextlib.ExitStack() as stack:
        terminal = stack.enter_context(_without_descriptor(2))
        stack.enter_context(contextlib.redirect_stdout(terminal))
        stack.enter_context(contextlib.redirect_stderr(terminal))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _without_descriptor(number: int) -> Iterator[Any]:
    """A stream to the descriptor's target; the descriptor itself is redirected to nowhere."""
    sys.stderr.flush()
    saved, nowhere = os.dup(number), os.open(os.devnull, os.O_WRONLY)
    try:
        with os.fdopen(os.dup(saved), "w", buffering=1, errors="backslashreplace") as stream:
            os.dup2(nowhere, number)
            yield stream
    finally:
        os.dup2(saved, number)
        os.close(saved)
        os.close(nowhere)
