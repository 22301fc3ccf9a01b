"""The memory of shipped workloads against what TensorFlow allocates when it trains them here."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from estimator.core.types import RunPlan
from estimator.pipeline.memory import memory
from estimator.profiles import read_profile
from tests.conftest import ROOT

WORKLOADS = {  # name → profile; those of CANDLE that train in seconds
    "p1b2": "p1b2", "p1b3": "p1b3/amd-epyc.xplane", "uno": "uno", "combo": "combo", "p3b1": "p3b1",
    "p3b1-shared": "p3b1-shared", "p3b2": "p3b2", "p3b3": "p3b3", "p2b1": "p2b1",
}  # fmt: skip

PROCESSES, NEAR = 3, 0.02
FARTHEST = dict.fromkeys(WORKLOADS, NEAR) | {"p3b1": 0.15, "p3b1-shared": 0.15}  # from what ops ask for


def trained(name: str) -> dict[str, float]:
    """Bytes that ops asked for, and that the allocator gave them."""
    program = [sys.executable, str(ROOT / "tests" / "rollup" / "allocated.py"), name]
    paths = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(program, capture_output=True, text=True, check=True, env=paths)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def differences(name: str, profile: str) -> tuple[float, float]:
    """How far our bytes are from those that ops asked for, and from what the allocator gave them.

    Of its ops TensorFlow takes another order in one process than in the next, so that more lives at once now and then:
    of up to three processes the one that is nearest counts, and none follows one that is near enough.
    """
    use = memory(read_profile(profile), RunPlan(""))
    total = float(use.total[0])
    asked, best = total - float(use.parts["allocator"][0]), (np.inf, np.inf)
    for _ in range(PROCESSES):
        truth = trained(name)
        best = min(best, (abs(asked / truth["asked"] - 1), abs(total / truth["allocated"] - 1)))
        if best[0] < FARTHEST[name]:
            break
    return best


@pytest.mark.slow
@pytest.mark.tensorflow
def test_what_tensorflow_asks_for_and_allocates() -> None:
    """Ops ask for what we count, workspaces of convolutions apart; P3B1's order is hardly ever that of its capture.

    What the allocator adds is judged as a median: chunks that stay from a model's start are as large as chance has it.
    """
    found = {name: differences(name, profile) for name, profile in WORKLOADS.items()}
    allocated = sorted(difference for _, difference in found.values())
    assert {name: asked for name, (asked, _) in found.items() if asked >= FARTHEST[name]} == {}
    assert allocated[len(allocated) // 2] < 0.10
