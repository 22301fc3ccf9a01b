"""The command that measures this machine, or writes a kit to measure others."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from estimator.cli.emit import emit
from estimator.cli.options import PROFILES, Json, Precision, refuse_unused

if TYPE_CHECKING:
    import pandas as pd

    from estimator.collect.measure import Plan

DEEPBENCH = "v100-sxm2-16gb"  # the shipped table that holds all of DeepBench's training problems
KIT_PRECISIONS = ("fp32", "bf16")
QUICK_S = 40.0  # less than a minute with the start of a back end
RUN_OPTIONS = {  # of a measurement here; a kit's program has its own
    **{name: f"--{name}" for name in ("backend", "device", "threads", "quick", "budget")},
    "relative_error": "--relative-error", "output": "-o",
}  # fmt: skip
EXAMPLES = """\b
Example: estimator measure --quick -o my-machine && estimator estimate p1b3 --to my-machine.yaml
Example: estimator measure --kit kit    or, of what a profile needs: --kit kit --profile p1b3/amd-epyc.xplane
"""

Backend = Annotated[
    Literal["auto", "numpy", "torch", "tensorflow", "jax"],
    typer.Option(help="What runs the ops; auto: torch where it is installed, else numpy."),
]
Output = Annotated[
    Path | None, typer.Option("-o", metavar="NAME", help="Writes NAME.csv and NAME.yaml, a device of that name.")
]
ShapesFile = Annotated[Path | None, typer.Option("--shapes", metavar="CSV", help="Measure the rows of a table.")]
Profiles = Annotated[
    list[str] | None, typer.Option("--profile", help="Measure what a profile needs; repeatable.", **PROFILES)
]
KIT_HELP = "Write a kit for others instead of measuring; without shapes or profiles it has 40 products."
Kit = Annotated[Path | None, typer.Option(metavar="DIR", help=KIT_HELP)]


def measure(
    ctx: typer.Context,
    output: Output = None,
    shapes: ShapesFile = None,
    profile: Profiles = None,
    deepbench: Annotated[bool, typer.Option("--deepbench", help="Measure DeepBench's training problems.")] = False,
    precision: Precision = None,
    kit: Kit = None,
    backend: Backend = "auto",
    device: Annotated[Literal["auto", "cpu", "cuda"], typer.Option(help="auto: a GPU where there is one.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Threads; one for each core by default.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small sweep, within a minute.")] = False,
    relative_error: Annotated[str, typer.Option(help="Repeat until the median is known to this error.")] = "2 %",
    budget: Annotated[str | None, typer.Option(help="Time for all shapes.  [default: 10 min]")] = None,
    all_reduce: Annotated[int | None, typer.Option(min=2, metavar="N", help="Add all-reduce of N processes.")] = None,
    as_json: Json = False,
) -> None:
    """Measure this machine, or write a kit to measure others.

    It times products, convolutions, bandwidth and launches. It writes a device that can be a target at once.

    Without --shapes, --profile or --deepbench it runs a sweep in DeepBench's manner. Ctrl-C keeps what is measured:
    the same command goes on from there.
    """
    from estimator.cli import documents, terminal
    from estimator.cli.render.written import render_written
    from estimator.collect.measure import Plan, chosen_backend, precisions, sweep
    from estimator.collect.measure.kit import write_kit

    given_options = {
        name for name in ctx.params if getattr(ctx.get_parameter_source(name), "name", "") == "COMMANDLINE"
    }
    if sum(map(bool, (shapes, profile, deepbench))) > 1:
        raise typer.BadParameter("give one of --shapes, --profile and --deepbench")
    if not kit and output is None:
        raise typer.BadParameter("-o is missing; name what is written, such as -o my-machine")
    if kit:
        refuse_unused([option for name, option in RUN_OPTIONS.items() if name in given_options], "--kit")
    calibrates = kit is not None and not (shapes or profile or deepbench)
    if not (profile or calibrates):
        refuse_unused(["--precision"] if "precision" in given_options else [], "no --profile")
    precision = _parse_precision(precision)
    error = _parse_quantity("--relative-error", relative_error, "1", 1.0)
    seconds = _parse_quantity("--budget", budget or "10 min", "s")
    requested, notes = _requested_shapes(shapes, profile, precision) if shapes or profile else (None, ())
    terminal.print_notes(notes)
    if deepbench:
        requested = sweep.deepbench(DEEPBENCH)
    elif calibrates:
        requested = sweep.calibration([precision] if precision else KIT_PRECISIONS)
    if kit and requested is not None:
        paths = write_kit(kit, sweep.with_anchors(requested, ranks=all_reduce))
        emit(documents.written(paths), render_written, as_json)
        return
    chosen = chosen_backend(backend)
    known_precisions = precisions(chosen, device)
    if requested is None:
        requested = sweep.default(known_precisions, quick=quick, convolutions=chosen != "numpy")
    table = sweep.with_anchors(requested, known_precisions, all_reduce, quick=quick)
    plan = Plan(chosen, device, threads, error, QUICK_S if quick and budget is None else seconds, all_reduce or 0)
    _run(table, _output_name(output), plan, as_json)


def _run(shapes: "pd.DataFrame", output: Path, plan: "Plan", as_json: bool) -> None:
    from estimator.cli import terminal
    from estimator.cli.render.measure import render_measure
    from estimator.collect.measure import measure as run

    terminal.print_notes([f"measuring {len(shapes)} shapes with {plan.backend}"])
    with terminal.progress("shapes", as_json) as progress:
        try:
            measured = run(shapes, output, plan, f"estimator {' '.join(sys.argv[1:])}", progress)
        except KeyboardInterrupt:
            terminal.print_notes([f"stopped; the same command goes on from {output}.partial"])
            raise typer.Exit(130) from None
    emit(measured.document(), render_measure, as_json)


def _requested_shapes(
    table: Path | None, profiles: list[str] | None, precision: str | None
) -> tuple["pd.DataFrame", tuple[str, ...]]:
    """The shapes of a table or of profiles, and notes on them."""
    from estimator.collect.measure import check_shapes
    from estimator.studies.profile_shapes import profile_shapes, with_cold_rows
    from estimator.studies.shapes import read_shapes

    if not table:
        shapes, notes = profile_shapes(profiles or [], precision)
        return with_cold_rows(shapes), notes
    shapes, notes = read_shapes(table)
    check_shapes(shapes, str(table))
    return shapes, notes


def _parse_precision(text: str | None) -> str | None:
    """The number format of that name. Raises BadParameter where no device is measured in it."""
    from estimator.core.number_formats import read_format
    from estimator.core.schema import PRECISIONS

    precision = text and read_format(text)
    if precision not in (None, *PRECISIONS):
        raise typer.BadParameter(f"--precision is {precision}; write one of {', '.join(PRECISIONS)}")
    return precision


def _parse_quantity(option: str, text: str, unit: str, below: float = math.inf) -> float:
    """Parse the quantity of an option in an SI unit; above zero and below a limit."""
    from estimator.core import units

    try:
        value = units.parse(text, unit)
    except ValueError as error:
        raise typer.BadParameter(f"{option} {error}") from None
    if not 0 < value < below:
        raise typer.BadParameter(f"{option} is {text}; write a value above zero" + " and below 100 %" * (below == 1))
    return value


def _output_name(output: Path | None) -> Path:
    """NAME without the suffix of one of its files."""
    output = output or Path()
    return output.with_suffix("") if output.suffix in (".csv", ".yaml") else output
