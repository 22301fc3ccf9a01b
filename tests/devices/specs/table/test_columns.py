import pytest

from estimator.core.types import ITEMSIZE, Sourced
from estimator.devices.specs.table.cells import UNSUPPORTED
from estimator.devices.specs.table.columns import DEVICES, SYSTEMS
from estimator.devices.specs.table.layout import Layout


@pytest.mark.parametrize("layout", [DEVICES, SYSTEMS], ids=lambda layout: str(layout.what))
def test_every_column_declaration_is_consistent(layout: Layout) -> None:
    assert set(layout.default) <= layout.columns.keys()
    assert layout.default[0] == "name"
    for name, column in layout.columns.items():
        assert name == column.name
        assert column.meaning
        assert column.scale > 0
        assert bool(column.unit) == (column.kind != "text")
    assert set(ITEMSIZE) <= layout.columns.keys()


@pytest.mark.parametrize("layout", [DEVICES, SYSTEMS], ids=lambda layout: str(layout.what))
def test_every_column_reads_every_shipped_row(layout: Layout) -> None:
    cell_types = {"text": str, "plain": int, "number": Sourced}
    for row in layout.load_all():
        for column in layout.columns.values():
            cell = column.get(row)
            assert cell is None or cell == UNSUPPORTED or isinstance(cell, cell_types[column.kind])
            if isinstance(cell, Sourced):
                assert cell.unit == column.unit, column.name
