"""The command that checks the whole chain against real runs on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from estimator.cli.emit import emit
from estimator.cli.options import PROFILES, Json

EXAMPLES = """\b
Example: estimator selftest --quick
Example: estimator selftest uno@0.2 my_model.py --setting 1xAVX2 --setting 2xAVX2 --repeats 8 -o selftest
"""
WORKLOAD_HELP = "Shipped ones or files of yours; NAME@SCALE for a smaller size."
Workloads = Annotated[list[str] | None, typer.Argument(metavar="WORKLOAD…", help=WORKLOAD_HELP, **PROFILES)]
SETTING_HELP = "Threads, oneDNN's instructions and precision, such as 2xAVX2 or 1xAVX512_CORE_BF16-bf16; repeatable."
Settings = Annotated[list[str] | None, typer.Option("--setting", metavar="SETTING", help=SETTING_HELP)]
REPEATS_HELP = "Runs of each step: half to predict from, half as truth.  [default: 12, with --quick 4]"
RunsFolder = Annotated[
    Path | None,
    typer.Option("-o", metavar="DIR", help="Keep all runs here; a later call repeats only a run that was cut off."),
]


def selftest(
    workload: Workloads = None,
    setting: Settings = None,
    repeats: Annotated[int | None, typer.Option(min=4, help=REPEATS_HELP)] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two workloads in two settings.")] = False,
    keep: RunsFolder = None,
    as_json: Json = False,
) -> None:
    """Check the whole chain against real runs on this machine.

    It profiles in one setting, predicts another, runs it, and compares (extra: tensorflow; Linux). A setting is one
    core or two, with fewer or more of the processor's instructions, and counts as a device. In each setting it
    measures products, convolutions, pools and streams, never a workload. It predicts every setting from every other
    one. The error is shown with the noise floor, the difference between two sets of runs of the same step. It takes
    about 40 minutes, with --quick a few; run nothing else meanwhile.
    """
    import tempfile

    from estimator.cli import terminal
    from estimator.cli.render.selftest import render_selftest
    from estimator.validation.selftest import make_plan, warn_if_busy
    from estimator.validation.selftest import selftest as run

    plan = make_plan(workload or [], setting or [], repeats, quick=quick)
    terminal.print_warnings(warn_if_busy(keep))
    with tempfile.TemporaryDirectory() as scratch, terminal.progress("runs", as_json) as progress:
        result = run(plan, keep or Path(scratch), progress)
    emit(result.document(), render_selftest, as_json)
