import atexit
import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from estimator.cli import garbage


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


def test_an_estimate_hardly_ever_looks_for_garbage() -> None:
    code = (
        "import gc, sys; sys.argv = ['estimator', 'estimate', 'p1b3', '--to', 'v100', '--json']\n"
        "from estimator import cli\n"
        "looks = lambda: sum(generation['collections'] for generation in gc.get_stats())\n"
        "before = looks()\n"
        "try: cli.main()\n"
        "except SystemExit: pass\n"
        "sys.exit(f'looked {looks() - before} times' if looks() > before + 2 else 0)"  # by itself more than 200 times
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
