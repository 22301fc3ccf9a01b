"""TensorFlow's profiler as the recorder of the profiled steps."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

from estimator.collect.capture import tensorflow_import
from estimator.core.errors import EstimatorError

FILE = "steps.xplane.pb"


class XPlane:
    """TensorFlow's profiler: one XPlane dump in the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.profiler = tensorflow_import.import_tensorflow().profiler.experimental
        self.logs: TemporaryDirectory[str] | None = None  # the dump contains this path, so it must not reveal anything

    def start(self) -> None:
        """Start recording ops and kernels, without Python calls."""
        options = self.profiler.ProfilerOptions(host_tracer_level=2, python_tracer_level=0, device_tracer_level=1)
        self.logs = TemporaryDirectory(prefix="profile")
        self.profiler.start(self.logs.name, options)

    def step(self, number: int) -> Any:
        """A mark by which readers find steps."""
        return self.profiler.Trace("train", step_num=number, _r=1)

    def stop(self, *, keep: bool) -> None:
        """Write the dump under a name without the host's, or discard it."""
        if self.logs is None:
            return
        with self.logs as logs:
            self.logs = None
            self.profiler.stop()
            if not keep:
                return
            dumps = list(Path(logs).rglob("*.xplane.pb"))
            if not dumps:
                raise EstimatorError(f"{self.folder}: TensorFlow's profiler wrote no dump; try --format tfprof")
            copyfile(dumps[0], self.folder / FILE)
