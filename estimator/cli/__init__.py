"""The command line: thin commands in pipeline order. Only this package prints, and only it exits.

The commands of ``commands/`` are loaded on demand. Each gives its result to ``emit``, which prints it as JSON or calls
the function of that name in ``render/``.
"""

import os
import signal
import sys
from io import TextIOWrapper
from typing import Annotated, TextIO

import typer

from estimator import __version__
from estimator.cli.on_demand import CommandsOnDemand
from estimator.core.errors import EstimatorError

app = typer.Typer(
    help="Predict how fast a training workload would run on a machine nobody can touch yet, "
    "and roll it up to a figure of merit.",
    cls=CommandsOnDemand,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help starts in three fifths of the time
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"estimator {__version__}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")]


@app.callback()
def _options(version: Version = False) -> None: ...


def main() -> None:
    """Run the command line; errors of the input and our own defects become a sentence and exit code 1.

    SIGTERM is handled as Ctrl-C, which leaves no half-written file.
    """
    try:
        _prepare()
        app(prog_name="estimator")  # also of python -m estimator: completion needs a command's name
    except EstimatorError as error:
        sys.exit(f"{error}")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: {error.strerror}; check the path and its permissions"
        gone = isinstance(error, FileNotFoundError)  # without a name: no path can be completed
        unnamed = "the working folder is gone; go to another one" if gone else f"standard output: {error.strerror}"
        sys.exit(where if error.filename else unnamed)
    except Exception as error:
        if os.environ.get("ESTIMATOR_DEBUG"):
            raise
        name = type(error).__name__
        sentence = f"A defect of estimator, not of your input: {name}: {error}."
        sys.exit(f"{sentence} Please report it; ESTIMATOR_DEBUG=1 shows where.")


def _prepare() -> None:
    """Handle signals and closed streams, and let a terminal without UTF-8 get every table."""
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # jobs in the background are deaf to it
        signal.signal(signal.SIGINT, _interrupt)
    sys.stdout, sys.stderr = (stream or _nowhere() for stream in (sys.stdout, sys.stderr))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _nowhere() -> TextIO:
    """A stream for what nobody reads, in place of one that the caller has closed."""
    return open(os.devnull, "w", encoding="utf-8")


def _interrupt(number: int, frame: object) -> None:
    """End as Ctrl-C does; a second signal, pressed or sent by ``timeout``, must not interrupt the clean-up."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
