"""The command that predicts profiles on several devices."""

from typing import Annotated

import typer

from estimator.cli.emit import emit
from estimator.cli.options import (
    Fusion,
    Host,
    InputOf,
    Json,
    Layout,
    OtherBatch,
    OtherMode,
    Precision,
    Seed,
    Source,
    Targets,
)

EXAMPLES = "Example: estimator compare p1b3 --to v100 --to a100 --to h100"


def compare(
    profiles: Annotated[list[str], typer.Argument(metavar="PROFILE…", help="Dumps, folders, or shipped profiles.")],
    to: Targets,
    source: Source = None,
    precision: Precision = None,
    fusion: Fusion = "none",
    layout: Layout = "auto",
    host: Host = None,
    reads: InputOf = None,
    batch: OtherBatch = None,
    mode: OtherMode = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Predict profiles on several devices, side by side.

    The runs are predicted as profiled, at another batch size, or their forward passes alone.
    """
    from estimator.api import compare as api
    from estimator.cli.render.compare import render_compare

    result = api.compare(
        profiles, to, source=source, precision=precision, batch=batch, mode=mode, host=host, input=reads, fusion=fusion,
        layout=layout, seed=seed,
    )  # fmt: skip
    emit(result.document(), render_compare, as_json)
