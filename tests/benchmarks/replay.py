"""Replaying a step against one numpy pass over the same array: python tests/benchmarks/replay.py [KERNELS] [DRAWS]

Replays a step of random kernels on three streams, which the host launches and waits for and which wait for each other,
with a time of its own for every kernel in every draw. The pass is the running sum of the same times: when each kernel
ends if all run in turn. Both run in this process on one core, in parts of as many draws as PART_BYTES hold. Prints the
ratio of the processor times, the best of RUNS each, and what a plain sum takes beside.
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
from estimator.rollup.timeline import STEPS, Events, replay, step_s

KERNELS, DRAWS = 10**5, 1000
RUNS = 3  # of which the best counts: other processes only lengthen them
PART_BYTES = 256 * 2**20
LANES = 3
HOST_WAITS, LANE_WAITS = 1000, 100  # kernels from one wait of the host to the next, and from one wait between streams
KERNEL_S, LAUNCH_S = 1e-5, 4e-6
GOAL = 10.0


def random_step(kernels: int, rng: np.random.Generator) -> pd.DataFrame:
    """TIMELINE of a step: kernels in turn on LANES streams; behind every HOST_WAITS of them the host waits."""
    number = np.arange(kernels)
    duration_s = KERNEL_S * rng.lognormal(0.0, 1.0, kernels)
    end_s = np.cumsum(duration_s)  # as recorded, one after another
    first = number - number % HOST_WAITS
    launch_s = np.concatenate([[0.0], end_s])[first] + LAUNCH_S * (number - first)
    waits_for_lane = (number % LANE_WAITS == 0) & (number > 0)
    launched = pd.DataFrame({
        "op": number, "lane": (number % LANES).astype(str), "start_s": end_s - duration_s, "duration_s": duration_s,
        "launch_s": launch_s, "after": np.where(waits_for_lane, number - 1.0, np.nan), "delay_s": LAUNCH_S,
    })  # fmt: skip
    last = number[HOST_WAITS - 1 :: HOST_WAITS]
    begin_s = np.concatenate([[0.0], end_s[last][:-1]])
    awaited = {"lane": HOST, "start_s": begin_s, "duration_s": end_s[last] - begin_s, "lag_s": LAUNCH_S, "after": last}
    return TIMELINE.conform(pd.concat([launched, pd.DataFrame(awaited)], ignore_index=True), "random step")


def replayed(events: Events, times: Floats) -> Floats:
    """The step in every draw; each kernel takes so many times as long as in the timeline."""
    return step_s(replay(events, times, np.ones(len(times)), float(events.resumed[-1])))


def running_sums(_: Events, times: Floats) -> Floats:
    return np.cumsum(times, axis=1)


def sums(_: Events, times: Floats) -> Floats:
    return np.asarray(times.sum(axis=1))


def seconds(what: Callable[[Events, Floats], Floats], timeline: pd.DataFrame, sizes: list[int]) -> float:
    """Processor time of all parts [s], without what makes their times."""
    rng, spent_s, events = np.random.default_rng(1), 0.0, Events(timeline)  # whose blocks are made when first asked for
    kernels = int(timeline["op"].max()) + 1
    for draws in sizes:
        times = rng.lognormal(0.0, 0.1, (draws, kernels))
        start = time.process_time()
        what(events, times)
        spent_s += time.process_time() - start
    return spent_s


def main() -> None:
    kernels, draws = (int(sys.argv[n]) if len(sys.argv) > n else default for n, default in ((1, KERNELS), (2, DRAWS)))
    timeline = random_step(kernels, np.random.default_rng(0))
    at_once = max(1, PART_BYTES // (8 * kernels))
    sizes = [min(at_once, draws - done) for done in range(0, draws, at_once)]
    found, running, plain = (
        min(seconds(what, timeline, sizes) for _ in range(RUNS)) for what in (replayed, running_sums, sums)
    )
    blocks = len(Events(timeline).blocks)
    print(f"{kernels} kernels in {blocks} blocks, {draws} draws, {at_once} at once, {STEPS} steps in a row")
    print(f"{found / running:.1f} x their running sums of {running:.2f} s (goal {GOAL:g})", end="; ")
    print(f"these are {running / plain:.1f} x their sums")


if __name__ == "__main__":
    main()
