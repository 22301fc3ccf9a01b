"""Run the program in a separate process, with its own threads and output."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from estimator.collect.measure.program import program
from estimator.core.errors import EstimatorError

Progress = Callable[[int, int], None]
PATIENCE_S = 5.0  # time for the program to end
DONE = re.compile(r"(\d+)/(\d+) ")


def run(options: Sequence[str], progress: Progress) -> None:
    """Run the program with these options; ``progress`` is called with the shapes done and their number.

    Raises EstimatorError with the program's last line where it fails. KeyboardInterrupt stops the program; its partial
    file is kept.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "measure.py")
        path.write_text(program(), encoding="utf-8")
        _run([sys.executable, str(path), *options], progress)


def _run(command: Sequence[str], progress: Progress) -> None:
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, encoding="utf-8") as process:
            try:
                for line in process.stdout or ():
                    if done := DONE.match(line):
                        progress(int(done[1]), int(done[2]))
            except KeyboardInterrupt:
                _stop(process)
                raise
        errors.seek(0)
        _raise_error(process.returncode, errors.read())


def _stop(process: subprocess.Popen[str]) -> None:
    """End the program; further signals are ignored meanwhile, as they would leave it running."""
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    process.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGINT)
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:  # in the midst of a long call
        process.kill()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _raise_error(code: int, errors: str) -> None:
    """Raise KeyboardInterrupt or EstimatorError by the program's exit code."""
    if code == 130:
        raise KeyboardInterrupt
    if code:
        last_line = errors.strip().rpartition("\n")[2] or "without a word"
        message = (
            f"the measuring process ended with {code}: {last_line}" if code != 1 or "Traceback" in errors else last_line
        )
        raise EstimatorError(f"estimator measure: {message}")


def provenance(path: Path) -> dict[str, Any]:
    """The provenance that the program wrote."""
    return dict(json.loads(path.read_text(encoding="utf-8")))
