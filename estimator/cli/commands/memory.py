"""The command that says what a training holds in a device's memory."""

from typing import Annotated

import typer

from estimator.cli.emit import emit
from estimator.cli.options import DEVICES, Json, OtherMode, Parallel, Precision, ProfileName, Seed

EXAMPLES = """\b
Example: estimator memory resnet50 --on v100 --batch 64
Example: estimator memory p1b1 --on k20x
Example: estimator memory resnet50 --on a100-sxm4-40gb --batch 256 --precision bf16 --json
Example: estimator memory nt3 --mode inference
Example: estimator memory llama2-7b --on a100-sxm4-80gb --batch 8 --parallel zero1,tensor=4,micro=1 --devices 64
"""
DEVICES_HELP = (
    "Devices that train together.  [default: one copy of the model, or the copies that share states (8 or more) or "
    "experts]"
)
On = Annotated[str | None, typer.Option("--on", "--to", help="Device: a shipped name or a path to YAML.", **DEVICES)]
Batch = Annotated[
    int | None, typer.Option(min=1, help="Batch size of a copy of the model; by default the profiled one.")
]
Devices = Annotated[int | None, typer.Option(min=1, help=DEVICES_HELP)]


def memory(
    profile: ProfileName,
    on: On = None,
    batch: Batch = None,
    precision: Precision = None,
    mode: OtherMode = None,
    parallel: Parallel = "data",
    devices: Devices = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """What a run holds in memory, and the largest batch that fits.

    With a device, also whether it has room.
    """
    from estimator.cli import documents
    from estimator.cli.render.memory import render_memory
    from estimator.core.parallel import read_split
    from estimator.core.types import RunPlan
    from estimator.pipeline.group_memory import memory_of_group
    from estimator.profiles import read_profile

    split, plan = read_split(parallel), RunPlan(on or "", precision, seed=seed, batch=batch, mode=mode)
    read, count = read_profile(profile), devices or split.usual_devices
    use = memory_of_group(read, plan, split, count)
    emit(documents.memory(read.workload.name, plan, use), render_memory, as_json)
