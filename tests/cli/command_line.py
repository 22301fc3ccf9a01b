"""Runs command lines for tests: in this process, which is fast, or as a process of its own."""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from estimator.cli import main
from estimator.core import library

STUDY = str(library.names("reports", "*")["lecture-example"] / "study.yaml")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Output:
    """What a command wrote, without colours."""

    stdout: str
    stderr: str


class Terminal(io.StringIO):
    """What takes the place of a terminal's output."""

    def isatty(self) -> bool:
        return True


def printed(call: Callable[[], None], *, columns: int | None = 120, terminal: bool = False) -> Output:
    """What a call prints; ``columns`` is the width that COLUMNS states, if any, ``terminal`` makes stdout one."""
    out, errors = Terminal() if terminal else io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(errors):
        patch.setenv("TERM", "xterm")
        patch.setenv("COLUMNS", str(columns or ""))
        call()
    return Output(COLOUR.sub("", out.getvalue()), COLOUR.sub("", errors.getvalue()))


def run(
    *words: str, code: int = 0, cwd: Path | None = None, columns: int | None = 120, terminal: bool = False
) -> Output:
    """Run a command line in this process, and check its exit code."""
    actual, output = attempt(*words, cwd=cwd, columns=columns, terminal=terminal)
    assert actual == code, output.stderr
    return output


def attempt(
    *words: str, cwd: Path | None = None, columns: int | None = 120, terminal: bool = False
) -> tuple[int, Output]:
    """The exit code and the output of a command line in this process, which shows no traceback."""
    codes: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["estimator", *words])
        if cwd:
            patch.chdir(cwd)
        output = printed(lambda: codes.append(_exit_code()), columns=columns, terminal=terminal)
    assert "Traceback" not in output.stderr
    return codes[0], output


def _exit_code() -> int:
    with pytest.raises(SystemExit) as ended:
        main()
    status = ended.value.code
    if isinstance(status, str):  # Python writes it and exits with 1
        sys.stderr.write(f"{status}\n")
        return 1
    return status or 0


def read(*words: str, cwd: Path | None = None) -> Any:
    """The JSON document of a command line."""
    return json.loads(run(*words, "--json", cwd=cwd).stdout)


def run_process(
    *words: str, code: int = 0, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> Output:
    """Run a command line as a process of its own, where a warning is an error, and check its exit code."""
    surroundings = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", **(environment or {})}
    command = [sys.executable, "-W", "error", "-m", "estimator", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=surroundings, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return Output(done.stdout, done.stderr)
