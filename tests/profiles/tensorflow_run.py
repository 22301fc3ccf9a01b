"""One TensorFlow training run dumped in every format: python tests/profiles/tensorflow_run.py FOLDER

FOLDER/session holds three steps as RunMetadata, ProfileProto and tfprof's op view, and the quietest of them alone as
RunMetadata (one_step.pb) and timeline. FOLDER/both holds three other steps, recorded by the session and by the XPlane
profiler at once. graph.csv is the session's graph, because timelines and XPlanes have no shapes.
"""

import itertools
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from tensorflow.python.client import timeline

from estimator.collect.capture import nodes

v1 = tf.compat.v1
BATCH, SIZES, STEPS = 128, (2000, 1500, 800, 1), 3


def build() -> tuple[Any, dict[Any, Any]]:
    """The training op of a small perceptron, and its feed."""
    x, y = v1.placeholder(tf.float32, [BATCH, SIZES[0]], "x"), v1.placeholder(tf.float32, [BATCH, 1], "y")
    hidden = x
    for number, (rows, columns) in enumerate(itertools.pairwise(SIZES)):
        with v1.name_scope(f"dense_{number}"):
            weights = v1.get_variable(f"kernel_{number}", [rows, columns])
            hidden = tf.nn.bias_add(tf.matmul(hidden, weights), v1.get_variable(f"bias_{number}", [columns]))
            hidden = tf.nn.relu(hidden) if columns > 1 else hidden
    loss = tf.reduce_mean(tf.square(hidden - y))
    rng = np.random.default_rng(0)
    feed = {x: rng.random((BATCH, SIZES[0]), dtype=np.float32), y: rng.random((BATCH, 1), dtype=np.float32)}
    return v1.train.GradientDescentOptimizer(1e-4).minimize(loss), feed


def main(folder: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        train, feed = build()
        start = v1.global_variables_initializer()
    config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    with v1.Session(graph=graph, config=config) as session:
        session.run(start)

        def step(level: int, **options: bool) -> Any:
            metadata = v1.RunMetadata()
            session.run(train, feed, v1.RunOptions(trace_level=level, **options), metadata)
            return metadata

        full, software = v1.RunOptions.FULL_TRACE, v1.RunOptions.SOFTWARE_TRACE
        graphs = list(step(full, output_partition_graphs=True).partition_graphs)
        step(full)
        dump_session(folder / "session", graph, [step(full) for _ in range(STEPS)])
        step(software)  # a running profiler prevents full traces of sessions
        tf.profiler.experimental.start(str(folder / "both"))
        steps = []
        for number in range(STEPS):
            with tf.profiler.experimental.Trace("train", step_num=number):
                steps.append(step(software))
        tf.profiler.experimental.stop()
    write_steps(folder / "both" / "run_metadata.pb", steps)
    for name in ("session", "both"):
        nodes.table(graphs).to_csv(folder / name / "graph.csv", index=False)


def dump_session(folder: Path, graph: tf.Graph, steps: list[Any]) -> None:
    folder.mkdir(parents=True)
    write_steps(folder / "run_metadata.pb", steps)
    quietest = min(steps, key=time_outside_work_ns)
    trace = timeline.Timeline(quietest.step_stats).generate_chrome_trace_format()
    (folder / "timeline.json").write_text(trace)
    (folder / "one_step.pb").write_bytes(quietest.SerializeToString())
    profiler = v1.profiler.Profiler(graph)
    for number, metadata in enumerate(steps):
        profiler.add_step(number, metadata)
    (folder / "profile").write_bytes(profiler.serialize_to_string())
    builder = v1.profiler.ProfileOptionBuilder
    selected = builder(builder.time_and_memory(min_micros=0)).with_step(-1)
    selected.select(["micros", "bytes", "occurrence", "input_shapes"])
    profiler.profile_operations(selected.with_file_output(str(folder / "op.txt")).build())


def time_outside_work_ns(metadata: Any) -> int:
    """Time of a timeline's ops outside their work [ns]; long where another process ran in between."""
    ops = (op for device in metadata.step_stats.dev_stats for op in device.node_stats)
    return sum(op.all_end_rel_nanos - (op.op_end_rel_nanos - op.op_start_rel_nanos) for op in ops)


def write_steps(path: Path, steps: list[Any]) -> None:
    """Write the messages of several steps, each after its length."""
    messages = [metadata.SerializeToString() for metadata in steps]
    path.write_bytes(b"".join(len(message).to_bytes(8, "little") + message for message in messages))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
