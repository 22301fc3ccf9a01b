"""One device or system in full: every number with its origin, and what follows from the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from estimator.cli import terminal
from estimator.cli.render.catalogue.cells import column_title, mark, marked_text, print_legend
from estimator.cli.terminal import Console, Table, Text
from estimator.core import units
from estimator.core.notes import sentences
from estimator.core.types import ITEMSIZE, DeviceSpec, PeakRate, Sourced
from estimator.core.units import in_operations
from estimator.devices import announcements
from estimator.devices.specs.table.cells import UNSUPPORTED, Machine, Subject, peak, spec_of
from estimator.devices.specs.table.columns import BALANCES, PATHS, balances
from estimator.devices.specs.table.layout import DEFAULT_UNIT, Layout
from estimator.devices.specs.values import sourced_values


def render_entry(layout: Layout, subject: Subject, given_name: str) -> None:
    """All that the catalogue holds of a device or system; ``given_name`` is what the user called it, name or file."""
    console = terminal.console()
    console.print(Text(spec_of(subject).name, "bold"), ", ".join(_facts(layout, subject)), sep="  ")
    _print_filled(_numbers(subject))
    if isinstance(subject, Machine):
        _print_filled(_totals(layout, subject))
    else:
        _print_device(subject, given_name, console)
    _print_remarks(subject, console)


def _facts(layout: Layout, subject: Subject) -> Iterator[str]:
    """What is no number: vendor, year and the like."""
    for column in layout.columns.values():
        if column.kind != "number" and not column.derived and column.name != "name" and (fact := column.get(subject)):
            yield f"{column.name.replace('_', ' ')}: {fact}"


def _print_filled(table: Table) -> None:
    if table.row_count:
        terminal.print_table(table)


def _numbers(subject: Subject) -> Table:
    table = terminal.new_table("", "field", "value", "status", "source and note", right=("value",))
    for name, value in sourced_values(spec_of(subject)):
        status = f"{value.status or 'unstated'}{f', {value.confidence}' if value.confidence else ''}"
        shown = in_operations(f"{value}{mark(value).ljust(1)}", name.removeprefix("peak."))
        table.add_row(name, shown, status, "; ".join(_origin(value, name)))
    return table


def _origin(value: Sourced, name: str) -> Iterator[str]:
    """The conditions of a number, its source, and the file's notes on it."""
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


def _print_device(device: DeviceSpec, given_name: str, console: Console) -> None:
    """Print what follows from a device's numbers, what it lacks, what is unknown, and what was measured on it."""
    for operation in ("FLOP", "OP"):
        _print_filled(_roofline(device, operation))
    peaks = {precision: peak(precision)(device) for precision in ITEMSIZE}
    for label, missing in (("no hardware path", UNSUPPORTED), ("peak unknown", None)):
        precisions = [precision for precision, cell in peaks.items() if cell == missing]
        if precisions:
            console.print(f"{label}: {', '.join(precisions)}")
    if counts := _measured_ops(device, given_name):
        console.print(f"measured: {', '.join(counts)}")


def _measured_ops(device: DeviceSpec, given_name: str) -> Sequence[str]:
    """How many ops of each class and precision were measured on a device."""
    from estimator.devices.measurements import load_measurements

    rows = load_measurements(device, named=given_name)
    counts = rows.groupby(["op_class", "precision"]).size()
    return [f"{count} {op_class} in {precision}" for (op_class, precision), count in counts.items()]


def _roofline(device: DeviceSpec, operation: str) -> Table:
    """Ridge point, balance and rate per watt on every path of every precision whose arithmetic counts FLOP, or OP."""
    shown_units = [(heading, DEFAULT_UNIT.get(unit, unit)) for _, heading, unit, *_ in BALANCES]
    headings = [f"{heading}\n{unit}".replace("FLOP", operation) for heading, unit in shown_units]
    title = f"What follows from the peaks in {operation}/s"
    table = terminal.new_table(title, "dense peak", "", *headings, right=("", *headings))
    for precision, path in product(ITEMSIZE, PATHS):
        value = peak(precision, path)(device)
        if isinstance(value, Sourced) and in_operations("FLOP", precision) == operation:
            cells = [marked_text(column, column.get(device)) for column in balances(precision, path)]
            table.add_row(f"{precision} {path}", in_operations(f"{value}{mark(value)}", precision), *cells)
    return table


def _totals(layout: Layout, machine: Machine) -> Table:
    """What a system holds in all, beside what the TOP500 prints of it."""
    title = "In all (peaks are the data sheet's, so they do not add up to Rpeak)"
    table = terminal.new_table(title, "field", "value", "from", right=("value",))
    for column in layout.compared:
        cell = column.get(machine)
        if (column.derived or column.unit == "FLOP/s") and isinstance(cell, Sourced):
            table.add_row(column_title(column), marked_text(column, cell), cell.source)
    return table


def _print_remarks(subject: Subject, console: Console) -> None:
    """Print the legend of the marks, and the file's source and notes as a whole."""
    spec = spec_of(subject)
    values = [value for _, value in sourced_values(spec)]
    print_legend(len(values), sum(value.unverified for value in values), sum(bool(value.waiver) for value in values))
    if spec.source:
        console.print(f"all else: {spec.source}")
    device = subject.device if isinstance(subject, Machine) else None
    for sentence in (*sentences(announcements(spec, device)), *spec.notes):
        console.print(f"note: {sentence}")
