"""Data for a model whose file defines none: one batch of noise, shaped by the model's own inputs, outputs and losses.

What a step costs does not depend on the values, as long as tokens spread over their embedding and labels are classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from estimator.collect.capture import tensorflow_import
from estimator.core.errors import EstimatorError

BATCHES = 10  # in what Keras takes for an epoch


def synthetic_batch(model: Any, batch_size: int) -> Any:
    """A ``tf.data.Dataset`` of the same batch again and again. Raises EstimatorError where a shape is left open."""
    rng = np.random.default_rng(0)
    rows = min((layer.input_dim for layer in model.layers if hasattr(layer, "embeddings")), default=2)
    inputs = [_values(rng, tensor, batch_size, rows) for tensor in _closed(model, "inputs")]
    targets = [_target(rng, *pair, batch_size) for pair in zip(_closed(model, "outputs"), _losses(model), strict=True)]
    return (
        tensorflow_import.import_tensorflow()
        .data.Dataset.from_tensors((_alone(inputs), _alone(targets)))
        .repeat(BATCHES)
    )


def _closed(model: Any, side: str) -> list[Any]:
    """The model's symbolic inputs or outputs, all of whose sizes but the batch are known."""
    tensors = list(getattr(model, side, None) or [])
    if not tensors or any(None in tensor.shape[1:] for tensor in tensors):
        raise EstimatorError(
            f"{model.name}: the shapes of its {side} are open; define data(), or give keras.Input sizes"
        )
    return tensors


def _losses(model: Any) -> Iterator[str]:
    """The name of each output's loss."""
    names, given = getattr(model, "output_names", [None]), model.loss  # a Sequential has one output and no names
    losses = [given[name] for name in names] if isinstance(given, dict) else given
    for loss in losses if isinstance(losses, (list, tuple)) else [losses] * len(names):
        yield str(getattr(loss, "name", None) or getattr(loss, "__name__", loss))


def _values(rng: np.random.Generator, tensor: Any, batch_size: int, rows: int) -> Any:
    """Numbers of [0, 1), or the numbers of rows of an embedding."""
    shape, dtype = (batch_size, *tensor.shape[1:]), str(tensor.dtype)
    return rng.integers(rows, size=shape).astype(dtype) if "int" in dtype else rng.random(shape, np.float32)


def _target(rng: np.random.Generator, tensor: Any, loss: str, batch_size: int) -> Any:
    """What the loss compares an output with: class numbers, one-hot classes, or numbers of [0, 1)."""
    width = tensor.shape[-1]
    classes = rng.integers(width, size=(batch_size, *tensor.shape[1:-1]))
    if loss.startswith("sparse_categorical"):
        return classes
    if loss.startswith("categorical"):
        return np.eye(width, dtype=np.float32)[classes]
    return _values(rng, tensor, batch_size, 2)


def _alone(arrays: list[Any]) -> Any:
    return tuple(arrays) if len(arrays) > 1 else arrays[0]
