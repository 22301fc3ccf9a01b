"""Check printed peak ratios: of the runs' precision, or of two different precisions?"""

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
    """One device's peak over another's [FLOP/s], each in its own precision."""

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
    """Check every printed peak against the devices' ratio in the precision of the rows."""
    for column, machine in table.columns.items():
        ratios = peak_ratios(devices[column], devices[table.baseline])
        in_precision = [ratio for ratio in ratios if ratio.precisions == (table.precision, table.precision)]
        if machine.peak and in_precision:
            yield _check_peak(name, table, column, machine.peak, in_precision, ratios)


def peak_ratios(devices: Sequence[DeviceSpec], baselines: Sequence[DeviceSpec]) -> list[PeakRatio]:
    """Candidate ratios: each precision of each device over each precision of the likeliest baseline."""
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
    """Check a printed peak; 'wrong precision' where only another pair of precisions gives it."""
    agreeing = [ratio for ratio in (*in_precision, *ratios) if agrees(printed, ratio.value)]
    nearest = (agreeing or in_precision)[0]
    expected = nearest if nearest in in_precision else in_precision[0]
    id, quantity = pair_id((name, column, "peak")), f"peak over {table.baseline}'s"
    inputs = _inputs(id, table.precision, expected)
    device_ratio = quotient(id, quantity, *inputs)
    mark, reason = agreement(printed, expected.value), nearest.describe()
    if nearest is not expected:
        values = " or ".join(f"{ratio.value:.3g} on {ratio.over}" for ratio in in_precision)
        mark = "wrong precision"
        reason = f"{reason}; the runs' own {table.precision} over {table.precision} is {values}"
    return CheckedNumber(quantity, None, column, printed, device_ratio, mark, reason, (*inputs, device_ratio))


def _inputs(id_prefix: str, precision: str, ratio: PeakRatio) -> tuple[Number, Number]:
    high, low = (
        chain.given(f"{id_prefix}/{device}", f"{precision} peak of {device}", peak.value, "FLOP/s", "device",
                    peak.source or "catalogue")
        for device, peak in ((ratio.over, ratio.high), (ratio.under, ratio.low))
    )  # fmt: skip
    return high, low
