"""When Python looks for circular garbage: of a short command that takes a fifth of the time, and finds next to none."""

import atexit
import gc

USUAL = gc.get_threshold()
RARE = 200_000  # objects more than at the last look; a whole estimate makes fewer


def collect_rarely() -> None:
    """Look for garbage seldom, and not at the end, where all memory is handed back at once."""
    gc.set_threshold(RARE)
    atexit.register(gc.freeze)


def collect_as_usual() -> None:
    """Look for garbage as often as a program that runs by itself."""
    gc.set_threshold(*USUAL)
