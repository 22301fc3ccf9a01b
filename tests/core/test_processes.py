import signal
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import pytest

from estimator.core.processes import ended_when_interrupted


def deaf() -> None:
    """Let a process go on after SIGTERM, as one does that was forked from the command line."""
    signal.signal(signal.SIGTERM, lambda number, frame: None)


def test_a_request_to_end_ends_work_in_other_processes() -> None:
    with ProcessPoolExecutor(1, get_context("spawn"), deaf) as pool:
        pool.submit(int).result()
        work = pool.submit(time.sleep, 60)
        with pytest.raises(KeyboardInterrupt), ended_when_interrupted():
            raise KeyboardInterrupt
        assert isinstance(work.exception(), BrokenProcessPool)
