"""A study of many devices against one estimate: python tests/benchmarks/scale.py [PROFILE]

Times ``studies.scale.scale`` over 14 numbers of devices × 4 splits, and one ``estimate`` of the same profile on the
same device with as many draws, interleaved in this process; prints the ratio of the medians.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable

os.environ["OMP_NUM_THREADS"] = "1"  # processor time counts threads that wait, too

from estimator.core.parallel import Split
from estimator.core.types import RunPlan
from estimator.devices import load_system
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from estimator.studies.scale import scale

SYSTEM, BATCH, RUNS, GOAL = "selene", 32, 5, 3.0
DEVICES = [2**power for power in range(12)] + [3072, 4096]
SPLITS = (Split("data"), Split("zero1"), Split("zero3"), Split("parameter-server"))


def processor_s(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def main(name: str = "resnet50") -> None:
    """Print the ratio."""
    device = load_system(SYSTEM).device

    def scaled() -> None:
        scale(read_profile(name), load_system(SYSTEM), DEVICES, RunPlan("", batch=BATCH), SPLITS, "weak")

    def one() -> None:
        estimate(read_profile(name), RunPlan(device, batch=BATCH))

    scaled()  # what is read once
    one()
    times_s = [(processor_s(scaled), processor_s(one)) for _ in range(RUNS)]
    many_s, one_s = (statistics.median(of) for of in zip(*times_s, strict=True))
    print(f"{len(DEVICES)} numbers of devices x {len(SPLITS)} splits of {name}: {many_s / one_s:.2f} x one estimate")
    print(f"goal: at most {GOAL:g}")


if __name__ == "__main__":
    main(*sys.argv[1:])
