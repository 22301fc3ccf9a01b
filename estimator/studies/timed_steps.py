"""Timed steps of a machine, read from a CSV, and what they tell of steps on other numbers of its devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from estimator.core import csv_files, units
from estimator.core.errors import EstimatorError, within
from estimator.core.interval import bounds
from estimator.core.parallel import Split, read_split
from estimator.core.schema import TIMED_STEPS
from estimator.core.types import Floats
from estimator.rollup.scaling import Group
from estimator.rollup.timed_steps import birge_ratio, conditioned, surprise

Row = Mapping[str, int | None]  # devices, local_batch, global_batch
MOST = 300.0  # times the predicted step, or less by as much: then a time is in another unit; milliseconds are 1000
SURPRISE = 3.0  # standard deviations beyond which a timed step is to be checked
SHOWN = 1.05  # Birge ratio from which a warning states it
SIZES = ("devices", "local_batch", "global_batch")


@dataclass(frozen=True)
class TimedSteps:
    """The groups of devices whose steps were timed, and what these took [s]; how many rows were of another split."""

    groups: tuple[Group, ...] = ()
    measured_s: tuple[float, ...] = ()
    left_out: int = 0
    where: str = ""  # the file

    def time_s(self, group: Group) -> float | None:
        """The time of a group's step [s], of several the median; None where it was not timed."""
        times = [time_s for timed, time_s in zip(self.groups, self.measured_s, strict=True) if timed == group]
        return median(times) if times else None


def read_timed_steps(path: str | Path | None, group_of_row: Callable[[Row], Group], split: Split) -> TimedSteps:
    """Read a CSV of TIMED_STEPS; nothing without a path.

    Args:
        path: the file.
        group_of_row: the devices of a row. Raises EstimatorError where there are no such.
        split: how the devices share the training; rows of another one are left out.

    Raises EstimatorError for a missing column, an unreadable value, devices that the machine lacks, and where no row is
    of this split.
    """
    if path is None:
        return TimedSteps()
    table = TIMED_STEPS.conform(csv_files.read_csv(Path(path), may_be_empty=False), str(path))
    _refuse_unknown(list(table), str(path))
    groups, measured_s = [], []
    for number, row in enumerate(table.to_dict("records"), start=1):
        with within(f"{path}: row {number}"):
            written = row["parallel"]
            if not isinstance(written, str) or read_split(written) == split:
                groups.append(group_of_row({name: _known(row[name]) for name in SIZES}))
                measured_s.append(float(row["step_s"]))
    if not groups:
        raise EstimatorError(
            f"{path}: none of {len(table)} rows is a step with parallel '{split}'; expected one at least, add it or "
            "leave out --timed-steps"
        )
    return TimedSteps(tuple(groups), tuple(measured_s), len(table) - len(groups), str(path))


def _refuse_unknown(columns: Sequence[str], where: str) -> None:
    """Raise EstimatorError for a column that may make the steps those of another training, which would not be seen."""
    unknown = [name for name in columns if name not in TIMED_STEPS.names()]
    if unknown:
        known = ", ".join(TIMED_STEPS.names())
        hint = "; the batch is local_batch or global_batch" if "batch" in unknown else ""
        raise EstimatorError(f"{where}: column {unknown[0]} is not known; expected {known}{hint}, so mend or delete it")


def _known(value: object) -> int | None:
    """A whole number; None where the cell is empty."""
    return int(value) if isinstance(value, int | float | np.integer) else None


def given_timed(steps_s: Mapping[Group, Floats], timed: TimedSteps, seed: int) -> dict[Group, Floats]:
    """Samples of the steps of groups [s], given those that were timed, which must be among them.

    Raises EstimatorError for a time that is far from what is predicted.
    """
    for group, time_s in zip(timed.groups, timed.measured_s, strict=True):
        ratio = time_s / float(steps_s[group][0])
        if not 1 / MOST <= ratio <= MOST:
            raise EstimatorError(
                f"{timed.where}: step_s is {time_s:g} on {group.devices} device(s), {ratio:.3g} times what is "
                "predicted; step_s is in seconds, so check its unit, or the batch"
            )
    groups = list(steps_s)
    samples_s = np.stack(list(steps_s.values()), axis=1)
    places = [groups.index(group) for group in timed.groups]
    conditioned_s = conditioned(samples_s, [str(group) for group in groups], places, timed.measured_s, seed)
    return dict(zip(groups, conditioned_s.T, strict=True))


def what_they_change(timed: TimedSteps, steps_s: Sequence[tuple[Floats, Floats]]) -> Iterator[str]:
    """How many timed steps were used and what they changed, in a sentence.

    ``steps_s``: samples of each step without and with them [s].
    """
    if not timed.groups:
        return
    longer = [float(after[0] / before[0]) for before, after in steps_s]
    wide = [_width(after) / max(_width(before), 1e-9) for before, after in steps_s]
    left_out = f"; {timed.left_out} rows of another parallel are left out" if timed.left_out else ""
    yield (
        f"given {len(timed.groups)} timed step(s), steps are {_range(longer)} times as long as without, and their "
        f"intervals {_range(wide)} times as wide{left_out}"
    )


def contradictions(timed: TimedSteps, steps_s: Mapping[Group, Floats]) -> Iterator[str]:
    """Each timed step that the others do not let expect, and by how much these widen all intervals.

    ``steps_s``: samples predicted without any of them [s].
    """
    if not timed.groups:
        return
    groups, samples_s = list(steps_s), np.stack(list(steps_s.values()), axis=1)
    places = [groups.index(group) for group in timed.groups]
    ratio = birge_ratio(samples_s, places, timed.measured_s)
    if ratio >= SHOWN:
        yield (
            "the timed steps are further from the prediction or from each other than all uncertainties explain: every "
            f"interval is widened {ratio:.1f} times (Birge ratio)"
        )
    rows, far = surprise(samples_s, places, timed.measured_s)
    for row, deviations in zip(rows, far, strict=True):
        if abs(deviations) > SURPRISE:
            yield (
                f"the timed step of {groups[row].devices} device(s) is {abs(deviations):.1f} standard deviations from "
                "what the prediction and the other timed steps foretell: check it"
            )


def below_floors(timed: TimedSteps, floors_s: Mapping[Group, float]) -> Iterator[str]:
    """A warning for each timed step that is shorter than its floor [s], which the device's rates set."""
    for group, time_s in zip(timed.groups, timed.measured_s, strict=True):
        if time_s < floors_s[group]:
            timed_text, floor = (units.show(seconds, "s", 3) for seconds in (time_s, floors_s[group]))
            yield (
                f"the timed step on {group.devices} devices, {timed_text}, is shorter than the device's peak and "
                f"bandwidth allow, {floor}: check whether it ran in another precision or batch"
            )


def _width(steps_s: Floats) -> float:
    """The width of an interval in logarithms."""
    low, _, high = bounds(steps_s)
    return float(np.log(high / low))


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"
