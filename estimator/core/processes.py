"""Processes that this one starts to share its work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import active_children


@contextmanager
def ended_when_interrupted() -> Iterator[None]:
    """End the processes started in here on a request to end, which reaches this process alone."""
    try:
        yield
    except KeyboardInterrupt:
        for child in active_children():
            child.kill()  # a forked one would take another signal for the end of its task alone
        raise
