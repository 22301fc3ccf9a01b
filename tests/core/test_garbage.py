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


def test_a_command_looks_for_garbage_seldom_and_not_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    at_exit: list[object] = []
    monkeypatch.setattr(atexit, "register", at_exit.append)
    garbage.collect_rarely()
    assert gc.get_threshold()[0] == garbage.RARE
    assert at_exit == [gc.freeze]


def test_what_trains_collects_as_a_program_by_itself_does() -> None:
    gc.set_threshold(garbage.RARE)
    garbage.collect_as_usual()
    assert gc.get_threshold() == garbage.USUAL
