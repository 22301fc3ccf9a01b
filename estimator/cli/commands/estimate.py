"""The command that predicts a profiled run on a device."""

from estimator.cli.emit import emit
from estimator.cli.options import (
    Fusion,
    Host,
    InputOf,
    Json,
    Layout,
    Measured,
    OtherBatch,
    OtherMode,
    Precision,
    ProfileName,
    Seed,
    Source,
    Target,
)

EXAMPLES = """\b
Example: estimator estimate p1b3 --to v100
Example: estimator estimate p1b3/amd-epyc.tfprof --to a100-sxm4-80gb --precision bf16 --fusion elementwise
Example: estimator estimate nt3 --to v100 --batch 64 --mode inference
Example: estimator estimate p3b2 --to h100 --host none
Example: estimator estimate my-trace.json.gz --to h100 --host 0.5 --input overlapped
"""


def estimate(
    profile: ProfileName,
    to: Target,
    source: Source = None,
    precision: Precision = None,
    measurements: Measured = None,
    fusion: Fusion = "none",
    layout: Layout = "auto",
    host: Host = None,
    reads: InputOf = None,
    batch: OtherBatch = None,
    mode: OtherMode = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Predict the step time of a profiled run on a device.

    The run is predicted as profiled, at another batch size, or its forward pass alone.
    """
    from estimator.api import estimate as api
    from estimator.cli.render.estimate import render_estimate

    result = api.estimate(
        profile, to, source=source, precision=precision, batch=batch, mode=mode, host=host, input=reads, fusion=fusion,
        layout=layout, measurements=measurements, seed=seed,
    )  # fmt: skip
    emit(result.document(), render_estimate, as_json)
