"""The libraries that time ops, and their choice."""

from __future__ import annotations

import importlib
import importlib.util

from estimator.collect.bench.jax_library import Jax
from estimator.collect.bench.numpy_library import Numpy
from estimator.collect.bench.tensorflow_library import TensorFlow
from estimator.collect.bench.torch_library import Torch
from estimator.collect.bench.types import FaultError

LIBRARIES = {library.name: library for library in (Numpy, Torch, TensorFlow, Jax)}


def choose(backend: str) -> str:
    """Choose a back end; auto is PyTorch where installed, else numpy. Raises FaultError."""
    if backend == "auto":
        return "torch" if importlib.util.find_spec("torch") else "numpy"
    if backend not in LIBRARIES:
        raise FaultError(f"the back end '{backend}' is not known; choose one of auto, {', '.join(LIBRARIES)}")
    if importlib.util.find_spec(backend) is None:
        raise FaultError(f"{backend} is not installed; install it with: pip install {backend}")
    return backend
