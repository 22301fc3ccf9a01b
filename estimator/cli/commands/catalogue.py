"""The commands of the catalogue: devices and systems."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from estimator.cli.command import EstimatorCommand
from estimator.cli.emit import emit
from estimator.cli.options import CSV, Check, DeviceNames, Json, SystemNames, refuse_unused

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

    from estimator.devices.specs.table.cells import Subject
    from estimator.devices.specs.table.layout import Column, Layout

    Subjects = Mapping[str, Subject]
    Chosen = Sequence[Column] | None  # the columns of --columns, if given

DEVICE_EXAMPLES = """\b
Example: estimator devices v100
Example: estimator devices a100-sxm4-80gb h100-sxm5-80gb
Example: estimator devices --where 'memory_bandwidth >= 2 TB/s' --where vendor=NVIDIA --sort -bf16
Example: estimator devices --columns year,fp16,ridge_point_fp16,per_watt_fp16 --csv devices.csv
"""
SYSTEM_EXAMPLES = """\b
Example: estimator systems summit
Example: estimator systems summit frontier
Example: estimator systems --where 'rmax >= 1 EFLOP/s' --sort -rmax_per_watt
"""
EXAMPLES = {"devices": DEVICE_EXAMPLES, "systems": SYSTEM_EXAMPLES}


def _layout(command: str | None) -> "Layout":
    from estimator.devices.specs.table import columns

    return {"devices": columns.DEVICES, "systems": columns.SYSTEMS}[str(command)]


class WithColumns(EstimatorCommand):
    """A command whose help lists its columns and the lints of its check, loaded only for the help."""

    def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the columns and the lints after the examples."""
        from estimator.devices import lints

        super().format_epilog(ctx, formatter)
        with formatter.section("Columns"):
            formatter.write_text(", ".join(_layout(self.name).families()))
        with formatter.section("Lints of --check"):
            formatter.write_dl(list(lints.help_by_lint().items()))


COMMAND = WithColumns


def _complete(ctx: typer.Context, incomplete: str) -> list[str]:
    """Shell completion of the last column name in a list."""
    first_names, comma, last_name = incomplete.rpartition(",")
    columns = _layout(ctx.info_name).columns
    return [f"{first_names}{comma}{name}" for name in columns if name.startswith(last_name)]


CONDITION_HELP = "Only those that meet a condition, such as 'memory_bandwidth >= 2 TB/s', 'vendor = NVIDIA', 'bf16'."
Where = Annotated[list[str] | None, typer.Option(metavar="CONDITION", autocompletion=_complete, help=CONDITION_HELP)]
Sort = Annotated[str | None, typer.Option(metavar="COLUMN", autocompletion=_complete, help="-COLUMN: descending.")]
Columns = Annotated[
    str | None, typer.Option(metavar="A,B,…", autocompletion=_complete, help="Columns to show; 'help' lists them.")
]
CSV_HELP = "Write the table as CSV too, in SI units; of several devices or systems with their ratios to the first."
CsvFile = Annotated[Path | None, typer.Option("--csv", help=CSV_HELP, **CSV)]


def devices(
    names: DeviceNames = None,
    where: Where = None,
    sort: Sort = None,
    columns: Columns = None,
    csv: CsvFile = None,
    check: Check = False,
    as_json: Json = False,
) -> None:
    """The catalogue of devices: all of them, one, or several.

    A table to choose from; one in full; several side by side.
    """
    _catalogue(_layout("devices"), names or [], where or [], sort, columns, csv, check, as_json)


def systems(
    names: SystemNames = None,
    where: Where = None,
    sort: Sort = None,
    columns: Columns = None,
    csv: CsvFile = None,
    check: Check = False,
    as_json: Json = False,
) -> None:
    """The catalogue of systems: all of them, one, or several.

    A table to choose from; one in full; several side by side.
    """
    _catalogue(_layout("systems"), names or [], where or [], sort, columns, csv, check, as_json)


def _catalogue(
    layout: "Layout",
    names: list[str],
    where: list[str],
    sort: str | None,
    columns: str | None,
    csv: Path | None,
    check: bool,
    as_json: bool,
) -> None:
    from estimator.cli import terminal
    from estimator.core.files import write_text
    from estimator.devices.specs.table import rows

    choosing = {"--where": where, "--sort": sort, "--columns": columns, "--csv": csv}
    if check:
        refuse_unused([name for name, value in choosing.items() if value], "--check")
        _check_files(layout, names, as_json)
        return
    if columns == "help":
        refuse_unused([name for name, value in choosing.items() if value and name != "--columns"], "--columns help")
        _list_columns(layout, as_json)
        return
    if names and (where or sort):
        raise typer.BadParameter("--where and --sort choose from the whole catalogue; give them without names")
    chosen = layout.choose(columns.split(",")) if columns is not None else None
    subjects = rows.rows_named(layout, names) if names else rows.rows_where(layout, where, sort)
    if csv:
        compared = bool(names) and len(subjects) > 1
        table_columns = chosen or list(layout.columns.values())
        write_text(csv, rows.to_csv(list(subjects.values()), table_columns, compared=compared))
    _show(layout, subjects, names, chosen, as_json)
    terminal.print_warnings(rows.device_faults(list(subjects.values())))


def _check_files(layout: "Layout", names: list[str], as_json: bool) -> None:
    from estimator.cli import documents
    from estimator.cli.render.catalogue.check import render_check
    from estimator.devices.specs.table import rows

    count, faults = rows.check(layout, names)
    emit(documents.catalogue_check(count, faults), partial(render_check, what=layout.what), as_json)
    if faults:
        raise typer.Exit(1)


def _list_columns(layout: "Layout", as_json: bool) -> None:
    from estimator.cli import documents
    from estimator.cli.render.catalogue.columns import render_columns

    emit(documents.catalogue_columns(layout.columns.values()), lambda _: render_columns(layout), as_json)


def _show(layout: "Layout", subjects: "Subjects", names: list[str], chosen: "Chosen", as_json: bool) -> None:
    """Without names a table to choose from; one subject in full, several side by side."""
    from estimator.cli import documents
    from estimator.cli.render.catalogue.comparison import render_comparison
    from estimator.cli.render.catalogue.entry import render_entry
    from estimator.cli.render.catalogue.table import render_table
    from estimator.devices.specs.table.rows import ratios_to_first

    every = list(subjects.values())
    if not names:
        entries = {subject.name: documents.catalogue_entry(layout, subject) for subject in every}
        emit(entries, lambda _: render_table(layout, every, chosen), as_json)
    elif len(every) == 1 and (as_json or not chosen):
        entry = documents.catalogue_entry(layout, every[0])
        emit(entry, lambda _: render_entry(layout, every[0], names[0]), as_json)
    else:
        ratios = ratios_to_first(subjects, chosen or layout.compared)
        comparison = documents.catalogue_comparison(layout, subjects, ratios)
        emit(comparison, lambda _: render_comparison(layout, subjects, chosen, ratios), as_json)
