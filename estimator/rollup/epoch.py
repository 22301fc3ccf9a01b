"""Step → epoch → run, in the lecture's own steps (Foster & Stevens, Learning Systems 2018, Lecture 10)."""

from __future__ import annotations

import numpy as np

from estimator.core.types import Floats


def steps_per_epoch_floor(samples: Floats, batch_size: Floats) -> Floats:
    """Steps of one epoch where a last, smaller batch is dropped."""
    return np.asarray(np.floor(samples / batch_size))


def steps_per_epoch_ceil(samples: Floats, batch_size: Floats) -> Floats:
    """Steps of one epoch where a last, smaller batch is trained on."""
    return np.asarray(np.ceil(samples / batch_size))


def global_batch(local_batch: Floats, copies: Floats) -> Floats:
    """Samples in one step of all copies of the model."""
    return local_batch * copies


def local_batch(batch_size: Floats, copies: Floats) -> Floats:
    """Samples in one step of each copy of the model."""
    return batch_size / copies


def epoch_time(step_s: Floats, steps_per_epoch: Floats) -> Floats:
    """Time of one epoch [s]: the time of a pass × the number of minibatches."""
    return step_s * steps_per_epoch


def validated_epoch_time(
    step_s: Floats, steps_per_epoch: Floats, forward_s: Floats, validation_steps: Floats
) -> Floats:
    """Time of one epoch [s] that ends with forward passes over held-out samples."""
    return epoch_time(step_s, steps_per_epoch) + forward_s * validation_steps


def step_of_epoch(epoch_s: Floats, steps_per_epoch: Floats) -> Floats:
    """Time of one step [s], including its share of the epoch's other time."""
    return epoch_s / steps_per_epoch


def run_time(epoch_s: Floats, epochs: Floats, load_s: Floats) -> Floats:
    """Time of one run [s]: the time of an epoch × the number of epochs, after loading the data once."""
    return load_s + epoch_s * epochs


def time_of_amount(amount: Floats, amount_per_s: Floats) -> Floats:
    """Time of one unit [s] whose rate is known: the time of a hypothetical job of that amount."""
    return amount / amount_per_s
