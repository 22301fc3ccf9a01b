"""The memory of shipped workloads against what TensorFlow allocates when it trains them here."""

import json
import os
import subprocess
import sys

import pytest

from estimator import pipeline
from estimator.core.types import RunPlan
from estimator.profiles import read_profile
from tests.conftest import ROOT

WORKLOADS = {  # name → profile; those of CANDLE that train in seconds
    "p1b2": "p1b2", "p1b3": "p1b3/amd-epyc.xplane", "uno": "uno", "combo": "combo", "p3b1": "p3b1",
    "p3b1-shared": "p3b1-shared", "p3b2": "p3b2", "p3b3": "p3b3", "p2b1": "p2b1",
}  # fmt: skip


def trained(name: str) -> dict[str, float]:
    """Bytes that ops asked for, and that the allocator gave them."""
    program = [sys.executable, str(ROOT / "tests" / "rollup" / "allocated.py"), name]
    paths = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(program, capture_output=True, text=True, check=True, env=paths)
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.slow
@pytest.mark.tensorflow
def test_what_tensorflow_asks_for_and_allocates() -> None:
    """Ops ask for what we count, but for P3B1: of its ops TensorFlow takes another order in one process than in the
    next, and 0 to 13 % more lives at once.

    What its allocator adds is judged as a median: chunks that stay from a model's start are as large as chance has it.
    """
    asked, allocated = dict[str, float](), []
    for name, profile in WORKLOADS.items():
        use, truth = pipeline.memory(read_profile(profile), RunPlan("")), trained(name)
        total = float(use.total[0])
        asked[name] = abs((total - float(use.parts["allocator"][0])) / truth["asked"] - 1)
        allocated.append(abs(total / truth["allocated"] - 1))
    assert max(asked.pop("p3b1"), asked.pop("p3b1-shared")) < 0.15
    assert max(asked.values()) < 0.02
    assert sorted(allocated)[len(allocated) // 2] < 0.10
