"""``estimator capture``: run a user's training, time its steps, profile some, and write the profile.

The folder holds the dump, ``graph.csv`` (shapes that the dump lacks), ``workload.yaml`` (the run) and
``provenance.yaml`` (machine, times with and without the profiler). It is written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from estimator.collect.capture import describing, nodes, script, tensorflow_import, training
from estimator.collect.capture.plan import Format, Plan
from estimator.collect.capture.scale import scaled
from estimator.collect.capture.session import SessionRun
from estimator.collect.capture.tracing import XPlane
from estimator.collect.capture.watch import Progress, Watch
from estimator.core.errors import EstimatorError
from estimator.core.files import whole_folder, write_text
from estimator.profiles import graph

__all__ = ["Captured", "Plan", "capture", "open_training", "record", "scaled"]

STEPS = 30  # timed by default
# warnings about dumps without shapes
COMPILED = "XLA compiles the step: shapes stand in the trace, under XLA's names; compile(jit_compile=False) shows ops"
EAGER = "the step runs no traced function, so its ops have no shapes here; decorate it with tf.function"


@dataclass(frozen=True)
class Captured:
    """The result of a capture."""

    folder: Path
    format: Format
    watch: Watch
    workload: dict[str, Any]
    warnings: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The capture as a JSON document."""
        low, mid, high = map(float, self.watch.step_s())
        return {
            "folder": str(self.folder),
            "format": self.format,
            "steps": self.watch.profiled,
            "wall_step_s": {"low": low, "mid": mid, "high": high, "level": 0.9, "covers": "repeats"},
            "repeats": self.watch.timed,
            "warmup": self.watch.warmup,
            "profiled_step_s": self.watch.profiled_s(),
            "overhead": self.watch.profiled_s() / mid - 1,
            "parameters": self.workload.get("parameters"),
            "batch_size": self.workload["batch_size"],
            "warnings": list(self.warnings),
        }


def capture(path: Path, folder: Path, plan: Plan, progress: Progress = lambda done, total: None) -> Captured:
    """Profile the training run that a file defines, into a new folder.

    Raises EstimatorError where TensorFlow is missing, the file is at fault, or the folder holds anything.
    """
    with whole_folder(folder) as temporary, open_training(path, plan) as (user_script, run):
        captured = record(user_script, run, temporary, plan, progress)
    return replace(captured, folder=folder)


@contextmanager
def open_training(path: Path, plan: Plan) -> Iterator[tuple[script.Script, training.Training]]:
    """Open the training run that a file defines; it can be recorded inside the block.

    Raises EstimatorError as :func:`capture` does.
    """
    with (
        tensorflow_import.suppress_output(plan.verbose),
        _quiet_tensorflow(plan.verbose),
        script.load_script(path) as user_script,
    ):
        yield user_script, training.find_training(user_script, plan)


def record(
    user_script: script.Script,
    run: training.Training,
    folder: Path,
    plan: Plan,
    progress: Progress = lambda done, total: None,
) -> Captured:
    """Run an opened training, and write its profile into an existing folder."""
    timed = plan.steps or _epoch_steps(user_script, run, plan.epochs)
    shapes = [tuple(tensor.shape) for tensor in tensorflow_import.import_tensorflow().nest.flatten(run.batch())]
    runner, recorder, graphs = _set_up_recording(user_script, run, folder, plan.format)
    watch = Watch(plan.warmup, timed, plan.profiled, recorder, progress, tries=plan.tries)
    try:
        runner.run(watch)
    finally:
        if not watch.done:
            recorder.stop(keep=False)
    if not watch.done:
        raise user_script.fault(
            f"its data ended after {len(watch.seconds)} steps; expected {watch.total}, so give fewer"
        )
    graph_table = nodes.table(graphs, shapes)
    workload = describing.workload(user_script, run, plan)
    if not graph_table.empty:
        write_text(folder / graph.FILE, graph_table.to_csv(index=False, lineterminator="\n"))
    describing.write(folder / "workload.yaml", workload)
    how = f"{run.how}, as one function in a TensorFlow 1 session" if plan.format == "tfprof" else run.how
    describing.write(folder / "provenance.yaml", describing.provenance(user_script, run, watch, how, plan))
    return Captured(folder, plan.format, watch, workload, tuple(_warnings(run, plan.format, graph_table.empty)))


def _set_up_recording(
    user_script: script.Script, run: training.Training, folder: Path, dump_format: Format
) -> tuple[Any, Any, list[Any]]:
    """The runner, the recorder and the graphs: of the file's own run, or of a session with its step."""
    if dump_format == "tfprof":
        if run.compiled:
            raise user_script.fault(
                "XLA compiles its step into one op; use --format xplane, or compile(jit_compile=False)"
            )
        session = SessionRun(run.function(), run.batch(), folder)
        return session, session, session.graphs()
    with nodes.record_graphs() as graphs:
        run.run(Watch(warmup=1))
    return run, XPlane(folder), graphs


def _epoch_steps(user_script: script.Script, run: training.Training, epochs: int | None) -> int:
    if epochs is None:
        return STEPS
    if run.epoch_steps is None:
        raise user_script.fault(
            "how many batches an epoch has is not known before it ends; give --steps in place of --epochs"
        )
    return epochs * run.epoch_steps


def _warnings(run: training.Training, dump_format: Format, no_graph: bool) -> Iterator[str]:
    if run.compiled:
        yield COMPILED
    elif no_graph and dump_format == "xplane":
        yield EAGER


@contextmanager
def _quiet_tensorflow(verbose: bool) -> Iterator[None]:
    """Check that Keras runs on TensorFlow; silence TensorFlow's log unless ``verbose``."""
    tf, keras = tensorflow_import.import_tensorflow(), tensorflow_import.import_tensorflow("keras")
    if getattr(keras, "backend", None) and keras.backend.backend() != "tensorflow":
        raise EstimatorError(
            f"estimator capture: Keras runs on {keras.backend.backend()}; set KERAS_BACKEND=tensorflow"
        )
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel(level if verbose else "ERROR")
    try:
        yield
    finally:
        logger.setLevel(level)
