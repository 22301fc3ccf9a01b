"""Start-up as a ratio to ``import pandas`` in the same run: python tests/benchmarks/startup.py

Runs each command as a whole process, interleaved, and prints the medians' ratios. Use an environment with the run-time
dependencies alone: what else is installed slows imports down.
"""

import statistics
import subprocess
import sys
import time

RUNS = 11
COMMANDS = {
    "import pandas": [sys.executable, "-c", "import pandas"],
    "estimator --help": [sys.executable, "-m", "estimator", "--help"],
    "estimator estimate": [sys.executable, "-m", "estimator", "estimate", "p1b3", "--to", "v100"],
}
GOALS = {"estimator --help": 0.4, "estimator estimate": 2.5}


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            times[name].append(seconds(command))
    medians = {name: statistics.median(found[1:]) for name, found in times.items()}
    for name, goal in GOALS.items():
        ratio = medians[name] / medians["import pandas"]
        print(f"{name}: {ratio:.2f} x 'import pandas' (goal {goal})")


if __name__ == "__main__":
    main()
