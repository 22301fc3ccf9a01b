"""``--columns help`` lists every column with its meaning."""

import pytest

from estimator.cli.render.catalogue.columns import render_columns
from estimator.devices.specs.table.columns import DEVICES, SYSTEMS
from estimator.devices.specs.table.layout import Layout
from tests.cli.command_line import printed, run


@pytest.mark.parametrize("layout", [DEVICES, SYSTEMS], ids=lambda layout: layout.what)
def test_every_column_stands_with_its_meaning(layout: Layout) -> None:
    shown = printed(lambda: render_columns(layout), columns=200).stdout
    for name, column in layout.families().items():
        assert f"{name} " in shown
        assert column.meaning in shown
    assert run(layout.what, "--columns", "help", columns=200).stdout == shown
