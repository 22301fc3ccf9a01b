"""Printed peaks over the baseline's: are they the devices' in the runs' precision, or of two unlike precisions?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from estimator.core.types import DeviceSpec, Number, Sourced, pair_id
from estimator.rollup import chain
from estimator.studies.audit.marks import agreement, agrees
from estimator.studies.audit.numbers import quotient
from estimator.studies.audit.printed import Printed
from estimator.studies.audit.table import Table
from estimator.studies.audit.types import CheckedNumber


class PeakRatio(NamedTuple):
    """One device's peak in one precision over another's in another [FLOP/s]."""

    over: str
    under: str
    precisions: tuple[str, str]
    high: Sourced
    low: Sourced

    @property
    def value(self) -> float:
        """The ratio."""
        return self.high.value / self.low.value

    def describe(self) -> str:
        """The ratio in words."""
        high, low = (f"{precision} of" for precision in self.precisions)
        return f"{high} {self.over} over {low} {self.under} is {self.high} / {self.low} = {self.value:.4g}"


def check_peaks(name: str, table: Table, devices: Mapping[str, Sequence[DeviceSpec]]) -> Iterator[CheckedNumber]:
    """Every printed peak beside the ratio of the devices' own, in the precision that the rows ran in."""
    for column, entry in table.columns.items():
        ratios = peak_ratios(devices[column], devices[table.baseline])
        in_precision = [ratio for ratio in ratios if ratio.precisions == (table.precision, table.precision)]
        if entry.peak and in_precision:
            yield _check_peak(name, table, column, entry.peak, in_precision, ratios)


def peak_ratios(devices: Sequence[DeviceSpec], baselines: Sequence[DeviceSpec]) -> list[PeakRatio]:
    """The ratios that a printed one may be: every precision of a device over every one of the likeliest baseline."""
    return [
        PeakRatio(device.name, base.name, (over, under), high, low)
        for device in devices
        for base in baselines[:1]
        for over, high in _matrix_peaks(device).items()
        for under, low in _matrix_peaks(base).items()
    ]


def _matrix_peaks(device: DeviceSpec) -> dict[str, Sourced]:
    return {precision: peak.matrix for precision, peak in device.peak.items() if peak.matrix}


def _check_peak(
    name: str, table: Table, column: str, printed: Printed, in_precision: list[PeakRatio], ratios: list[PeakRatio]
) -> CheckedNumber:
    """A printed peak beside the ratio in the runs' precision; marked where only another pair of precisions gives it."""
    agreeing = [ratio for ratio in (*in_precision, *ratios) if agrees(printed, ratio.value)]
    nearest = (agreeing or in_precision)[0]
    expected = nearest if nearest in in_precision else in_precision[0]
    at, quantity = pair_id((name, column, "peak")), f"peak over {table.baseline}'s"
    inputs = _inputs(at, table.precision, expected)
    ours = quotient(at, quantity, *inputs)
    mark, reason = agreement(printed, expected.value), nearest.describe()
    if nearest is not expected:
        values = " or ".join(f"{ratio.value:.3g} on {ratio.over}" for ratio in in_precision)
        mark = "wrong precision"
        reason = f"{reason}; the runs' own {table.precision} over {table.precision} is {values}"
    return CheckedNumber(quantity, None, column, printed, ours, mark, reason, (*inputs, ours))


def _inputs(at: str, precision: str, ratio: PeakRatio) -> tuple[Number, Number]:
    high, low = (
        chain.given(f"{at}/{device}", f"{precision} peak of {device}", peak.value, "FLOP/s", "device",
                    peak.source or "catalogue")
        for device, peak in ((ratio.over, ratio.high), (ratio.under, ratio.low))
    )  # fmt: skip
    return high, low
