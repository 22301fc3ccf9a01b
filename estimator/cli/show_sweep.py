"""What ``estimator sweep`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator.cli import terminal
from estimator.cli.show import interval, time

NUMBERS = ("batch", "gain", "epoch", "compute", "memory", "rest", "efficiency")
HEADINGS = ("batch", "step time", "samples/s", *NUMBERS[1:])
LEGEND = (
    "* as profiled. Gain: in samples/s, per doubling of the batch. Rest: launches, host, input and carried time. "
    "Efficiency: the physical floor over the step time. Intervals hold 90 %."
)


def swept(document: Mapping[str, Any], as_json: bool) -> None:
    """A table for each device, a row for each batch size."""
    if as_json:
        terminal.json(document)
        return
    for found in document["targets"]:
        _target(document, found)
    terminal.console().print(LEGEND)
    count = len(document["assumptions"])
    doubts = f"{count} assumptions lie behind these figures; 'estimator estimate --batch' lists them"
    terminal.notes([*document["notes"], doubts], "cyan")
    terminal.notes(document["warnings"])


def _target(document: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    profiled, little = document["profiled_batch_size"], document["little_gain"]
    about = f"{document['workload']} on {found['target']}, {found['precision']}, {document['mode']}, per device"
    table = terminal.table(about, *HEADINGS, right=NUMBERS)
    for row in found["batches"]:
        epoch, shares = row["epoch_s"], row["shares"]
        bound = [shares["compute"], shares["memory"], 1 - shares["compute"] - shares["memory"], row["efficiency"]]
        table.add_row(
            f"{row['batch_size']}{' *' if row['batch_size'] == profiled else '  '}",
            interval(row["step_s"]),
            interval(row["samples_per_s"], "1"),
            "–" if row["gain_per_doubling"] is None else f"{100 * row['gain_per_doubling']:+.0f} %",
            time(epoch and epoch["mid"]),
            *(f"{100 * share:.0f} %" for share in bound),
        )
    terminal.show(table)
    if found["levels_off_beyond"] is not None:
        said = f"beyond batch {found['levels_off_beyond']} throughput gains less than {100 * little:.0f} % per doubling"
        terminal.console().print(said)
