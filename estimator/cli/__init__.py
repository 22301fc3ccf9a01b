"""The command line: thin commands in pipeline order. Only this package prints, and only it exits."""

import os
import signal
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from estimator import __version__
from estimator.cli import catalogue, garbage, measure, measurements, selftest, sweep, validate
from estimator.cli.options import (
    PROFILES,
    CsvFile,
    DumpFormat,
    Fusion,
    Json,
    Layout,
    Measured,
    Mode,
    OptionalProfile,
    OtherBatch,
    OtherMode,
    OutputFolder,
    Precision,
    ProfileName,
    Seed,
    Source,
    StudyFile,
    Target,
    Targets,
)
from estimator.core.errors import EstimatorError

ESTIMATE_EXAMPLES = """\b
Example: estimator estimate p1b3 --to v100
Example: estimator estimate p1b3/amd-epyc.tfprof --to a100-sxm4-80gb --precision bf16 --fusion elementwise
Example: estimator estimate nt3 --to v100 --batch 64 --mode inference
"""
CAPTURE_EXAMPLES = """\b
Example: estimator capture train.py --steps 50 -o my-run && estimator ingest my-run
Example: estimator capture nt3 --scale 0.02 --mode inference -o nt3-forward
"""
app = typer.Typer(
    help="Predict how fast a training workload would run on a machine nobody can touch yet, "
    "and roll it up to a figure of merit.",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help starts in three fifths of the time
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _end(number: int, frame: object) -> None:
    """Ends as Ctrl-C does; what asks once more, as ``timeout`` does, shall not interrupt the clearing away."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line; errors of the input, and defects of ours, become a sentence and exit 1. A request to end is
    taken as Ctrl-C is, which leaves nothing half-written.
    """
    garbage.collect_rarely()
    signal.signal(signal.SIGTERM, _end)
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


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"estimator {__version__}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")]


@app.callback()
def _options(
    version: Version = False,
) -> None: ...


@app.command(epilog=CAPTURE_EXAMPLES)
def capture(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Your file, or a shipped workload.", **PROFILES)],
    output: Annotated[Path, typer.Option("-o", metavar="DIR", help="A new folder.")],
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs to time without the profiler.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Or steps to time without it.  [default: 30]")] = None,
    warmup: Annotated[int, typer.Option(min=0, help="Steps before those, left out.")] = 5,
    profiled: Annotated[int, typer.Option(min=1, help="Steps to profile after those, twice.")] = 5,
    batch: Annotated[int | None, typer.Option(min=1, help="Batch size, where the file does not say.")] = None,
    scale: Annotated[float, typer.Option(min=1e-3, help="Size of the model over its full size.")] = 1.0,
    mode: Annotated[Mode, typer.Option(help="inference: the forward pass alone.")] = "training",
    format_: Annotated[
        DumpFormat, typer.Option("--format", help="xplane: as you run it; tfprof: in a session.")
    ] = "xplane",
    verbose: Annotated[bool, typer.Option("--verbose", help="Show what TensorFlow writes.")] = False,
    json: Json = False,
) -> None:
    """Profile a Keras training run (extra: tensorflow): the dump, and all that it lacks.

    MODEL defines build() or model, a compiled Keras model, and may define data(), giving (x, y) or a tf.data.Dataset,
    else it gets noise; or train_step(batch), and batches(), giving an iterable. BATCH_SIZE, SAMPLES and EPOCHS, or
    workload.yaml beside it, may say more. --scale takes build(scale=1.0): widths of dense layers and lengths of inputs
    shrink.
    """
    from estimator.cli import show, terminal
    from estimator.collect.capture import Plan
    from estimator.collect.capture import capture as run
    from estimator.collect.capture.script import locate

    if steps and epochs:
        raise typer.BadParameter("give --steps or --epochs, not both")
    plan = Plan(steps, epochs, warmup, profiled, batch, format_, verbose, scale, mode)
    garbage.collect_as_usual()  # the training runs as it does without us
    with terminal.progress("training steps", json) as progress:
        captured = run(locate(model), output, plan, progress)
    show.captured(captured.document(), json)


@app.command(epilog="Example: estimator ingest p1b3 --top 0.95")
def ingest(
    profile: OptionalProfile = None,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Batch size that was run, where the dump does not say.")
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Training steps that the dump covers.")] = None,
    top: Annotated[
        float, typer.Option(min=0, max=1, help="List op types and ops up to this share of the time.")
    ] = 0.95,
    csv: CsvFile = None,
    list_: Annotated[bool, typer.Option("--list", help="List the shipped profiles.")] = False,
    json: Json = False,
) -> None:
    """Read a profile: its ops, matrix sizes, FLOP and bytes."""
    from estimator.cli import show
    from estimator.core.files import write_text
    from estimator.profiles import read_profile, shipped
    from estimator.reports import documents
    from estimator.rollup import step
    from estimator.work import count_work

    if list_ or profile is None:
        show.profiles(shipped(), json)
        return
    read = read_profile(profile, batch=batch, steps=steps)
    work, warnings = count_work(read.ops, read.workload, where=read.where)
    said = (*read.warnings, *step.warnings(read), *warnings)
    document = documents.ingest(read, work, step.source_step(read, work), said, top)
    if csv:
        write_text(csv, work.reindex(columns=documents.INGEST_OPS).to_csv(index=False, lineterminator="\n"))
    show.ingest(document, top, json)


app.command(cls=catalogue.WithColumns, epilog=catalogue.DEVICE_EXAMPLES)(catalogue.devices)
app.command(cls=catalogue.WithColumns, epilog=catalogue.SYSTEM_EXAMPLES)(catalogue.systems)
app.add_typer(measurements.app, name="measurements")
app.command(epilog=measure.EXAMPLES)(measure.measure)
app.command(epilog=validate.EXAMPLES)(validate.validate)
app.command(epilog=selftest.EXAMPLES)(selftest.selftest)


@app.command(epilog="Example: estimator predict shapes.csv --on h100 --csv times.csv")
def predict(
    shapes: Annotated[Path, typer.Argument(metavar="SHAPES.csv", help="Columns op_class, precision, m, n, k …")],
    on: Target,
    measurements: Measured = None,
    seed: Seed = 0,
    csv: CsvFile = None,
    json: Json = False,
) -> None:
    """Predict the time of each shape of a table on a device."""
    from estimator.cli import show
    from estimator.core.files import write_text
    from estimator.core.types import RunPlan
    from estimator.devices import load_device
    from estimator.studies.shapes import predict_shapes

    if csv and csv.exists() and csv.samefile(shapes):
        raise EstimatorError(f"{csv}: this is the input itself; choose another file")
    rows, assumptions = predict_shapes(shapes, RunPlan(target=on, measurements=measurements, seed=seed))
    if csv:
        write_text(csv, rows.to_csv(index=False, lineterminator="\n"))
    show.shapes(rows, load_device(on).name, assumptions, json)


@app.command(epilog=ESTIMATE_EXAMPLES)
def estimate(
    profile: ProfileName,
    to: Target,
    source: Source = None,
    precision: Precision = None,
    measurements: Measured = None,
    fusion: Fusion = "none",
    layout: Layout = "none",
    batch: OtherBatch = None,
    mode: OtherMode = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Predict the step time of a profiled run on a device, as it ran, or at another batch size or the forward pass."""
    from estimator import pipeline
    from estimator.cli import show
    from estimator.core.types import RunPlan
    from estimator.profiles import read_profile
    from estimator.reports import documents

    plan = RunPlan(to, precision, fusion, source, measurements, seed=seed, batch=batch, mode=mode, layout=layout)
    found = pipeline.estimate(read_profile(profile), plan)
    show.estimate(documents.estimate(found), json)


@app.command(epilog="Example: estimator compare p1b3 --to v100 --to a100 --to h100")
def compare(
    profiles: Annotated[list[str], typer.Argument(metavar="PROFILE…", help="Dumps, folders, or shipped profiles.")],
    to: Targets,
    source: Source = None,
    precision: Precision = None,
    fusion: Fusion = "none",
    layout: Layout = "none",
    batch: OtherBatch = None,
    mode: OtherMode = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Predict profiles on several devices, side by side, as they ran, or at another batch size or the forward pass."""
    from estimator.cli import show
    from estimator.core.types import RunPlan
    from estimator.reports import documents
    from estimator.studies.compare import compare as run

    plan = RunPlan("", precision, fusion, source, seed=seed, batch=batch, mode=mode, layout=layout)
    show.compare([documents.estimate(found) for found in run(profiles, to, plan)], json)


app.command(epilog=sweep.EXAMPLES)(sweep.sweep)


@app.command(epilog="Example: estimator fom reports/lecture-example/study.yaml")
def fom(study: StudyFile, json: Json = False) -> None:
    """Figures of merit of the machines of a study."""
    from estimator.cli import show
    from estimator.reports import documents
    from estimator.studies.run import run_study

    result = run_study(study)
    show.figures_of_merit(documents.figures_of_merit(result), result.title, json)


@app.command(epilog="Example: estimator report reports/candle-fom/study.yaml -o out")
def report(
    study: StudyFile,
    output: OutputFolder = None,
    json: Json = False,
) -> None:
    """Write a study's report: report.html, one offline file, and results.json."""
    from estimator.cli import show
    from estimator.reports.html import write_report
    from estimator.studies.run import run_study

    show.written(write_report(run_study(study), output or study.parent), json)


@app.command(epilog="Example: estimator init my-study && estimator report my-study/study.yaml")
def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")], json: Json = False) -> None:
    """Write a commented study, device and profile to start from."""
    from estimator.cli import show
    from estimator.studies.starter import write_starter

    show.written(write_starter(folder), json)
