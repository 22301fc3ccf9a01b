"""The command line: thin commands in pipeline order. Only this package prints, and only it exits.

Here the commands of ``commands/`` are put together. Each gives its result to ``emit``, which prints it as JSON or calls
the function of that name in ``render/``.
"""

import os
import signal
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from estimator import __version__
from estimator.cli import garbage
from estimator.cli.commands import (
    capture,
    catalogue,
    compare,
    estimate,
    fom,
    ingest,
    init,
    measure,
    measurements,
    predict,
    report,
    selftest,
    sweep,
    validate,
)
from estimator.core.errors import EstimatorError

app = typer.Typer(
    help="Predict how fast a training workload would run on a machine nobody can touch yet, "
    "and roll it up to a figure of merit.",
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
def _options(
    version: Version = False,
) -> None: ...


# help lists them in this order, that of the pipeline
app.command(epilog=capture.EXAMPLES)(capture.capture)
app.command(epilog=ingest.EXAMPLES)(ingest.ingest)
app.command(cls=catalogue.WithColumns, epilog=catalogue.DEVICE_EXAMPLES)(catalogue.devices)
app.command(cls=catalogue.WithColumns, epilog=catalogue.SYSTEM_EXAMPLES)(catalogue.systems)
app.add_typer(measurements.app, name="measurements")
app.command(epilog=measure.EXAMPLES)(measure.measure)
app.command(epilog=validate.EXAMPLES)(validate.validate)
app.command(epilog=selftest.EXAMPLES)(selftest.selftest)
app.command(epilog=predict.EXAMPLES)(predict.predict)
app.command(epilog=estimate.EXAMPLES)(estimate.estimate)
app.command(epilog=compare.EXAMPLES)(compare.compare)
app.command(epilog=sweep.EXAMPLES)(sweep.sweep)
app.command(epilog=fom.EXAMPLES)(fom.fom)
app.command(epilog=report.EXAMPLES)(report.report)
app.command(epilog=init.EXAMPLES)(init.init)


def main() -> None:
    """Run the command line; errors of the input, and defects of ours, become a sentence and exit 1.

    A request to end (SIGTERM) is taken as Ctrl-C is, which leaves nothing half-written.
    """
    garbage.collect_rarely()
    signal.signal(signal.SIGTERM, _interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 still gets every table
    try:
        app()
    except EstimatorError as error:
        sys.exit(f"{error}")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}; check the path and its permissions")
    except Exception as error:
        if os.environ.get("ESTIMATOR_DEBUG"):
            raise
        name = type(error).__name__
        sentence = f"A defect of estimator, not of your input: {name}: {error}."
        sys.exit(f"{sentence} Please report it; ESTIMATOR_DEBUG=1 shows where.")


def _interrupt(number: int, frame: object) -> None:
    """End as Ctrl-C does; a second request, as ``timeout`` sends it, must not interrupt the clearing away."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
