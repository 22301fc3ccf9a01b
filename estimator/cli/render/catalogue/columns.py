"""The printed output of ``--columns help``."""

from estimator.cli import terminal
from estimator.core.types import ITEMSIZE
from estimator.devices.specs.table.layout import PEAK, Layout


def render_columns(layout: Layout) -> None:
    """The columns with unit and meaning; those that exist once for each precision stand on one line."""
    table = terminal.new_table(f"Columns of 'estimator {layout.what}'", "column", "unit", "meaning")
    for name, column in layout.families().items():
        table.add_row(name, "text" if column.kind == "text" else column.shown, column.meaning)
    terminal.print_table(table)
    terminal.console().print(f"{PEAK} is one of {', '.join(ITEMSIZE)}; arithmetic of integers counts OP, not FLOP")
