"""The recorder of a TensorFlow 1 session, with a session whose message is the number of its run."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from estimator.collect.capture.session import FILE, SessionRun
from estimator.collect.capture.watch import Watch


class Metadata:
    """The message of a run, whose number the session fills in."""

    run = 0

    def SerializeToString(self) -> bytes:  # noqa: N802 (protobuf's name)
        return b"x" * self.run


class Session:
    """Counts its runs, and which of them are traced."""

    def __init__(self) -> None:
        self.runs, self.traced = 0, list[int]()

    def run(self, step: None, options: object = None, run_metadata: Metadata | None = None) -> None:
        self.runs += 1
        if run_metadata:
            run_metadata.run = self.runs
            self.traced.append(self.runs)


@pytest.fixture
def session_run(tmp_path: Path) -> SessionRun:
    """A run that is set up, on a session without TensorFlow."""
    made = object.__new__(SessionRun)
    made.folder, made.recording, made.messages, made.training_step = tmp_path, False, [], None
    options = type("RunOptions", (SimpleNamespace,), {"FULL_TRACE": 3})
    made.v1, made.session = SimpleNamespace(RunMetadata=Metadata, RunOptions=options), Session()
    return made


def test_only_profiled_steps_are_traced_and_those_of_the_kept_session_written(session_run: SessionRun) -> None:
    """Two to warm up, one timed, two in the session that is discarded, two in the one that is kept."""
    session_run.run(Watch(2, 1, 2, session_run, waits=False))
    assert session_run.session.runs == 7
    assert session_run.session.traced == [4, 5, 6, 7]
    written = (session_run.folder / FILE).read_bytes()
    assert written == bytes([6, 0, 0, 0, 0, 0, 0, 0]) + b"xxxxxx" + bytes([7, 0, 0, 0, 0, 0, 0, 0]) + b"xxxxxxx"


def test_a_discarded_session_writes_nothing(session_run: SessionRun) -> None:
    session_run.start()
    session_run._run()
    session_run.stop(keep=False)
    assert not (session_run.folder / FILE).exists()
    session_run._run()
    assert session_run.session.traced == [1]
