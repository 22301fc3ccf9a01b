"""The printed output of ``estimator capture``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator.cli import terminal
from estimator.cli.terminal import Text
from estimator.reports.text import format_interval, format_time


def render_capture(document: Mapping[str, Any]) -> None:
    """Where the dump lies, and the step's time with and without the profiler."""
    console, step = terminal.console(), format_interval(document["wall_step_s"])
    timed = f"{step} over {document['repeats']} steps after {document['warmup']} warm-up"
    profiled_step = format_time(document["profiled_step_s"])
    profiled = f"{profiled_step} in {document['steps']} profiled ones ({100 * document['overhead']:+.1f} %)"
    console.print(f"step {timed}, {profiled}; batch {document['batch_size']}")
    console.print(Text(str(document["folder"]), "bold"), ": see estimator ingest", sep="")
    terminal.print_warnings(document["warnings"])
