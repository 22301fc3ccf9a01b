"""``python -m estimator``, and the command ``estimator``."""

from estimator.core.garbage import collect_rarely


def main() -> None:
    """Run the command line, whose modules load while nobody looks for garbage."""
    collect_rarely()
    from estimator.cli import main as run

    run()


if __name__ == "__main__":
    main()
