"""Thresholds of Python's garbage collector, which takes a fifth of a short command's time and frees almost nothing."""

import atexit
import gc

USUAL = gc.get_threshold()
RARE = 200_000  # new objects between collections; a whole estimate makes fewer


def collect_rarely() -> None:
    """Collect garbage rarely, and not at exit, where all memory is freed at once."""
    gc.set_threshold(RARE)
    atexit.register(gc.freeze)


def collect_as_usual() -> None:
    """Collect garbage as often as Python does by default."""
    gc.set_threshold(*USUAL)
