"""Start-up as a ratio to ``import pandas`` in the same run: python tests/benchmarks/startup.py

Runs each command as a whole process, in turns, with its bytecode at hand, as an installed package has it. Prints the
median of the ratios that each turn gives, and between which the half of them lies: of processor time, which other load
lengthens less, and of wall time. Use an environment with the run-time dependencies alone: what else is installed slows
imports down, pandas' own most of all.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

TURNS = 15
COMMANDS = {
    "import pandas": [sys.executable, "-c", "import pandas"],
    "estimator --help": [sys.executable, "-m", "estimator", "--help"],
    "estimator estimate": [sys.executable, "-m", "estimator", "estimate", "p1b3", "--to", "v100"],
}
GOALS = {"estimator --help": 0.3, "estimator estimate": 2.0}


def seconds(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Processor and wall time of a process."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    silent = subprocess.DEVNULL
    subprocess.run(command, check=True, stdout=silent, stderr=silent, env=environment)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(1 + TURNS):
            for name, command in COMMANDS.items():
                times[name].append(seconds(command, environment))
    for name, goal in GOALS.items():
        turns = list(zip(times[name], times["import pandas"], strict=True))[1:]  # the first one compiles
        ratios = ([own[clock] / pandas[clock] for own, pandas in turns] for clock in (0, 1))
        shown = [f"{q[1]:.2f} ({q[0]:.2f} – {q[2]:.2f})" for q in (statistics.quantiles(each, n=4) for each in ratios)]
        print(f"{name}: {shown[0]} x 'import pandas' of processor time, {shown[1]} of wall time (goal {goal})")


if __name__ == "__main__":
    main()
