import os
import signal
import subprocess
import sys

import pytest

ESTIMATE = """
import gc, sys
from estimator.__main__ import main

sys.argv = ["estimator", "estimate", "p1b3", "--to", "v100", "--json"]
looks = lambda: sum(generation["collections"] for generation in gc.get_stats())
before = looks()
try:
    main()
except SystemExit:
    pass
sys.exit(f"looked for garbage {looks() - before} times" if looks() > before + 2 else 0)
"""


@pytest.mark.slow
def test_an_estimate_hardly_ever_looks_for_garbage() -> None:
    """By itself Python looks more than 200 times."""
    done = subprocess.run([sys.executable, "-c", ESTIMATE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"step_s"' in done.stdout


def test_the_module_runs_as_the_command_does() -> None:
    done = subprocess.run([sys.executable, "-m", "estimator", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("estimator ")


MOMENTS = ("estimator.core.garbage", "typer", "estimator.cli.command", "estimator.cli", "pandas")


@pytest.mark.parametrize("module", MOMENTS)
def test_an_early_interrupt_ends_without_a_word(module: str) -> None:
    """The signal is sent when a module has been imported, which -X importtime reports at once."""
    command = [sys.executable, "-X", "importtime", "-c", RUN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        for line in process.stderr:
            if line.rsplit("|", 1)[-1].strip() == module:
                break
        os.kill(process.pid, signal.SIGINT)
        rest = [line for line in process.stderr if not line.startswith("import time:")]
        assert process.wait() == 130
    assert rest == []


RUN = """
import signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs in the background do not hear it
sys.argv[1:] = ["estimate", "p1b3", "--to", "v100"]
from estimator.__main__ import main

main()
"""


def test_an_interrupt_is_not_heard_where_the_shell_says_so() -> None:
    code = f"import os, signal, sys\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{DEAF}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


DEAF = """
from estimator import cli
from estimator.__main__ import main

cli.app = lambda prog_name: os.kill(os.getpid(), signal.SIGINT)
main()
"""
