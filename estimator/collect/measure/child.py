"""The program in a process of its own: libraries see its threads alone, and what they print stays away."""

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
PATIENCE_S = 5.0  # for the program to end by itself
DONE = re.compile(r"(\d+)/(\d+) ")


def run(options: Sequence[str], progress: Progress) -> None:
    """Run the program with these options; ``progress`` is called with the shapes done, and of how many.

    Raises EstimatorError with the program's last words where it fails. KeyboardInterrupt stops it too, its partial file
    kept.
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
        _judge(process.returncode, errors.read())


def _stop(process: subprocess.Popen[str]) -> None:
    """End the program; a second request to end would leave it behind, and is ignored meanwhile."""
    ignored = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    process.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGINT)
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:  # in the midst of a long call
        process.kill()
    finally:
        for number, handler in ignored.items():
            signal.signal(number, handler)


def _judge(code: int, errors: str) -> None:
    """Raises what the end of the program means: KeyboardInterrupt or EstimatorError."""
    if code == 130:
        raise KeyboardInterrupt
    if code:
        last = errors.strip().rpartition("\n")[2] or "without a word"
        ended = f"the measuring process ended with {code}: {last}" if code != 1 or "Traceback" in errors else last
        raise EstimatorError(f"estimator measure: {ended}")


def provenance(path: Path) -> dict[str, Any]:
    """What the program wrote beside its table."""
    return dict(json.loads(path.read_text(encoding="utf-8")))
