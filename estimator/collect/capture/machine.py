"""The machine of the profiled steps."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from estimator.collect.capture import tensorflow_import

CPUINFO = Path("/proc/cpuinfo")


def processor() -> str:
    """The processor's name."""
    lines = CPUINFO.read_text("utf-8", "replace").splitlines() if CPUINFO.is_file() else []
    named = [value.strip() for key, _, value in (line.partition(":") for line in lines) if key.strip() == "model name"]
    return next(filter(None, named), platform.processor() or platform.machine())


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
    return stated or _parse_count(os.environ.get("TF_NUM_INTRAOP_THREADS", "")) or _usable_processors()


def _parse_count(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _usable_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
