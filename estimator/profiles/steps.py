"""The steps that a trace marks, or the runs of programs that stand for them; and the mean over several steps."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from estimator.core.types import Integers
from estimator.profiles.events import LAST

Window = tuple[int, int]  # start and end, in one unit of time
NO_WINDOWS: Integers = np.empty((0, 2), dtype=np.int64)

STATE_STEPS = (
    "write the number of steps as 'steps' into provenance.yaml in the folder of the dump, or give 'ingest' --steps"
)
NO_STEPS = f"no step is marked, so the trace counts as one step: {STATE_STEPS}"
FROM_RUNS = f"no step is marked, so each {{what}} counts as a step, {{count}} in all: {STATE_STEPS}"
RUN, CALL = "run of the program that ran longest", "call of the function that took longest"
LEFT_OUT = (
    "{count} {what} of {names} ran several in a row between steps, as evaluations do: they are left out; mark the "
    "steps of the training if they are parts of it"
)
SEVERAL_MARKS = (
    "marks have several names: the {count} of '{name}', which last longest in all, count as steps, those of {others} "
    f"do not: {STATE_STEPS}"
)
NOTHING_IN_STEPS = "no op ran inside its steps; expected ops in them, so profile whole steps"
AMOUNTS = ("calls", "time_s", "reported_flop", "reported_bytes")


@dataclass
class Windows:
    """The start and end of marked steps, of runs of programs, and of calls of functions."""

    windows: dict[str, list[Window]] = field(default_factory=dict)  # by the name of the step's event
    runs: dict[Hashable, dict[Hashable, Window]] = field(default_factory=dict)  # by program and run
    calls: dict[str, list[Window]] = field(default_factory=dict)  # by function

    def mark(self, name: str, start: int, end: int) -> None:
        """Record an event that marks a step."""
        self.windows.setdefault(name, []).append((start, end))

    def mark_run(self, program: Hashable, run: Hashable, start: int, end: int) -> None:
        """Record a part of a program's run."""
        runs = self.runs.setdefault(program, {})
        first, last = runs.get(run, (start, end))
        runs[run] = min(first, start), max(last, end)

    def mark_call(self, function: str, start: int, end: int) -> None:
        """Record a call of a function that the host waited for or handed to a device."""
        self.calls.setdefault(function, []).append((start, end))

    def find(self) -> Integers:
        """Start and end of each step, in the order of time.

        Steps are the marks; without marks, the runs of a program; without runs, the calls of a function. Of several
        names the one that lasts longest in all counts, such as a training and not its evaluation. Of marks inside
        others the outer ones are the steps, as in XProf. A step ends where the next one begins, or where a mark of
        another name begins after it.
        """
        if not self.windows:
            return self._unmarked()
        begins = np.array([begin for marks in self.windows.values() for begin, _ in marks], dtype=np.int64)
        return _up_to_the_next(_in_time(self.windows[self._name()]), begins)

    def left_out(self) -> dict[Hashable, list[Window]]:
        """The runs by program, or the calls by function, that belong to no step, where others stand for the steps.

        Several of them come in a row after a step, and none after at least half, as an evaluation follows an epoch.
        """
        if self.windows:
            return {}
        begins = self._longest()[:, 0]
        return {name: windows for name, windows in self._unnamed().items() if _in_a_row(begins, windows)}

    def completed(self) -> Integers | None:
        """When the program that ran longest ended its runs of each marked step.

        None where that is not known, or where the host waited for the program in each step. The steps have equal
        numbers of runs, in the order of their calls. Runs that began before the first mark belong to no step.
        """
        marks, runs = self.find(), self._longest_runs()
        runs = runs[runs[:, 0] >= marks[:1, 0].min(initial=LAST)]
        if not self.windows or not len(runs) or len(runs) % len(marks):
            return None
        of_step = runs.reshape(len(marks), -1, 2)
        ends = of_step[:, :, 1].max(axis=1)
        begun_in_time, behind = (of_step[:, 0, 0] >= marks[:, 0]).all(), (ends > marks[:, 1]).any()
        return ends if begun_in_time and behind else None

    def counted(self) -> Integers:
        """Start and end of the times whose ops belong to the marked steps, where nobody knows what launched them.

        Ops of a program that runs behind its calls belong to them up to the end of its last run.
        """
        steps, completed = self.find(), self.completed()
        if completed is None or completed.max() <= steps[-1, 1]:
            return steps
        return np.array([[steps[0, 0], completed.max()]])

    def warnings(self) -> Iterator[str]:
        """Yield what is not known of the steps."""
        if len(self.windows) > 1:
            name = self._name()
            others = _quoted(other for other in self.windows if other != name)
            yield SEVERAL_MARKS.format(count=len(self.windows[name]), name=name, others=others)
        if not self.windows:
            count = len(self.find())
            yield FROM_RUNS.format(what=RUN if self.runs else CALL, count=count) if count else NO_STEPS
        if left_out := self.left_out():
            what, names = ("runs", f"{len(left_out)} other program(s)") if self.runs else ("calls", _quoted(left_out))
            yield LEFT_OUT.format(count=sum(map(len, left_out.values())), what=what, names=names)

    def _name(self) -> str:
        """The name of the marks that last longest in all."""
        return max(self.windows, key=lambda name: _total(self.windows[name]))

    def _longest_runs(self) -> Integers:
        """Start and end of the runs of the program that ran longest."""
        return _in_time(max(([*runs.values()] for runs in self.runs.values()), key=_total, default=[]))

    def _unmarked(self) -> Integers:
        """Start and end of the steps that runs or calls stand for; a step before others that are left out ends with its
        run or call.
        """
        steps = self._longest()
        begins = np.array([begin for windows in self.left_out().values() for begin, _ in windows], dtype=np.int64)
        before = np.searchsorted(steps[:, 0], begins) - 1
        return _up_to_the_next(steps, steps[before[before >= 0], 1])

    def _unnamed(self) -> dict[Hashable, list[Window]]:
        """The runs by program; without runs, the calls by function."""
        runs = {program: [*runs.values()] for program, runs in self.runs.items()}
        return runs or dict(self.calls.items())

    def _longest(self) -> Integers:
        """Start and end of the runs of the program, or the calls of the function, that took longest."""
        return _in_time(max(self._unnamed().values(), key=_total, default=[]))


def _quoted(names: Iterable[Hashable]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(map(str, names)))


def _up_to_the_next(windows: Integers, others: Integers) -> Integers:
    """The windows up to the next one, or up to the first of other begins behind it; the last one up to its end."""
    if not len(windows):
        return windows
    start, end = windows.T
    following = np.append(np.sort(others), LAST)[np.searchsorted(np.sort(others), end)]
    return np.stack([start, np.minimum(np.append(start[1:], end.max()), following)], axis=1)


def _in_a_row(begins: Integers, calls: list[Window]) -> bool:
    """Whether several of these calls follow one of the times, before the next, and none follow at least half."""
    step = np.searchsorted(begins, _in_time(calls)[:, 0], side="right")
    count = np.bincount(step, minlength=len(begins) + 1)
    without = count[1 : len(begins)] == 0
    return bool((count > 1).any() and 2 * without.sum() >= len(without) > 0)


def _total(windows: list[Window]) -> int:
    return sum(end - start for start, end in windows)


def _in_time(windows: list[Window]) -> Integers:
    """Start and end of each window, in the order of time."""
    return np.array(sorted(windows), dtype=np.int64).reshape(-1, 2)


def mean(rows: pd.DataFrame, steps: int) -> pd.DataFrame:
    """One row per kind of row: amounts per step, and ``time_spread_s``, the standard deviation over several steps.

    ``rows`` holds any of AMOUNTS, ``step`` (0 to steps − 1), and columns whose values make the kinds; a kind that is
    missing in a step took no time there.
    """
    amounts = [name for name in AMOUNTS if name in rows]
    groups = rows.groupby([name for name in rows if name not in (*amounts, "step")], dropna=False, sort=False)
    merged = groups[amounts].sum(min_count=1) / steps
    if steps > 1:
        times = np.zeros((len(merged), steps))
        np.add.at(times, (groups.ngroup().to_numpy(), rows["step"].to_numpy()), rows["time_s"].to_numpy(dtype=float))
        merged["time_spread_s"] = times.std(axis=1, ddof=1)
    return merged.reset_index()
