"""The steps of a trace; and the mean over several traced steps, with its spread."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

Window = tuple[int, int]  # start and end, in one unit of time

NO_STEPS = "no step is marked, so the trace counts as one step: state the number of steps with --steps"
AMOUNTS = ("calls", "time_s", "reported_flop", "reported_bytes")


@dataclass
class Windows:
    """The start and end of marked steps, and of runs of programs."""

    windows: dict[str, list[Window]] = field(default_factory=dict)  # by the name of the step's event
    runs: dict[Hashable, dict[Hashable, Window]] = field(default_factory=dict)  # by program and run

    def mark(self, name: str, start: int, end: int) -> None:
        """Record an event that marks a step."""
        self.windows.setdefault(name, []).append((start, end))

    def mark_run(self, program: Hashable, run: Hashable, start: int, end: int) -> None:
        """Record a part of a program's run."""
        runs = self.runs.setdefault(program, {})
        first, last = runs.get(run, (start, end))
        runs[run] = min(first, start), max(last, end)

    def find(self) -> list[Window]:
        """The steps: the marks with the name that lasts longest in all; without marks, the runs of such a program."""
        candidates = [*self.windows.values()] or [[*runs.values()] for runs in self.runs.values()]
        return sorted(max(candidates, key=lambda windows: sum(end - start for start, end in windows), default=[]))


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
