"""Notes on rows that are kept though they look wrong: the toy does 10 TFLOP/s in fp32 and reads 500 GB/s."""

import pandas as pd
import pytest

from estimator.core.types import DeviceSpec
from estimator.devices.measurements.suspicious_rows import SuspiciousRows
from tests.conftest import make_device, make_measurements

UNSUPPORTED = make_device(peak={"fp32": "10 TFLOP/s", "fp16": "unsupported"})


def product(time_s: float, size: int = 1000, precision: str = "fp32") -> dict[str, object]:
    """2·1000³ FLOP take 0.2 ms at the peak."""
    return {"op_class": "gemm", "precision": precision, "m": size, "n": size, "k": size, "time_s": time_s}


def notes_on(device: DeviceSpec, *tables: pd.DataFrame) -> list[str]:
    rows = SuspiciousRows()
    for number, table in enumerate(tables, 1):
        rows.add(table, device, f"{number}.csv")
    return list(rows.notes())


@pytest.mark.parametrize(
    ("time_s", "size", "noted"),
    [(0.19, 1000, False), (0.21, 1000, True), (0.9e-3, 64, False), (1.1e-3, 64, True), (1e-4, 1000, False)],
)
def test_a_row_of_over_a_thousand_times_the_bound_and_a_millisecond_is_noted(
    time_s: float, size: int, noted: bool
) -> None:
    """64³ products take 98 ns: a thousand times that may be a launch, if it is below a millisecond."""
    assert bool(notes_on(make_device(), make_measurements([product(time_s, size)]))) is noted


def test_a_row_whose_bound_is_not_known_is_not_noted() -> None:
    table = make_measurements([{"op_class": "gemm", "precision": "fp32", "time_s": 9.0}])
    assert notes_on(make_device(), table) == []


def test_rows_of_a_kind_are_counted_over_all_tables_and_the_first_is_named() -> None:
    slow, usual = product(0.5), product(3e-4)
    tables = [make_measurements(rows) for rows in ([usual], [usual, slow, slow], [slow])]
    (note,) = notes_on(make_device(), *tables)
    assert note == "2.csv: row 2 and 2 more: over 1000 x the time that the data sheet of toy allows; check the unit"


def test_rows_of_a_precision_that_the_hardware_lacks_are_noted_apart() -> None:
    table = make_measurements([product(0.5), product(1e-3, precision="fp16")])
    slow, unsupported = notes_on(UNSUPPORTED, table)
    assert slow.startswith("1.csv: row 1: over 1000 x")
    assert unsupported == "1.csv: row 2: toy has no hardware path for fp16; check the precision, and the device"
