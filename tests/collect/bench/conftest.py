"""A folder in which the command runs in this process, without a change to it."""

from pathlib import Path

import pytest

from estimator.collect.bench import command, sweep


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(command, "keep_memory", lambda: None)
    monkeypatch.setattr(command, "limit_threads", lambda asked: asked or 2)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(sweep, "clock_under_load", lambda library: "1000 MHz")
    monkeypatch.setattr(sweep, "reached_cache", lambda library: None)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    return tmp_path
