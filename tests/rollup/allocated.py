"""What TensorFlow allocates in a training step: python tests/rollup/allocated.py WORKLOAD

Keras' fit trains a shipped workload on one thread, where TensorFlow's own allocator of GPUs (BFC) serves the processor.
Prints as JSON the peak of a step in bytes: ``asked`` by ops and variables, from the allocator's events in a trace, and
``allocated``, the chunks that the allocator gave, from its own statistics. ``asked`` leaves out the workspace of
convolutions: it depends on the processor's caches and instructions, and the program does not predict it.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

os.environ |= {"TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPU_BFC_MEM_LIMIT_IN_MB": "20000", "TF_CPP_MIN_LOG_LEVEL": "3"}

import keras
import tensorflow as tf

from estimator.collect.capture import Plan, script, training

DEVICE, STEPS = "CPU:0", 3
EVENTS = {"MemoryAllocation": 1, "MemoryDeallocation": -1}


def main(name: str) -> dict[str, int]:
    for set_threads in (tf.config.threading.set_inter_op_parallelism_threads,
                        tf.config.threading.set_intra_op_parallelism_threads):  # fmt: skip
        set_threads(1)
    with script.load_script(script.locate(name)) as own:
        run = training.find_training(own, Plan(steps=1, warmup=1, profiled=1))
        data = run.data.repeat()  # type: ignore[attr-defined]
        run.model.fit(data, steps_per_epoch=STEPS, verbose=0)
        tf.config.experimental.reset_memory_stats(DEVICE)
        run.model.fit(data, steps_per_epoch=1, verbose=0)
        allocated = tf.config.experimental.get_memory_info(DEVICE)["peak"]
        with tempfile.TemporaryDirectory() as folder:
            options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=3)
            tf.profiler.experimental.start(folder, options=options)
            run.model.fit(data, steps_per_epoch=1, verbose=0)
            tf.profiler.experimental.stop()
            step = peak(next(Path(folder).rglob("*.xplane.pb")))
        held = {id(v): v for v in (*run.model.weights, *run.model.optimizer.variables)}.values()
        batch = tf.nest.flatten(next(iter(data)))
        variables = sum(size(v.shape) for v in held)
        return {"asked": step + 4 * (variables + sum(size(t.shape) for t in batch)), "allocated": int(allocated)}


def size(shape: Iterable[int]) -> int:
    """Elements of a shape."""
    count = 1
    for each in shape:
        count *= int(each)
    return count


def peak(path: Path) -> int:
    """The most bytes that ops asked for at once, beside what they held when the trace began."""
    held = most = 0
    workspaces: set[int] = set()  # addresses
    for _, sign, stats in sorted(allocations(path), key=itemgetter(0)):
        address = int(stats["addr"])
        if sign > 0 and stats.get("region_type") == "temp" and "conv" in str(stats["tf_op"]).lower():
            workspaces.add(address)
        elif sign < 0 and address in workspaces:
            workspaces.remove(address)
        else:
            held += sign * int(stats["requested_bytes"])
            most = max(most, held)
    return most


def allocations(path: Path) -> Iterator[tuple[int, int, dict[str, int | str]]]:
    """Time [ps], sign and facts of the allocator's events in a trace."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    space.ParseFromString(path.read_bytes())
    for plane in space.planes:
        names = {key: stat.name for key, stat in plane.stat_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                sign = EVENTS.get(plane.event_metadata[event.metadata_id].name)
                if sign:
                    stats = {names[stat.metadata_id]: value_of(stat, names) for stat in event.stats}
                    yield line.timestamp_ns * 1000 + event.offset_ps, sign, stats


def value_of(stat: Any, names: Mapping[int, str]) -> int | str:
    """The value of a stat; texts stand in the names of stats."""
    return names.get(stat.ref_value, "") or stat.str_value or stat.int64_value or stat.uint64_value


if __name__ == "__main__":
    keras.utils.set_random_seed(0)
    print(json.dumps(main(sys.argv[1])))
