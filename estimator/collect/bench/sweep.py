"""All rows in turn: what is measured, what is left out, and how a stopped run goes on."""

from __future__ import annotations

import functools
import json
import math
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from estimator.collect.bench.collectives import WIRE, all_reduce
from estimator.collect.bench.device import MOST_OF_MEMORY, clock_under_load, describe, reached_cache
from estimator.collect.bench.jobs import Job
from estimator.collect.bench.library import Library
from estimator.collect.bench.machine import memory
from estimator.collect.bench.output import digest, print_line
from estimator.collect.bench.timing import FEWEST_REPEATS, quantile, repeat
from estimator.collect.bench.types import FaultError, LeftOutError, Row, Run

VERSION = 10  # of what is timed and how: a run that was stopped goes on with the same one alone
MOST_OF_BUDGET = 0.1  # of what is left, for the fewest repeats of one shape
COLUMNS = re.findall(
    r"\w+",
    "op_class operator kernel precision batch m n k trans_a trans_b conv_n conv_c conv_h conv_w conv_k conv_r conv_s "
    "stride_h stride_w pad_h pad_w groups pass conv_p conv_q dilation_h dilation_w row_length ranks bytes flop "
    "time_s time_low_s time_high_s repeats library clock threads accumulate padding cache source",
)


def resume(partial: Path, conditions: Row, first: Callable[[], Row]) -> tuple[Row, list[Row]]:
    """The conditions of a run and its records, from the partial file of a stopped run, or new ones.

    ``first()`` gives what is noted once, when a run begins. Raises FaultError where the stopped run had other
    conditions.
    """
    lines = partial.read_text("utf-8").splitlines(keepends=True) if partial.exists() else []
    whole = [line for line in lines if line.endswith("\n")]  # the last one may be cut short
    about, *records = map(json.loads, whole) if whole else [{**conditions, **first()}]
    for name, value in conditions.items():
        if about.get(name) != value:
            begun = f"{partial}: was begun with {name} {about.get(name)}, and this run has {value}"
            raise FaultError(f"{begun}; unlike conditions do not mix, so repeat that run's command, or delete the file")
    partial.write_text("".join(whole) or f"{json.dumps(about)}\n", "utf-8")
    return about, records


def _kind(job: Job) -> tuple[str, str]:
    return job.columns["op_class"], job.columns["precision"]


class Sweep:
    """The shapes on one library: what is measured, and what is left out."""

    def __init__(self, library: Library, jobs: Sequence[Job | str], options: Any) -> None:
        started, self.library, self.jobs, self.options = time.perf_counter(), library, jobs, options
        self.largest: dict[tuple[str, str], tuple[float, float]] = {}  # work and time by op class and precision
        self.partial = Path(f"{options.output}.partial")
        conditions = {
            "version": VERSION, "shapes": digest(options.shapes), "library": library.versions(),
            "threads": library.threads, "device": describe(library), "relative_error": options.relative_error,
        }  # fmt: skip
        self.about, records = resume(self.partial, conditions, self._first)
        self.rows: dict[int, list[Row]] = {record["shape"]: record["rows"] for record in records}
        self.left_out: dict[int, str] = {record["shape"]: record["reason"] for record in records if record["reason"]}
        self.end = started + options.budget - max((record["elapsed_s"] for record in records), default=0.0)

    def _first(self) -> Row:
        load, date = os.getloadavg()[0] if hasattr(os, "getloadavg") else None, time.strftime("%Y-%m-%d")
        clock, source = clock_under_load(self.library), f"measure.py {VERSION}, {date}"
        return {"load": load, "clock": clock, "date": date, "source": source, "cache": reached_cache(self.library)}

    def _keep(self, place: int, rows: list[Row], reason: str = "") -> None:
        """Append what is settled about a row to the partial file."""
        self.rows[place] = rows
        spent = self.options.budget - (self.end - time.perf_counter())
        with self.partial.open("a", encoding="utf-8") as file:
            record = {"shape": place, "rows": rows, "reason": reason, "elapsed_s": spent}
            file.write(f"{json.dumps(record)}\n")
        self._report(place, reason)

    def _report(self, place: int, reason: str) -> None:
        """Print the times of a row, or the reason why it has none."""
        if reason:
            self.left_out[place] = reason
        times = ", ".join(f"{row['time_s']:.4g} s {row['cache']}".strip() for row in self.rows.get(place, ()))
        done = len(self.rows.keys() | self.left_out.keys())
        print_line(f"{done}/{len(self.jobs)} row {place + 1}: {reason or times}")

    def run(self) -> None:
        """Measure every shape that is not settled yet; what is left out here may be open to the next run."""
        self._all_reduce([place for place in self._open() if getattr(self.jobs[place], "caches", None) == ()])
        for place in self._open():
            try:
                self._keep(place, self._measure(self.jobs[place], len(self.jobs) - place))
            except (LeftOutError, MemoryError) as reason:
                self._report(place, str(reason) or "there is not memory enough")
            except Exception as error:  # each library refuses a shape in its own way
                self._keep(place, [], f"{self.library.name} refuses it: {' '.join(str(error).split())[:160]}")

    def _open(self) -> list[int]:
        return [place for place in range(len(self.jobs)) if place not in self.rows]

    def _measure(self, job: Job | str, left: int) -> list[Row]:
        """The rows of a job, of which so many are left. Raises LeftOutError."""
        if isinstance(job, str):
            raise LeftOutError(job)
        copies = self._copies(job)
        share, most = self._time_limits(job, left)
        self.library.select(job.columns["precision"])
        rows = []
        for cache in job.caches:
            samples = self._samples(job, cache == "cold", copies, share, most)
            rows.append(self._row(job, cache, *samples))
        self._note_largest(job, rows[0]["time_s"])
        return rows

    def _copies(self, job: Job) -> int:
        """How many times memory holds the arrays of a job. Raises LeftOutError where it does not hold them once, or the
        library lacks the precision.
        """
        precision = job.columns["precision"]
        if precision not in self.library.precisions:
            raise LeftOutError(f"{self.library.name} has no {precision} here")
        room = self.about["device"]["memory"] if self.library.gpu else memory("MemAvailable")
        if room and job.size > MOST_OF_MEMORY * room:
            raise LeftOutError(f"needs {job.size / 1e9:.3g} GB of memory; there is {room / 1e9:.3g} GB")
        return int(MOST_OF_MEMORY * room / max(job.size, 1)) if room else 1

    def _time_limits(self, job: Job, left: int) -> tuple[float, float]:
        """Seconds to repeat a job for, and at most for its fewest repeats. Raises LeftOutError where they do not last,
        to judge by the largest job of its class and precision.
        """
        remaining = (self.end - time.perf_counter()) / len(job.caches)
        share, most = 1.5 * remaining / left, max(1.5 / left, MOST_OF_BUDGET) * remaining
        work, took = self.largest.get(_kind(job), (math.inf, 0.0))
        if remaining <= 0 or FEWEST_REPEATS * took * job.work / work > 2 * most:
            raise LeftOutError(f"the budget of {self.options.budget:g} s does not last for it")
        return share, most

    def _note_largest(self, job: Job, time_s: float) -> None:
        """Keep the work and time of the largest job of each kind; of a short one, the time is its launch's."""
        if time_s >= Library.batch_s and job.work > self.largest.get(_kind(job), (0.0, 0.0))[0]:
            self.largest[_kind(job)] = job.work, time_s

    def _samples(self, job: Job, cold: bool, copies: int, share: float, most: float) -> tuple[list[float], float]:
        """As :func:`repeat` has them, of calls that find their arrays where the last one left them, or (cold) that no
        cache holds them for: they go through twice as many as it holds, or it is emptied before each.
        """
        run = cold and self.library.prepare_cold(job.build, copies, math.ceil(2 * self.cache_size / job.reads))
        emptied = cold and not run
        time_calls = functools.partial(
            self.library.time_calls,
            run or self.library.prepare(job.build, copies),
            flush=self.flush if emptied else None,
        )
        return repeat(time_calls, self.options.relative_error, share, most, 0.0 if emptied else self.library.batch_s)

    @property
    def cache_size(self) -> int:
        """What arrays may fill of the last-level cache [B]; 64 MiB where it is not known."""
        return int(self.about["cache"] or 2**26)

    @functools.cached_property
    def flush(self) -> Run:
        """Copy arrays of four times the last-level cache, or as large ones as memory holds."""
        room = None if self.library.gpu else memory("MemAvailable")
        size = min(2 * self.cache_size, MOST_OF_MEMORY / 4 * room if room else math.inf)  # read, written, made of two
        return self.library.stream("copy", "fp32", (math.ceil(size / 4),))

    def _row(self, job: Job, cache: str, samples: list[float], disturbed: float = 0.0) -> Row:
        low, mid, high = (quantile(samples, share) for share in (0.05, 0.5, 0.95))
        known = {name: self.about[name] for name in ("library", "clock", "source", "threads")}
        times = {"time_s": mid, "time_low_s": low, "time_high_s": high, "repeats": len(samples)}
        return {**known, **job.columns, **times, "cache": cache, "disturbed": disturbed}

    def _all_reduce(self, places: list[int]) -> None:
        jobs = [self.jobs[place] for place in places]
        sizes, wire = [int(job.size) for job in jobs if isinstance(job, Job)], WIRE[self.library.gpu]
        try:
            for i, samples in all_reduce(sizes, self.options.all_reduce, self.library.gpu) if sizes else ():
                row = self._row(jobs[i], "", samples)  # type: ignore[arg-type]
                self._keep(places[i], [{**row, "library": f"{row['library']}; {wire}"}])
        except LeftOutError as reason:
            for place in set(places) - self.rows.keys():
                self._keep(place, [], str(reason))

    def disturbed(self) -> tuple[list[str], float]:
        """The rows of which every sample was disturbed, by name, and the mean share that was."""
        rows = [row for rows in self.rows.values() for row in rows]
        names = [*COLUMNS[: COLUMNS.index("flop")], "cache"]
        disturbed = [row for row in rows if row["disturbed"] == 1]
        by_name = [" ".join(str(row[name]) for name in names if row.get(name)) for row in disturbed]
        return by_name, sum(row["disturbed"] for row in rows) / max(len(rows), 1)
