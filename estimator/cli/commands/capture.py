"""The command that profiles a training run."""

from pathlib import Path
from typing import Annotated

import typer

from estimator.cli.emit import emit
from estimator.cli.options import PROFILES, DumpFormat, Json, Mode

EXAMPLES = """\b
Example: estimator capture train.py --steps 50 -o my-run && estimator ingest my-run
Example: estimator capture nt3 --scale 0.02 --mode inference -o nt3-forward
"""


def capture(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Your file, or a shipped workload.", **PROFILES)],
    output: Annotated[Path, typer.Option("-o", metavar="DIR", help="A new folder.")],
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs to time without the profiler.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps to time instead of epochs.  [default: 30]")] = None,
    warmup: Annotated[int, typer.Option(min=0, help="Steps before those, left out.")] = 5,
    profiled: Annotated[int, typer.Option(min=1, help="Steps to profile after the timed ones, twice.")] = 5,
    batch: Annotated[int | None, typer.Option(min=1, help="Batch size, where the file does not say.")] = None,
    scale: Annotated[float, typer.Option(min=1e-3, help="Size of the model over its full size.")] = 1.0,
    mode: Annotated[Mode, typer.Option(help="inference: the forward pass alone.")] = "training",
    format_: Annotated[
        DumpFormat, typer.Option("--format", help="xplane: the run as it is; tfprof: in a TensorFlow 1 session.")
    ] = "xplane",
    verbose: Annotated[bool, typer.Option("--verbose", help="Show what TensorFlow writes.")] = False,
    as_json: Json = False,
) -> None:
    """Profile a Keras training run (extra: tensorflow).

    It writes the dump, and the facts that a dump lacks.

    MODEL defines build() or model, a compiled Keras model. It may define data(), which gives (x, y) or a
    tf.data.Dataset; without it the input is noise. Or MODEL defines train_step(batch) and batches(), which gives an
    iterable. BATCH_SIZE, SAMPLES and EPOCHS, or workload.yaml in its folder, may say more. --scale needs
    build(scale=1.0), which shrinks widths of dense layers and lengths of inputs.
    """
    from estimator.cli import terminal
    from estimator.cli.render.capture import render_capture
    from estimator.collect.capture import Plan
    from estimator.collect.capture import capture as run
    from estimator.collect.capture.script import locate
    from estimator.core.garbage import collect_as_usual

    if steps and epochs:
        raise typer.BadParameter("give --steps or --epochs, not both")
    plan = Plan(steps, epochs, warmup, profiled, batch, format_, verbose, scale, mode)
    collect_as_usual()  # the training runs as it does without us
    with terminal.progress("training steps", as_json) as progress:
        captured = run(locate(model), output, plan, progress)
    emit(captured.document(), render_capture, as_json)
