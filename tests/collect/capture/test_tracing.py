"""TensorFlow's profiler as a recorder, with a profiler that writes as it does."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from estimator.collect.capture import tensorflow_import
from estimator.collect.capture.tracing import FILE, XPlane
from estimator.core.errors import EstimatorError


class Profiler:
    """Writes its dump, named after the host, where it was started."""

    writes = True

    def __init__(self) -> None:
        self.logs: list[Path] = []

    def ProfilerOptions(self, **levels: int) -> None:  # noqa: N802 (TensorFlow's name)
        assert levels["python_tracer_level"] == 0

    def start(self, logs: str, options: None) -> None:
        self.logs.append(Path(logs))

    def stop(self) -> None:
        if self.writes:
            run = self.logs[-1] / "plugins" / "profile" / "2026_11_30"
            run.mkdir(parents=True)
            (run / "my-host.xplane.pb").write_bytes(b"dump %d" % len(self.logs))


@pytest.fixture
def profiler(monkeypatch: pytest.MonkeyPatch) -> Profiler:
    own = Profiler()
    tensorflow = SimpleNamespace(profiler=SimpleNamespace(experimental=own))
    monkeypatch.setattr(tensorflow_import, "import_tensorflow", lambda: tensorflow)
    return own


def test_the_dump_of_the_last_kept_session_stays_under_a_name_without_the_hosts(
    profiler: Profiler, tmp_path: Path
) -> None:
    recorder = XPlane(tmp_path)
    for keep in (False, True, True, False):
        recorder.start()
        recorder.stop(keep=keep)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(FILE, b"dump 3")]
    assert len(profiler.logs) == 4
    assert not any(folder.exists() for folder in profiler.logs)


def test_a_stop_without_a_start_does_nothing(profiler: Profiler, tmp_path: Path) -> None:
    XPlane(tmp_path).stop(keep=True)
    assert list(tmp_path.iterdir()) == []


def test_a_profiler_that_writes_nothing_is_reported(profiler: Profiler, tmp_path: Path) -> None:
    profiler.writes = False
    recorder = XPlane(tmp_path)
    recorder.start()
    with pytest.raises(EstimatorError, match="wrote no dump; try --format tfprof"):
        recorder.stop(keep=True)
    assert not profiler.logs[0].exists()
