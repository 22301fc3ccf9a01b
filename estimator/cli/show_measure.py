"""What ``estimator measure`` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from estimator.cli import terminal
from estimator.core import units

if TYPE_CHECKING:
    from estimator.devices.measure import Measured


@contextmanager
def progress(as_json: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar of shapes on stderr, for people on a terminal; gives what is to be told shapes done, and of how many."""
    console = Console(stderr=True, markup=False, highlight=False)
    if as_json or not console.is_terminal:
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress("shapes", *columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("shapes", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def measured(found: Measured, as_json: bool) -> None:
    """The best rates, under which conditions, and where the files lie."""
    document = found.document()
    if as_json:
        terminal.json(document)
        return
    console, best = terminal.console(), document["best"]
    threads = f"{document['threads']} thread{'s' * (document['threads'] > 1)}"
    conditions = f"{threads}, {document['clock'] or 'clock not told'}"
    console.print(f"{document['device']['name']}: {document['library']}, {conditions}")
    table = terminal.table("Best rates", "what", "measured", right=("measured",))
    for precision, rate in best["peak_flop_per_s"].items():
        table.add_row(f"matrix products, {precision}", units.show(rate, "FLOP/s", 4))
    for key, what, unit in (
        ("memory_bandwidth_b_per_s", "bandwidth, cold cache", "B/s"),
        ("launch_latency_s", "launch of one element", "s"),
    ):
        if best[key] is not None:
            table.add_row(what, units.show(best[key], unit, 4))
    console.print(table)
    console.print("rows:", ", ".join(f"{name} {count}" for name, count in document["rows"].items()))
    terminal.notes(document["warnings"])
    for path in document["files"].values():
        console.print(f"wrote {path}", soft_wrap=True)
