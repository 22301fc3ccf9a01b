import atexit
import gc
from collections.abc import Iterator

import pytest

from estimator.core import garbage


@pytest.fixture(autouse=True)
def _same_collector_afterwards() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_commands_collect_rarely_and_not_at_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    at_exit: list[object] = []
    monkeypatch.setattr(atexit, "register", at_exit.append)
    garbage.collect_rarely()
    assert gc.get_threshold()[0] == garbage.RARE
    assert at_exit == [gc.freeze]


def test_training_collects_as_usual() -> None:
    gc.set_threshold(garbage.RARE)
    garbage.collect_as_usual()
    assert gc.get_threshold() == garbage.USUAL
