"""What TensorFlow allocates in a training step: python tests/rollup/allocated.py WORKLOAD

Keras' fit trains a shipped workload on one thread, where TensorFlow's own allocator of GPUs (BFC) serves the processor.
Prints as JSON the peak of a step in bytes: ``asked`` by ops and variables, from the allocator's events in a trace, and
``allocated``, the chunks that the allocator gave, from its own statistics.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

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
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space, changes = xplane_pb2.XSpace(), []
    space.ParseFromString(path.read_bytes())
    for plane in space.planes:
        names = {key: stat.name for key, stat in plane.stat_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                sign = EVENTS.get(plane.event_metadata[event.metadata_id].name)
                stats = {names[stat.metadata_id]: stat for stat in event.stats} if sign else {}
                if sign and "requested_bytes" in stats:
                    stat = stats["requested_bytes"]
                    asked = stat.int64_value or stat.uint64_value
                    changes.append((line.timestamp_ns * 1000 + event.offset_ps, sign * asked))
    held = most = 0
    for _, change in sorted(changes, key=lambda pair: pair[0]):
        held += change
        most = max(most, held)
    return most


if __name__ == "__main__":
    keras.utils.set_random_seed(0)
    print(json.dumps(main(sys.argv[1])))
