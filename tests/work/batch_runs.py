"""Small captures at two batch sizes, and of the forward pass alone: python tests/work/batch_runs.py FOLDER RUNS

RUNS is a JSON list of [name, scale, batch, mode]; each lies in FOLDER/<name>-<batch>-<mode>.
"""

import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras

from estimator.collect.capture import Plan, capture, script
from estimator.core.types import Mode


def run(folder: Path, name: str, scale: float, batch: int, mode: Mode) -> None:
    plan = Plan(steps=1, warmup=1, profiled=1, batch=batch, scale=scale, mode=mode)
    capture(script.locate(name), folder / f"{name}-{batch}-{mode}", plan)
    keras.backend.clear_session()


if __name__ == "__main__":
    for arguments in json.loads(sys.argv[2]):
        run(Path(sys.argv[1]), *arguments)
