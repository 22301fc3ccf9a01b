"""Replaying a timeline against one pass of numpy over its factors: python tests/benchmarks/replay.py [KERNELS] [DRAWS]

The array holds a factor for each kernel and draw. The pass is their product with the kernels' durations and its sum
along the kernels, which is what a step without lanes and launches takes. The timeline has two streams, a launch of each
kernel, a wait between the streams every hundredth kernel, and a wait of the host every ten thousandth. Printed is the
ratio of the processor times in this process.
"""

import os
import sys
import time
from collections.abc import Callable

os.environ["OMP_NUM_THREADS"] = "1"  # processor time counts threads that wait, too

import numpy as np
import pandas as pd

from estimator.core.schema import HOST, TIMELINE
from estimator.core.types import Floats
from estimator.rollup.timeline import Events, replay, step_s

KERNELS, DRAWS = 10**5, 1000
RUNS = 3  # of which the best counts: other processes only lengthen them
GOAL = 10.0
LAUNCH_S, KERNEL_S = 5e-6, 4e-6
WAIT_EACH, SYNC_EACH = 100, 10**4


def timeline(kernels: int) -> pd.DataFrame:
    """TIMELINE of so many kernels on two streams."""
    op = np.arange(kernels)
    events = pd.DataFrame({"op": op, "lane": np.where(op % WAIT_EACH < WAIT_EACH // 2, "stream 1", "stream 2")})
    events = events.assign(start_s=op * LAUNCH_S, duration_s=KERNEL_S, launch_s=op * LAUNCH_S, delay_s=0.0, lag_s=0.0)
    events["after"] = pd.Series(op - 1).where((op % WAIT_EACH == 0) & (op > 0))
    awaited = np.arange(SYNC_EACH, kernels, SYNC_EACH)
    syncs = pd.DataFrame(
        {"lane": HOST, "start_s": awaited * LAUNCH_S, "duration_s": KERNEL_S, "lag_s": 0.0, "after": awaited}
    )
    return TIMELINE.conform(pd.concat([events, syncs], ignore_index=True), "benchmark")


def seconds(what: Callable[[], object]) -> float:
    """The least processor time of several runs [s]."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        what()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    kernels = int(sys.argv[1]) if len(sys.argv) > 1 else KERNELS
    draws = int(sys.argv[2]) if len(sys.argv) > 2 else DRAWS
    factor: Floats = np.random.default_rng(0).lognormal(sigma=0.1, size=(draws, kernels))
    duration_s, pace = np.full(kernels, KERNEL_S), np.ones(draws)
    events = Events(timeline(kernels))
    bare = seconds(lambda: (factor * duration_s).sum(axis=1))
    actual = seconds(lambda: step_s(replay(events, factor, pace, kernels * LAUNCH_S)))
    print(f"{kernels} kernels, {draws} draws: {actual / bare:.1f} x one pass of numpy, {bare:.2f} s (goal {GOAL:g})")


if __name__ == "__main__":
    main()
