"""The user's training run, step by step: Keras ``fit``, the forward pass, or the user's ``train_step``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any, Protocol

from estimator.collect.capture import synthetic_data, tensorflow_import
from estimator.collect.capture.plan import Plan
from estimator.collect.capture.script import Script
from estimator.collect.capture.watch import Watch

KERAS_BATCH = 32  # the default of fit
CONTRACT = "build() or model, and data(); or train_step(batch), with batches(): see 'estimator capture --help'"


class Training(Protocol):
    """A training that runs the steps of a watch."""

    how: str
    batch_size: int
    samples: int | None
    epoch_steps: int | None

    def run(self, watch: Watch) -> None:
        """Run the watch's steps, over as many epochs as they take."""

    def batch(self) -> Any:
        """One batch, as tensors."""

    def function(self) -> Any:
        """The step as one traced function of a batch; variables exist by then."""

    @property
    def model(self) -> Any:
        """The Keras model, where it is known."""

    @property
    def compiled(self) -> bool:
        """Whether XLA compiles the step."""


def find_training(script: Script, plan: Plan) -> Training:
    """The training of a file. Raises EstimatorError where it defines none, or does not fit the plan."""
    if "train_step" in script and "batches" in script:
        if plan.mode != "training" or plan.scale != 1:
            raise script.fault("its own train_step has neither scale nor another mode; define build() in its place")
        return Loop(script, plan.batch)
    if "build" in script or "model" in script:
        return (Fit if plan.mode == "training" else Forward)(script, plan)
    raise script.fault(f"it defines no training run; expected {CONTRACT}")


class Fit:
    """A compiled Keras model trained by ``fit``; a step is a batch of its callbacks."""

    how = "Keras fit"

    def __init__(self, script: Script, plan: Plan) -> None:
        self.script = script
        self.model = _compiled_model(script, plan.scale)
        stated = plan.batch or script.count("BATCH_SIZE")
        data = (
            script.value_of("data")
            if "data" in script
            else synthetic_data.synthetic_batch(self.model, stated or KERAS_BATCH)
        )
        self.arrays = isinstance(data, tuple) and len(data) in (2, 3)
        if self.arrays:
            self.batch_size = stated or KERAS_BATCH
            self.samples: int | None = len(_first_array(data))
            self.epoch_steps: int | None = self.samples // self.batch_size
            self.data = _take(data, self.epoch_steps * self.batch_size)
        else:
            self.data, self.samples = data, None
            self.batch_size = _check_batch_size(script, "data()", stated, _first_batch(script, "data()", data))
            self.epoch_steps = _batch_count(data)
        if self.epoch_steps == 0:
            raise script.fault(f"data() holds {self.samples or 0} samples; expected a batch of {self.batch_size}")

    def run(self, watch: Watch) -> None:
        """Run the watch's steps, over as many epochs as they take."""

        def begin(batch: int, logs: object = None) -> None:
            watch.begin()

        def end(batch: int, logs: object = None) -> None:
            watch.end()
            self.model.stop_training = watch.done

        lambdas = tensorflow_import.import_tensorflow("keras").callbacks.LambdaCallback
        hooks = lambdas(on_train_batch_begin=begin, on_train_batch_end=end)
        feed = dict(zip(("x", "y", "sample_weight"), self.data, strict=False)) if self.arrays else {"x": self.data}
        feed |= {"batch_size": self.batch_size} if self.arrays else {}
        self.model.fit(**feed, epochs=watch.total, callbacks=[hooks], verbose=0)

    def batch(self) -> tuple[Any, ...]:
        """One batch as in fit: float arrays in Keras' format."""
        tf, keras = tensorflow_import.import_tensorflow(), tensorflow_import.import_tensorflow("keras")

        def standard(array: Any) -> Any:
            tensor = tf.convert_to_tensor(array)
            return tf.cast(tensor, keras.config.floatx()) if self.arrays and tensor.dtype.is_floating else tensor

        one_batch = _take(self.data, self.batch_size) if self.arrays else next(iter(self.data))
        return tuple(tf.nest.map_structure(standard, part) for part in one_batch if part is not None)

    def function(self) -> Any:
        """Keras' ``train_step`` on one batch; a step of fit first builds model and optimizer."""
        batch = self.batch()
        self.run(Watch(warmup=1))
        return (
            tensorflow_import.import_tensorflow()
            .function(lambda *data: self.model.train_step(data))
            .get_concrete_function(*batch)
        )

    @property
    def compiled(self) -> bool:
        """Whether XLA compiles the step, as Keras does unless told otherwise."""
        return bool(getattr(self.model, "jit_compile", False))


class Forward(Fit):
    """Inference: the forward pass of the model on one batch."""

    how = "the model's forward pass"

    @cached_property
    def forward(self) -> Any:
        """``model(x, training=False)`` as one traced function."""
        run = tensorflow_import.import_tensorflow().function(
            lambda *x: self.model(*x, training=False), jit_compile=self.compiled
        )
        return run.get_concrete_function(*self.batch())

    def run(self, watch: Watch) -> None:
        """Run the watch's steps on the same batch."""
        batch = self.batch()
        while not watch.done:
            watch.begin()
            self.forward(*batch)
            watch.end()

    def batch(self) -> tuple[Any, ...]:
        """The inputs of one batch."""
        return super().batch()[:1]

    def function(self) -> Any:
        """The forward pass as one traced function."""
        return self.forward


@dataclass
class Loop:
    """The user's ``train_step(batch)`` over ``batches()``; fetching a batch is part of the step."""

    script: Script
    stated: int | None
    how = "the file's own train_step"

    def __post_init__(self) -> None:
        self.step = self.script.names["train_step"]
        stated = self.stated or self.script.count("BATCH_SIZE")
        batches = self.script.value_of("batches")
        self.epoch_steps = _batch_count(batches)
        self.batch_size = _check_batch_size(
            self.script, "batches()", stated, _first_batch(self.script, "batches()", batches)
        )
        self.samples: int | None = None

    def run(self, watch: Watch) -> None:
        """Run the watch's steps, over as many epochs as they take."""
        feed = self._endless()
        while not watch.done:
            watch.begin()
            self.step(next(feed))
            watch.end()

    def batch(self) -> Any:
        """One batch, as tensors."""
        tf = tensorflow_import.import_tensorflow()
        return tf.nest.map_structure(tf.convert_to_tensor, next(self._endless()))

    def function(self) -> Any:
        """The step as one function; it runs once before, so that all variables exist."""
        batch = self.batch()
        self.step(batch)
        step = (
            self.step
            if hasattr(self.step, "get_concrete_function")
            else tensorflow_import.import_tensorflow().function(self.step)
        )
        return step.get_concrete_function(batch)

    @property
    def model(self) -> Any:
        """The Keras model that the file names, where it does."""
        return self.script.get("model")

    @property
    def compiled(self) -> bool:
        """Whether XLA compiles the step."""
        return bool(getattr(self.step, "_jit_compile", False))

    def _endless(self) -> Iterator[Any]:
        while True:
            epoch = iter(self.script.value_of("batches"))
            first = next(epoch, None)
            if first is None:
                raise self.script.fault("batches() has no batch any more; let it return a new iterable at each call")
            yield first
            yield from epoch


def _compiled_model(script: Script, scale: float) -> Any:
    if scale != 1 and ("build" not in script or "scale" not in signature(script.names["build"]).parameters):
        raise script.fault("its model has no scale; expected a function such as 'def build(scale=1.0)'")
    if scale != 1:
        model = script.names["build"](scale=scale)
    else:
        model = script.value_of("build") if "build" in script else script.get("model")
    name = "build()" if "build" in script else "model"
    if not getattr(model, "compiled", False):
        raise script.fault(f"{name} gives {type(model).__name__}; expected a Keras model on which compile() was called")
    steps = getattr(model, "steps_per_execution", 1)
    if steps != 1:
        raise script.fault(f"compile(steps_per_execution={steps}) hides the single steps; set it to 1")
    return model


def _check_batch_size(script: Script, name: str, stated: int | None, tensor: Any) -> int:
    """The size of the file's batches. Raises EstimatorError where another size is stated."""
    shape = tuple(getattr(tensor, "shape", ()))
    if not shape:
        raise script.fault(f"{name} gives {type(tensor).__name__} without a dimension; expected batches of samples")
    if stated and stated != shape[0]:
        raise script.fault(f"{name} gives batches of {shape[0]}, but {stated} is stated; let {name} make such batches")
    return int(shape[0])


def _first_batch(script: Script, name: str, batches: Any) -> Any:
    """The first array of the first batch. Raises EstimatorError where there is none."""
    try:
        feed = iter(batches)
    except TypeError:
        raise script.fault(
            f"{name} gives {type(batches).__name__}; expected {'(x, y) or ' * (name == 'data()')}an iterable of batches"
        ) from None
    tensors = tensorflow_import.import_tensorflow().nest.flatten(next(feed, None))
    if not tensors or tensors[0] is None:
        raise script.fault(f"{name} gives no batch; expected at least one")
    return tensors[0]


def _first_array(nested: Any) -> Any:
    return tensorflow_import.import_tensorflow().nest.flatten(nested)[0]


def _take(nested: Any, count: int) -> Any:
    return tensorflow_import.import_tensorflow().nest.map_structure(lambda array: array[:count], nested)


def _batch_count(batches: Any) -> int | None:
    """The number of batches; None where it is unknown without iterating."""
    try:
        return len(batches)
    except TypeError:
        return None
