"""The printed output of ``estimator sweep``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator.cli import terminal
from estimator.cli.render.text import assumption_notes
from estimator.reports.summaries import TextTable
from estimator.reports.text import format_interval, format_time

NUMBERS = ("batch", "gain", "epoch", "compute", "memory", "rest", "efficiency")
HEADINGS = ("batch", "step time", "samples/s", *NUMBERS[1:])
LEGEND = (
    "* as profiled. Gain: in samples/s, per doubling of the batch. Rest: launches, host, input and unmodelled time. "
    "Efficiency: the physical floor over the step time. Intervals hold 90 %."
)


def render_sweep(document: Mapping[str, Any]) -> None:
    """A table for each device, a row for each batch size."""
    for target in document["targets"]:
        _print_target(document, target)
    terminal.console().print(LEGEND)
    notes = assumption_notes(document["assumptions"], "estimate --batch", document["left_open"])
    terminal.print_warnings(document["warnings"])
    terminal.print_notes([*document["notes"], *notes])


def _print_target(document: Mapping[str, Any], target: Mapping[str, Any]) -> None:
    run = f"{document['workload']} on {target['target']}, {target['precision']}, {document['mode']}, per device"
    rows = [_cells(row, row["batch_size"] == document["profiled_batch_size"]) for row in target["batches"]]
    terminal.print_summary(
        TextTable(run, HEADINGS, rows, NUMBERS, spare=("rest",), stacks=("step time",), drops=("samples/s",))
    )
    if target["levels_off_beyond"] is not None:
        little = f"throughput gains less than {100 * document['little_gain']:.0f} % per doubling"
        terminal.console().print(f"beyond batch {target['levels_off_beyond']} {little}")


def _cells(row: Mapping[str, Any], profiled: bool) -> list[str]:
    gain, epoch = row["gain_per_doubling"], row["epoch_s"]
    compute, memory = row["shares"]["compute"], row["shares"]["memory"]
    shares = (compute, memory, 1 - compute - memory, row["efficiency"])
    return [
        f"{row['batch_size']}{' *' if profiled else '  '}",
        format_interval(row["step_s"]),
        format_interval(row["samples_per_s"], "1"),
        "–" if gain is None else f"{100 * gain:+.0f} %",
        format_time(epoch and epoch["mid"]),
        *(f"{100 * share:.0f} %" for share in shares),
    ]
