"""The commands of the catalogue: devices and systems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand

from estimator.cli.options import CSV, Check, DeviceNames, Json, SystemNames

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

    from estimator.devices.specs.table.layout import Layout

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


def _layout(what: str | None) -> Layout:
    from estimator.devices.specs.table import columns

    return {"devices": columns.DEVICES, "systems": columns.SYSTEMS}[str(what)]


class WithColumns(TyperCommand):
    """A command whose help ends with its columns and the lints of its check, read when the help is asked for."""

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the columns and the lints behind the examples."""
        from estimator.devices import lints

        super().format_epilog(ctx, formatter)
        with formatter.section("Columns"):
            formatter.write_text(", ".join(_layout(self.name).families()))
        with formatter.section("Lints of --check"):
            formatter.write_dl(list(lints.helps().items()))


def _complete(ctx: typer.Context, incomplete: str) -> list[str]:
    """Shell completion by the columns; of a list, of its last name."""
    before, comma, last = incomplete.rpartition(",")
    known = _layout(ctx.info_name).columns
    return [f"{before}{comma}{name}" for name in known if name.startswith(last)]


CONDITION_HELP = "Only those of which this holds, such as 'memory_bandwidth >= 2 TB/s', 'vendor = NVIDIA', 'bf16'."
Where = Annotated[list[str] | None, typer.Option(metavar="CONDITION", autocompletion=_complete, help=CONDITION_HELP)]
Sort = Annotated[str | None, typer.Option(metavar="COLUMN", autocompletion=_complete, help="-COLUMN: descending.")]
Columns = Annotated[
    str | None, typer.Option(metavar="A,B,…", autocompletion=_complete, help="Columns to show; help: what there is.")
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
    json: Json = False,
) -> None:
    """The catalogue of devices: a table to choose from, one in full, several side by side."""
    _catalogue(_layout("devices"), names or [], where or [], sort, columns, csv, check, json)


def systems(
    names: SystemNames = None,
    where: Where = None,
    sort: Sort = None,
    columns: Columns = None,
    csv: CsvFile = None,
    check: Check = False,
    json: Json = False,
) -> None:
    """The catalogue of systems: a table to choose from, one in full, several side by side."""
    _catalogue(_layout("systems"), names or [], where or [], sort, columns, csv, check, json)


def _catalogue(
    layout: Layout,
    names: list[str],
    where: list[str],
    sort: str | None,
    columns: str | None,
    csv: Path | None,
    check: bool,
    json: bool,
) -> None:
    from estimator.cli import show_catalogue, show_comparison, show_entry, terminal
    from estimator.core.files import write_text
    from estimator.devices.specs.table import rows

    if check:
        show_catalogue.checked(layout.what, *rows.check(layout, names), json)
        return
    if columns == "help":
        show_catalogue.columns(layout, json)
        return
    if names and (where or sort):
        raise typer.BadParameter("--where and --sort choose from the whole catalogue; give them without names")
    chosen = layout.choose(columns.split(",")) if columns is not None else None
    found = rows.named(layout, names) if names else rows.selected(layout, where, sort)
    subjects = list(found.values())
    if csv:
        compared = bool(names) and len(found) > 1
        write_text(csv, rows.to_csv(subjects, chosen or list(layout.columns.values()), compared=compared))
    if not names:
        show_catalogue.listing(layout, subjects, chosen, json)
    elif len(found) == 1 and (json or not chosen):
        show_entry.in_full(layout, subjects[0], names[0], json)
    else:
        show_comparison.side_by_side(layout, found, chosen, json)
    terminal.notes(rows.unread(subjects))
