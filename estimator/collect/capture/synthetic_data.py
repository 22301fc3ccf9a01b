"""Data for a model without any: one batch of noise, shaped by the model's inputs, outputs and losses.

The time of a step does not depend on the values, as long as tokens cover their embedding and labels are classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from estimator.collect.capture import tensorflow_import
from estimator.core.errors import EstimatorError

BATCHES = 10  # per epoch of Keras


def synthetic_batch(model: Any, batch_size: int) -> Any:
    """A ``tf.data.Dataset`` that repeats one batch. Raises EstimatorError where a shape is left open."""
    rng = np.random.default_rng(0)
    rows = min((layer.input_dim for layer in model.layers if hasattr(layer, "embeddings")), default=2)
    inputs = [_values(rng, tensor, batch_size, rows) for tensor in _known_tensors(model, "inputs")]
    targets = [
        _target(rng, *pair, batch_size) for pair in zip(_known_tensors(model, "outputs"), _losses(model), strict=True)
    ]
    return (
        tensorflow_import.import_tensorflow()
        .data.Dataset.from_tensors((_single_or_tuple(inputs), _single_or_tuple(targets)))
        .repeat(BATCHES)
    )


def _known_tensors(model: Any, side: str) -> list[Any]:
    """The model's symbolic inputs or outputs; all sizes but the batch are known."""
    tensors = list(getattr(model, side, None) or [])
    if not tensors or any(None in tensor.shape[1:] for tensor in tensors):
        raise EstimatorError(
            f"{model.name}: the shapes of its {side} are open; define data(), or give keras.Input sizes"
        )
    return tensors


def _losses(model: Any) -> Iterator[str]:
    """The name of each output's loss."""
    names, loss_setting = getattr(model, "output_names", [None]), model.loss  # a Sequential has one output and no names
    losses = [loss_setting[name] for name in names] if isinstance(loss_setting, dict) else loss_setting
    for loss in losses if isinstance(losses, (list, tuple)) else [losses] * len(names):
        yield str(getattr(loss, "name", None) or getattr(loss, "__name__", loss))


def _values(rng: np.random.Generator, tensor: Any, batch_size: int, rows: int) -> Any:
    """Random numbers in [0, 1), or row numbers of an embedding."""
    shape, dtype = (batch_size, *tensor.shape[1:]), str(tensor.dtype)
    return rng.integers(rows, size=shape).astype(dtype) if "int" in dtype else rng.random(shape, np.float32)


def _target(rng: np.random.Generator, tensor: Any, loss: str, batch_size: int) -> Any:
    """The target for a loss: class numbers, one-hot classes, or numbers in [0, 1)."""
    width = tensor.shape[-1]
    classes = rng.integers(width, size=(batch_size, *tensor.shape[1:-1]))
    if loss.startswith("sparse_categorical"):
        return classes
    if loss.startswith("categorical"):
        return np.eye(width, dtype=np.float32)[classes]
    return _values(rng, tensor, batch_size, 2)


def _single_or_tuple(arrays: list[Any]) -> Any:
    return tuple(arrays) if len(arrays) > 1 else arrays[0]
