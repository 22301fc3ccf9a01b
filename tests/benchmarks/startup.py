"""Start-up as a ratio to ``import pandas`` in the same run: python tests/benchmarks/startup.py

Runs each command as a whole process, in turns, with its bytecode at hand, as an installed package has it. Prints the
median of the ratios that each turn gives, and between which the half of them lies. Use an environment with the
run-time dependencies alone: what else is installed slows imports down, pandas' own most of all.
"""

import os
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


def seconds(command: list[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    silent = subprocess.DEVNULL
    subprocess.run(command, check=True, stdout=silent, stderr=silent, env=environment)
    return time.perf_counter() - start


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(1 + TURNS):
            for name, command in COMMANDS.items():
                times[name].append(seconds(command, environment))
    for name, goal in GOALS.items():
        turns = list(zip(times[name], times["import pandas"], strict=True))[1:]  # the first one compiles
        low, mid, high = statistics.quantiles([taken / pandas for taken, pandas in turns], n=4)
        print(f"{name}: {mid:.2f} ({low:.2f} – {high:.2f}) x 'import pandas' (goal {goal})")


if __name__ == "__main__":
    main()
