"""One device or system in full: every number with its origin, and what follows from the numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from rich.console import Console
from rich.table import Table
from rich.text import Text

from estimator.cli import terminal
from estimator.cli.show_catalogue import document, legend, mark, marked, titled
from estimator.core import units
from estimator.core.types import ITEMSIZE, DeviceSpec, PeakRate, Sourced
from estimator.core.units import in_operations
from estimator.devices.specs.table.cells import UNSUPPORTED, Machine, Subject, peak, spec_of
from estimator.devices.specs.table.columns import BALANCES, PATHS, balances
from estimator.devices.specs.table.layout import USUAL, Layout
from estimator.devices.specs.values import sourced_values


def in_full(layout: Layout, row: Subject, named: str, as_json: bool) -> None:
    """All that the catalogue holds of a device or system that was named so, or by its file."""
    if as_json:
        terminal.json(document(layout, row))
        return
    spec, console = spec_of(row), terminal.console()
    facts = [c for c in layout.columns.values() if c.kind != "number" and not c.derived and c.name != "name"]
    said = [f"{column.name.replace('_', ' ')}: {fact}" for column in facts if (fact := column.get(row))]
    console.print(Text(spec.name, "bold"), Text(", ".join(said)), sep="  ")
    _show_filled(_numbers(row))
    if isinstance(row, Machine):
        _show_filled(_in_all(layout, row))
    else:
        _of_device(row, named, console)
    _said_beside(row, console)


def _show_filled(found: Table) -> None:
    if found.row_count:
        terminal.show(found)


def _numbers(row: Subject) -> Table:
    found = terminal.table("", "field", "value", "status", "source and note", right=("value",))
    for name, value in sourced_values(spec_of(row)):
        status = f"{value.status or 'unstated'}{f', {value.confidence}' if value.confidence else ''}"
        shown = in_operations(f"{value}{mark(value).ljust(1)}", name.removeprefix("peak."))
        found.add_row(name, shown, status, "; ".join(_origin(value, name)))
    return found


def _origin(value: Sourced, name: str) -> Iterator[str]:
    """How a number holds, where it is from, and what else is said of it."""
    if isinstance(value, PeakRate):
        if value.clock:
            yield f"at {units.show(value.clock, 'Hz')}"
        if value.flop_per_clock:
            per_clock = f"{value.flop_per_clock:g} FLOP per unit and clock"
            yield in_operations(per_clock, name.removeprefix("peak."))
        if value.accumulate:
            yield f"accumulates in {value.accumulate}"
    if value.relative_uncertainty:
        yield f"within {100 * value.relative_uncertainty:g} %"
    yield from (text for text in (value.source, value.note) if text)
    if value.waiver:
        yield f"waives {value.waiver}"


def _of_device(device: DeviceSpec, named: str, console: Console) -> None:
    """What follows from a device's numbers, what it has not, what is unknown of it, and what was measured on it."""
    from estimator.devices.measurements import load_measurements

    for operation in ("FLOP", "OP"):
        _show_filled(_roofline(device, operation))
    none = [precision for precision in ITEMSIZE if peak(precision)(device) == UNSUPPORTED]
    unknown = [precision for precision in ITEMSIZE if peak(precision)(device) is None]
    for what, precisions in (("no hardware path", none), ("peak unknown", unknown)):
        if precisions:
            console.print(f"{what}: {', '.join(precisions)}")
    rows = load_measurements(device, named=named)
    if len(rows):
        counts = rows.groupby(["op_class", "precision"]).size()
        ops = ", ".join(f"{count} {op_class} in {precision}" for (op_class, precision), count in counts.items())
        console.print(f"measured: {ops}")


def _roofline(device: DeviceSpec, operation: str) -> Table:
    """Ridge point, balance and rate per watt on every path of every precision whose arithmetic counts FLOP, or OP."""
    headings = [f"{heading}\n{USUAL.get(unit, unit)}".replace("FLOP", operation) for _, heading, unit, *_ in BALANCES]
    title = f"What follows from the peaks in {operation}/s"
    found = terminal.table(title, "dense peak", "", *headings, right=("", *headings))
    for precision, path in product(ITEMSIZE, PATHS):
        value = peak(precision, path)(device)
        if isinstance(value, Sourced) and in_operations("FLOP", precision) == operation:
            cells = [marked(column, column.get(device)) for column in balances(precision, path)]
            found.add_row(f"{precision} {path}", in_operations(f"{value}{mark(value)}", precision), *cells)
    return found


def _in_all(layout: Layout, machine: Machine) -> Table:
    """What a system holds in all, beside what the TOP500 prints of it."""
    found = terminal.table("In all: nodes x devices x peak is not Rpeak", "field", "value", "from", right=("value",))
    for column in layout.compared:
        cell = column.get(machine)
        if (column.derived or column.unit == "FLOP/s") and isinstance(cell, Sourced):
            found.add_row(titled(column), marked(column, cell), cell.source)
    return found


def _said_beside(row: Subject, console: Console) -> None:
    """The legend of the marks, and what the file says of itself as a whole."""
    spec = spec_of(row)
    found = [value for _, value in sourced_values(spec)]
    legend(len(found), sum(value.unverified for value in found), sum(bool(value.waiver) for value in found))
    if spec.source:
        console.print(f"all else: {spec.source}")
    for sentence in spec.notes:
        console.print(f"note: {sentence}")
