"""The command that predicts a profile on many devices of a machine."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from estimator.cli.emit import emit
from estimator.cli.options import (
    SYSTEMS,
    Fusion,
    Host,
    InputOf,
    Json,
    Layout,
    Measured,
    Parallels,
    Precision,
    ProfileName,
    Seed,
    Source,
)

EXAMPLES = """\b
Example: estimator scale resnet50 --system dgx-a100 --batch 64
Example: estimator scale resnet50 --system dgx-b200 --nodes 16 --batch 256 --precision bf16
Example: estimator scale vgg16 --system summit --devices 6 96 1536 --batch 32
Example: estimator scale resnet50 --system perlmutter --batch 8192 --scaling strong --parallel zero1
Example: estimator scale gpt2 --system selene --devices 8 64 --batch 8 --parallel data --parallel zero3
Example: estimator scale resnet50 --system dgx-a100 --plot resnet50.svg
Example: estimator scale resnet50 --system dgx-a100 --batch 64 --timed-steps steps.csv
Example: estimator scale gpt3-175b --system selene --devices 1536 --batch 96 --parallel tensor=8,pipeline=12,micro=1
Example: estimator scale gpt2 --system selene --devices 64 --batch 8 --parallel tensor=4,sequence
Example: estimator scale gpt2 --system selene --devices 64 --batch 32 --parallel pipeline=4,interleave=3,micro=2
Example: estimator scale llama2-7b --system selene --devices 64 --batch 8 --parallel zero3,context=8
Example: estimator scale vgg16 --system summit --devices 6 96 --batch 32 --parallel gradients=fp16
"""
SYSTEM_HELP = "The machine: a shipped system or a path to YAML."
DEVICES_HELP = "Numbers of devices, such as 1 8 64.  [default: powers of two and the whole machine]"
NODES_HELP = "Number of nodes of this kind, more or fewer than the system has.  [default: as many as the system has]"
BATCH_HELP = (
    "Samples in a step: for weak scaling of one device, or of one copy of a divided model; for strong scaling of all "
    "devices.  [default: as profiled]"
)
TIMED_HELP = (
    "CSV of timed steps of this machine, which correct all predictions. Columns: devices, step_s and, where the batch "
    "differs, local_batch or global_batch; rows of another 'parallel' are left out. Needs a single --parallel."
)


def scale(
    profile: ProfileName,
    system: Annotated[str, typer.Option(help=SYSTEM_HELP, **SYSTEMS)],
    devices: Annotated[list[int] | None, typer.Option(metavar="N", min=1, help=DEVICES_HELP)] = None,
    nodes: Annotated[int | None, typer.Option(metavar="N", min=1, help=NODES_HELP, show_default=False)] = None,
    parallel: Parallels = None,
    scaling: Annotated[
        Literal["weak", "strong"], typer.Option(help="weak keeps the batch of each device, strong that of all.")
    ] = "weak",
    batch: Annotated[int | None, typer.Option(min=1, help=BATCH_HELP, show_default=False)] = None,
    source: Source = None,
    precision: Precision = None,
    measurements: Measured = None,
    fusion: Fusion = "none",
    layout: Layout = "auto",
    host: Host = None,
    reads: InputOf = None,
    seed: Seed = 0,
    timed_steps: Annotated[Path | None, typer.Option(metavar="FILE.csv", help=TIMED_HELP, show_default=False)] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Also draw rates and efficiency.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Predict a profile on more and more devices of a machine.

    It shows step time, samples per second and exposed communication. Devices exchange their gradients over the
    machine's links while others are computed; what is not hidden lengthens the step. A few timed steps of the machine
    (a file with the lines "devices,step_s" and "8,0.31") correct all rows.
    """
    from estimator.api import scale as api
    from estimator.cli.render.scale import render_scale, write_picture
    from estimator.core.errors import EstimatorError

    if plot is not None and plot.suffix != ".svg":
        raise EstimatorError(f"--plot {plot}: pictures are written as SVG; expected a name that ends in .svg")
    result = api.scale(
        profile, system, devices or (), nodes=nodes, parallel=parallel or "data", scaling=scaling, batch=batch,
        source=source, precision=precision, host=host, input=reads, fusion=fusion, layout=layout,
        measurements=measurements, timed_steps=timed_steps, seed=seed,
    )  # fmt: skip
    if plot is not None:
        write_picture(plot, result.document())
    emit(result.document(), render_scale, as_json)
