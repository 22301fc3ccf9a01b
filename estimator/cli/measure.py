"""The command that measures the machine at hand, or writes the kit with which others measure theirs."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from estimator.cli.options import PROFILES, Json, Precision

if TYPE_CHECKING:
    import pandas as pd

    from estimator.collect.measure import Plan

DEEPBENCH = "v100-sxm2-16gb"  # the shipped table that holds all of DeepBench's training problems
KIT_PRECISIONS = ("fp32", "bf16")
QUICK_S = 40.0  # with the start of a back end on a busy machine, less than a minute
OF_A_RUN = {  # options that a kit's own program is given in their place
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
OfShapes = Annotated[Path | None, typer.Option("--shapes", metavar="CSV", help="Measure the rows of a table.")]
OfProfiles = Annotated[
    list[str] | None, typer.Option("--profile", help="Measure what a profile needs; repeatable.", **PROFILES)
]
KIT_HELP = "Write a kit for others instead of measuring; without shapes or profiles, 40 products that calibrate."
Kit = Annotated[Path | None, typer.Option(metavar="DIR", help=KIT_HELP)]


def measure(
    ctx: typer.Context,
    output: Output = None,
    shapes: OfShapes = None,
    profile: OfProfiles = None,
    deepbench: Annotated[bool, typer.Option("--deepbench", help="Measure DeepBench's training problems.")] = False,
    precision: Precision = None,
    kit: Kit = None,
    backend: Backend = "auto",
    device: Annotated[Literal["auto", "cpu", "cuda"], typer.Option(help="auto: a GPU where there is one.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Threads; one for each core by default.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small sweep, within a minute.")] = False,
    relative_error: Annotated[str, typer.Option(help="Repeat until the median is known so well.")] = "2 %",
    budget: Annotated[str | None, typer.Option(help="Time for all shapes.  [default: 10 min]")] = None,
    all_reduce: Annotated[int | None, typer.Option(min=2, metavar="N", help="Add all-reduce of N processes.")] = None,
    json: Json = False,
) -> None:
    """Measure this machine: products, convolutions, bandwidth, launches. What it writes is a target at once.

    Without --shapes, --profile or --deepbench it runs a sweep in DeepBench's manner. Ctrl-C keeps what is measured:
    the same command goes on from there.
    """
    from estimator.cli import show, terminal
    from estimator.collect.measure import Plan, chosen_backend, precisions, sweep
    from estimator.collect.measure.kit import write_kit
    from estimator.core.schema import PRECISIONS

    given = {name for name in ctx.params if getattr(ctx.get_parameter_source(name), "name", "") == "COMMANDLINE"}
    if sum(map(bool, (shapes, profile, deepbench))) > 1:
        raise typer.BadParameter("give one of --shapes, --profile and --deepbench")
    if not kit and output is None:
        raise typer.BadParameter("-o is missing; name what is written, such as -o my-machine")
    _refuse_unused(given, "--kit", OF_A_RUN if kit else {})
    calibrates = kit is not None and not (shapes or profile or deepbench)
    _refuse_unused(given, "no --profile", {} if profile or calibrates else {"precision": "--precision"})
    if precision not in (None, *PRECISIONS):
        raise typer.BadParameter(f"--precision is {precision}; write one of {', '.join(PRECISIONS)}")
    error, seconds = _parsed("--relative-error", relative_error, "1", 1.0), _parsed("--budget", budget or "10 min", "s")
    asked, notes = _asked(shapes, profile, precision) if shapes or profile else (None, ())
    terminal.notes(notes)
    if deepbench:
        asked = sweep.deepbench(DEEPBENCH)
    elif calibrates:
        asked = sweep.calibration([precision] if precision else KIT_PRECISIONS)
    if kit and asked is not None:
        show.written(write_kit(kit, sweep.with_anchors(asked, ranks=all_reduce)), json)
        return
    chosen = chosen_backend(backend)
    known = precisions(chosen, device)
    if asked is None:
        asked = sweep.default(known, quick=quick, convolutions=chosen != "numpy")
    table = sweep.with_anchors(asked, known, all_reduce, quick=quick)
    plan = Plan(chosen, device, threads, error, QUICK_S if quick and budget is None else seconds, all_reduce or 0)
    _run(table, _named(output), plan, json)


def _run(shapes: pd.DataFrame, output: Path, plan: Plan, as_json: bool) -> None:
    from estimator.cli import show_measure, terminal
    from estimator.collect.measure import measure as run

    terminal.notes([f"measuring {len(shapes)} shapes with {plan.backend}"], "cyan")
    with terminal.progress("shapes", as_json) as progress:
        try:
            found = run(shapes, output, plan, f"estimator {' '.join(sys.argv[1:])}", progress)
        except KeyboardInterrupt:
            terminal.notes([f"stopped; the same command goes on from {output}.partial"])
            raise typer.Exit(130) from None
    show_measure.measured(found, as_json)


def _asked(
    shapes: Path | None, profiles: list[str] | None, precision: str | None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The shapes of a table or of profiles, and notes on them."""
    from estimator.collect.measure import check_shapes
    from estimator.studies.profile_shapes import in_both_states, profile_shapes
    from estimator.studies.shapes import read_shapes

    if not shapes:
        needed, said = profile_shapes(profiles or [], precision)
        return in_both_states(needed), said
    found, said = read_shapes(shapes)
    check_shapes(found, str(shapes))
    return found, said


def _refuse_unused(given: set[str], why: str, unused: Mapping[str, str]) -> None:
    """Raises BadParameter where an option is given that changes nothing."""
    for name in given & unused.keys():
        raise typer.BadParameter(f"{unused[name]} changes nothing with {why}; leave it out")


def _parsed(option: str, text: str, unit: str, below: float = math.inf) -> float:
    """A quantity of an option, above zero."""
    from estimator.core import units

    try:
        found = units.parse(text, unit)
    except ValueError as error:
        raise typer.BadParameter(f"{option} {error}") from None
    if not 0 < found < below:
        raise typer.BadParameter(f"{option} is {text}; write a value above zero" + " and below 100 %" * (below == 1))
    return found


def _named(output: Path | None) -> Path:
    """NAME, also where it was written with the suffix of one of its files."""
    output = output or Path()
    return output.with_suffix("") if output.suffix in (".csv", ".yaml") else output
