"""Run the training step in a TensorFlow 1 session, which records RunMetadata: kernels, inputs, true shapes."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from estimator.collect.capture import tensorflow_import
from estimator.collect.capture.watch import Watch
from estimator.core.errors import EstimatorError

FILE = "steps.runmetadata.pb"
LENGTH = 8  # bytes of the length before each step's message


class SessionRun:
    """A traced function on one batch, with copies of its variables; and the recorder of its steps."""

    def __init__(self, function: Any, batch: Any, folder: Path) -> None:
        self.folder = folder
        self.recording = False
        self.messages: list[bytes] = []
        self.v1 = tensorflow_import.import_tensorflow().compat.v1
        captured = [(_captured_value(*pair), pair[1].dtype == "resource") for pair in function.graph.captures]
        graph = tensorflow_import.import_tensorflow().Graph()
        with graph.as_default():
            initializations: list[tuple[Any, dict[Any, Any]]] = []
            inputs = [
                *_endless_input(batch, initializations),
                *(_make_variable(*pair, initializations) for pair in captured),
            ]
            self.training_step = _import_function(function, inputs)
        config = tensorflow_import.import_tensorflow("tensorflow.python.eager.context").context().config
        self.session = self.v1.Session(graph=graph, config=config)
        for load, feed in initializations:
            self.session.run(load, feed)

    def run(self, watch: Watch) -> None:
        """Run the steps of the watch."""
        while not watch.done:
            watch.begin()
            self._run()
            watch.end()

    def graphs(self) -> list[Any]:
        """The graphs that the session runs, one per device; the step for them also sets up tracing."""
        traced = self._run_traced(trace_level=self.v1.RunOptions.FULL_TRACE, output_partition_graphs=True)
        return list(traced.partition_graphs)

    def start(self) -> None:
        """Start recording."""
        self.recording, self.messages = True, []

    def step(self, number: int) -> Any:
        """Nothing to mark, as each message is a step."""
        return nullcontext()

    def stop(self, *, keep: bool) -> None:
        """Write one RunMetadata per step, preceded by its length, or discard them."""
        self.recording = False
        if not keep:
            return
        framed = b"".join(len(message).to_bytes(LENGTH, "little") + message for message in self.messages)
        (self.folder / FILE).write_bytes(framed)

    def _run(self) -> None:
        if self.recording:
            metadata = self._run_traced(trace_level=self.v1.RunOptions.FULL_TRACE)
            self.messages.append(metadata.SerializeToString())
        else:
            self.session.run(self.training_step)

    def _run_traced(self, **options: Any) -> Any:
        metadata = self.v1.RunMetadata()
        self.session.run(self.training_step, options=self.v1.RunOptions(**options), run_metadata=metadata)
        return metadata


def _endless_input(batch: Any, initializations: list[tuple[Any, dict[Any, Any]]]) -> tuple[Any, ...]:
    """The batch as the elements of an endless input pipeline."""
    tf = tensorflow_import.import_tensorflow()
    with tf.name_scope("estimator_input"):
        values = tf.nest.flatten(batch)
        feeds = tuple(tf.compat.v1.placeholder(value.dtype, value.shape) for value in values)
        elements = tf.data.Dataset.from_tensors(feeds).repeat()
        iterator = tf.compat.v1.data.make_initializable_iterator(elements)
        initializations.append(
            (iterator.initializer, {feed: value.numpy() for feed, value in zip(feeds, values, strict=True)})
        )
        return tuple(iterator.get_next())


def _captured_value(value: Any, placeholder: Any) -> Any:
    """The value of a captured tensor or variable; ``placeholder`` is its tensor inside the function."""
    tf = tensorflow_import.import_tensorflow()
    if value.dtype != tf.resource:
        return value.numpy()
    data = tensorflow_import.import_tensorflow("tensorflow.python.ops.handle_data_util").get_resource_handle_data(
        placeholder
    )
    if not data.is_set:
        raise EstimatorError(
            "the training step uses a table or another resource that is no variable, which a session cannot take over; "
            "use --format xplane"
        )
    return tf.raw_ops.ReadVariableOp(resource=value, dtype=data.shape_and_type[0].dtype).numpy()


def _make_variable(content: Any, is_variable: bool, initializations: list[tuple[Any, dict[Any, Any]]]) -> Any:
    """A constant or variable of the session's graph, with a captured value."""
    tf = tensorflow_import.import_tensorflow()
    with tf.name_scope("estimator_variable") as scope:
        if not is_variable:
            return tf.constant(content)
        handle = tf.raw_ops.VarHandleOp(dtype=content.dtype, shape=content.shape, shared_name=scope)
        feed = tf.compat.v1.placeholder(content.dtype, content.shape)
        initializations.append((tf.raw_ops.AssignVariableOp(resource=handle, value=feed), {feed: content}))
    return handle


def _import_function(function: Any, inputs: list[Any]) -> Any:
    """Import the function as one op that runs all its outputs and side effects."""
    tf, graph = tensorflow_import.import_tensorflow(), function.graph
    effects = [output.op.name for output in graph.outputs] + [op.name for op in graph.control_outputs]
    names = [placeholder.name for placeholder in graph.inputs]
    input_map = dict(zip(names, inputs, strict=True))
    return tf.group(tf.import_graph_def(graph.as_graph_def(), input_map, return_elements=effects, name=""))
