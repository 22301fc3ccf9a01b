import subprocess
import sys

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


def test_an_estimate_hardly_ever_looks_for_garbage() -> None:
    """By itself Python looks more than 200 times."""
    done = subprocess.run([sys.executable, "-c", ESTIMATE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"step_s"' in done.stdout


def test_the_module_runs_as_the_command_does() -> None:
    done = subprocess.run([sys.executable, "-m", "estimator", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("estimator ")
