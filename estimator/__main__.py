"""``python -m estimator``, and the command ``estimator``."""

import os
import signal


def main() -> None:
    """Run the command line, whose modules load while nobody looks for garbage.

    Ctrl-C ends the process at once until the command line handles it, as there is nothing to clean up; it is not heard
    while the process ends by itself.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # jobs in the background are deaf to it
        signal.signal(signal.SIGINT, end_at_once)
    from estimator.core.garbage import collect_rarely

    collect_rarely()
    from estimator.cli import main as run

    try:
        run()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def end_at_once(number: int, frame: object) -> None:
    """End the process without a word, with the exit code that shells give to the signal."""
    os._exit(128 + number)


if __name__ == "__main__":
    main()
