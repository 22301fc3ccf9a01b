"""The machine of the profiled steps."""

from __future__ import annotations

import os

from estimator.collect.bench.machine import processor, usable_processors
from estimator.collect.capture import tensorflow_import


def accelerators() -> list[str]:
    """The names of the accelerators that TensorFlow sees."""
    config = tensorflow_import.import_tensorflow().config
    gpus = config.list_physical_devices("GPU")
    return [str(config.experimental.get_device_details(gpu).get("device_name", "GPU")) for gpu in gpus]


def device() -> str:
    """The name of the first accelerator, else of the processor."""
    return next(iter(accelerators()), processor())


def threads() -> int:
    """The threads that one op may use on the processor."""
    stated = tensorflow_import.import_tensorflow().config.threading.get_intra_op_parallelism_threads()
    return stated or _parse_count(os.environ.get("TF_NUM_INTRAOP_THREADS", "")) or len(usable_processors())


def _parse_count(text: str) -> int:
    return int(text) if text.isdecimal() else 0
