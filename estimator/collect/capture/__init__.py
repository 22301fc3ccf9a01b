"""``estimator capture``: run a user's training, time its steps, profile a few, and write all that a reader needs.

A folder holds the dump, ``graph.csv`` (what the dump lacks), ``workload.yaml`` (the run) and ``provenance.yaml``
(machine, times with and without the profiler). It is written whole or not at all.
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

__all__ = ["Captured", "Plan", "capture", "opened", "record", "scaled"]

STEPS = 30  # timed where nobody says
# Warnings about what a dump cannot tell
COMPILED = "XLA compiles the step: shapes stand in the trace, under XLA's names; compile(jit_compile=False) shows ops"
EAGER = "the step runs no traced function, so its ops have no shapes here; decorate it with tf.function"


@dataclass(frozen=True)
class Captured:
    """What one capture wrote, and what it measured [s]."""

    folder: Path
    format: Format
    watch: Watch
    workload: dict[str, Any]
    warnings: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The capture as JSON says it."""
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
    with whole_folder(folder) as place, opened(path, plan) as (own, run):
        found = record(own, run, place, plan, progress)
    return replace(found, folder=folder)


@contextmanager
def opened(path: Path, plan: Plan) -> Iterator[tuple[script.Script, training.Training]]:
    """The training run that a file defines, ready to be recorded inside the block. Raises EstimatorError as
    :func:`capture` does.
    """
    with tensorflow_import.suppress_output(plan.verbose), _tensorflow(plan.verbose), script.loaded(path) as own:
        yield own, training.find(own, plan)


def record(
    own: script.Script, run: training.Training, place: Path, plan: Plan, progress: Progress = lambda done, total: None
) -> Captured:
    """Run an opened training, and write what was seen into a folder that is there."""
    timed = plan.steps or _epoch_steps(own, run, plan.epochs)
    shapes = [tuple(tensor.shape) for tensor in tensorflow_import.import_tensorflow().nest.flatten(run.batch())]
    runner, recorder, graphs = _traced(own, run, place, plan.format)
    watch = Watch(plan.warmup, timed, plan.profiled, recorder, progress, tries=plan.tries)
    try:
        runner.run(watch)
    finally:
        if not watch.done:
            recorder.stop(keep=False)
    if not watch.done:
        raise own.fault(f"its data ended after {len(watch.seconds)} steps; expected {watch.total}, so give fewer")
    found = nodes.table(graphs, shapes)
    workload = describing.workload(own, run, plan)
    if not found.empty:
        write_text(place / graph.FILE, found.to_csv(index=False, lineterminator="\n"))
    describing.write(place / "workload.yaml", workload)
    how = f"{run.how}, as one function in a TensorFlow 1 session" if plan.format == "tfprof" else run.how
    describing.write(place / "provenance.yaml", describing.provenance(own, run, watch, how, plan))
    return Captured(place, plan.format, watch, workload, tuple(_warnings(run, plan.format, found.empty)))


def _traced(own: script.Script, run: training.Training, place: Path, form: Format) -> tuple[Any, Any, list[Any]]:
    """What runs the steps, what records them, and the graphs that run: the file's own, or a session's of its step."""
    if form == "tfprof":
        if run.compiled:
            raise own.fault("XLA compiles its step into one op; use --format xplane, or compile(jit_compile=False)")
        session = SessionRun(run.function(), run.batch(), place)
        return session, session, session.graphs()
    with nodes.recorded() as graphs:
        run.run(Watch(warmup=1))
    return run, XPlane(place), graphs


def _epoch_steps(own: script.Script, run: training.Training, epochs: int | None) -> int:
    if epochs is None:
        return STEPS
    if run.epoch_steps is None:
        raise own.fault("how many batches an epoch has is not known before it ends; give --steps in place of --epochs")
    return epochs * run.epoch_steps


def _warnings(run: training.Training, form: Format, no_graph: bool) -> Iterator[str]:
    if run.compiled:
        yield COMPILED
    elif no_graph and form == "xplane":
        yield EAGER


@contextmanager
def _tensorflow(verbose: bool) -> Iterator[None]:
    """TensorFlow under Keras, with its own log silent unless the user said otherwise."""
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
