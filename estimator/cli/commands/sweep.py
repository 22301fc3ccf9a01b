"""The command that predicts a profile at several batch sizes."""

from estimator.cli.emit import emit
from estimator.cli.options import (
    Batches,
    Fusion,
    Host,
    InputOf,
    Json,
    Layout,
    OtherMode,
    Precision,
    ProfileName,
    Seed,
    Source,
    Targets,
)

EXAMPLES = """\b
Example: estimator sweep p1b3 --to v100
Example: estimator sweep nt3 --to v100 --to h100 --batch 1 8 64 --mode inference
"""


def sweep(
    profile: ProfileName,
    to: Targets,
    batch: Batches = None,
    mode: OtherMode = None,
    source: Source = None,
    precision: Precision = None,
    fusion: Fusion = "none",
    layout: Layout = "auto",
    host: Host = None,
    reads: InputOf = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Predict a profile at several batch sizes.

    It shows step time, samples per second, and where a larger batch gains little. One profile is enough: matrix
    products, convolutions and activations grow with the batch, weights and their updates do not.
    """
    from estimator.cli.render.sweep import render_sweep
    from estimator.core.types import RunPlan
    from estimator.studies.sweep import sweep as run

    plan = RunPlan("", precision, fusion, source, seed=seed, mode=mode, layout=layout, host=host, input=reads)
    emit(run(profile, to, batch or [], plan), render_sweep, as_json)
