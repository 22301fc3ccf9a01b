"""The command that reads a profile."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from estimator.cli.emit import emit
from estimator.cli.options import CsvFile, Json, OptionalProfile

EXAMPLES = "Example: estimator ingest p1b3 --top 0.95"
Batch = Annotated[
    int | None, typer.Option(min=1, max=10**9, help="Batch size that was run, where the dump does not say.")
]
Steps = Annotated[int | None, typer.Option(min=1, max=10**9, help="Training steps that the dump covers.")]
Top = Annotated[float, typer.Option(min=0, max=1, help="List op types and ops up to this share of the time.")]


def ingest(
    profile: OptionalProfile = None,
    batch: Batch = None,
    steps: Steps = None,
    top: Top = 0.95,
    csv: CsvFile = None,
    list_: Annotated[bool, typer.Option("--list", help="List the shipped profiles.")] = False,
    as_json: Json = False,
) -> None:
    """Read a profile: its ops, matrix sizes, FLOP and bytes."""
    from estimator.cli.render.ingest import render_ingest
    from estimator.core.files import write_text
    from estimator.core.notes import sentences
    from estimator.devices.recorded import recorded_devices
    from estimator.profiles import read_profile
    from estimator.reports import documents
    from estimator.rollup.source_step import coverage_notes, source_step
    from estimator.work import count_work

    if list_ or profile is None:
        _list_shipped(as_json)
        return
    loaded = read_profile(profile, batch=batch, steps=steps)
    recorded = [device.name for device in recorded_devices(loaded)]
    loaded = replace(loaded, device=loaded.device or (recorded[0] if len(recorded) == 1 else None))
    counted = count_work(loaded.ops, loaded.workload, where=loaded.where)
    warnings = (*loaded.warnings, *sentences((*coverage_notes(loaded), *counted.notes)))
    document = documents.ingest(loaded, counted.work, source_step(loaded, counted.work), warnings, top)
    if csv:
        write_text(csv, counted.work.reindex(columns=documents.INGEST_OPS).to_csv(index=False, lineterminator="\n"))
    emit(document, partial(render_ingest, top=top), as_json)


def _list_shipped(as_json: bool) -> None:
    from estimator.cli import documents
    from estimator.cli.render.ingest import render_shipped_profiles
    from estimator.profiles import shipped

    emit(documents.shipped_profiles(shipped()), render_shipped_profiles, as_json)
