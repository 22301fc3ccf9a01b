"""The sweep over all rows, which can be stopped and resumed."""

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
from estimator.collect.bench.device import MEMORY_SHARE, clock_under_load, describe, reached_cache
from estimator.collect.bench.jobs import Job
from estimator.collect.bench.library import Library
from estimator.collect.bench.machine import memory
from estimator.collect.bench.output import digest, print_line
from estimator.collect.bench.timing import FEWEST_REPEATS, quantile, repeat
from estimator.collect.bench.types import FaultError, LeftOutError, Row, Run

VERSION = 10  # of the method; a stopped run is resumed only by the same version
BUDGET_SHARE = 0.1  # of the remaining budget, for the fewest repeats of one shape
COLUMNS = re.findall(
    r"\w+",
    "op_class operator kernel precision batch m n k trans_a trans_b conv_n conv_c conv_h conv_w conv_k conv_r conv_s "
    "stride_h stride_w pad_h pad_w groups pass conv_p conv_q dilation_h dilation_w row_length ranks bytes flop "
    "time_s time_low_s time_high_s repeats library clock threads accumulate padding cache source",
)


def resume(partial: Path, conditions: Row, make_facts: Callable[[], Row]) -> tuple[Row, list[Row]]:
    """The conditions of a run and its records, from the partial file of a stopped run, or new ones.

    ``make_facts`` gives what is noted once, when a run begins. Raises FaultError where the stopped run had other
    conditions.
    """
    lines = partial.read_text("utf-8").splitlines(keepends=True) if partial.exists() else []
    complete_lines = [line for line in lines if line.endswith("\n")]  # the last line may be incomplete
    facts, *records = map(json.loads, complete_lines) if complete_lines else [{**conditions, **make_facts()}]
    for name, value in conditions.items():
        if facts.get(name) != value:
            message = f"{partial}: was begun with {name} {facts.get(name)}, and this run has {value}"
            raise FaultError(
                f"{message}; unlike conditions do not mix, so repeat that run's command, or delete the file"
            )
    partial.write_text("".join(complete_lines) or f"{json.dumps(facts)}\n", "utf-8")
    return facts, records


def _kind_of(job: Job) -> tuple[str, str]:
    return job.columns["op_class"], job.columns["precision"]


class Sweep:
    """A sweep over shapes with one library: measured rows, and reasons for those left out."""

    def __init__(self, library: Library, jobs: Sequence[Job | str], options: Any) -> None:
        started, self.library, self.jobs, self.options = time.perf_counter(), library, jobs, options
        self.largest: dict[tuple[str, str], tuple[float, float]] = {}  # work and time by op class and precision
        self.partial = Path(f"{options.output}.partial")
        conditions = {
            "version": VERSION, "shapes": digest(options.shapes), "library": library.versions(),
            "threads": library.threads, "device": describe(library), "relative_error": options.relative_error,
        }  # fmt: skip
        self.facts, records = resume(self.partial, conditions, self._make_facts)
        self.rows: dict[int, list[Row]] = {record["shape"]: record["rows"] for record in records}
        self.left_out: dict[int, str] = {record["shape"]: record["reason"] for record in records if record["reason"]}
        self.end = started + options.budget - max((record["elapsed_s"] for record in records), default=0.0)

    def _make_facts(self) -> Row:
        load, date = os.getloadavg()[0] if hasattr(os, "getloadavg") else None, time.strftime("%Y-%m-%d")
        clock, source = clock_under_load(self.library), f"measure.py {VERSION}, {date}"
        return {"load": load, "clock": clock, "date": date, "source": source, "cache": reached_cache(self.library)}

    def _record(self, index: int, rows: list[Row], reason: str = "") -> None:
        """Append the result of a row to the partial file."""
        self.rows[index] = rows
        elapsed_s = self.options.budget - (self.end - time.perf_counter())
        with self.partial.open("a", encoding="utf-8") as file:
            record = {"shape": index, "rows": rows, "reason": reason, "elapsed_s": elapsed_s}
            file.write(f"{json.dumps(record)}\n")
        self._report(index, reason)

    def _report(self, index: int, reason: str) -> None:
        """Print the times of a row, or the reason why it has none."""
        if reason:
            self.left_out[index] = reason
        times = ", ".join(f"{row['time_s']:.4g} s {row['cache']}".strip() for row in self.rows.get(index, ()))
        done = len(self.rows.keys() | self.left_out.keys())
        print_line(f"{done}/{len(self.jobs)} row {index + 1}: {reason or times}")

    def run(self) -> None:
        """Measure every open shape; a shape left out for lack of budget or memory stays open for the next run."""
        self._all_reduce([index for index in self._open_jobs() if getattr(self.jobs[index], "caches", None) == ()])
        for index in self._open_jobs():
            try:
                self._record(index, self._measure(self.jobs[index], len(self.jobs) - index))
            except (LeftOutError, MemoryError) as reason:
                self._report(index, str(reason) or "there is not memory enough")
            except Exception as error:  # each library refuses a shape in its own way
                self._record(index, [], f"{self.library.name} refuses it: {' '.join(str(error).split())[:160]}")

    def _open_jobs(self) -> list[int]:
        return [index for index in range(len(self.jobs)) if index not in self.rows]

    def _measure(self, job: Job | str, jobs_left: int) -> list[Row]:
        """Measure a job; ``jobs_left`` includes it. Raises LeftOutError."""
        if isinstance(job, str):
            raise LeftOutError(job)
        copies = self._copies(job)
        share_s, limit_s = self._time_limits(job, jobs_left)
        self.library.select(job.columns["precision"])
        rows = []
        for cache in job.caches:
            samples = self._samples(job, cache == "cold", copies, share_s, limit_s)
            rows.append(self._row(job, cache, *samples))
        self._note_largest(job, rows[0]["time_s"])
        return rows

    def _copies(self, job: Job) -> int:
        """How many copies of a job's arrays fit into memory.

        Raises LeftOutError where not even one does, or the library lacks the precision.
        """
        precision = job.columns["precision"]
        if precision not in self.library.precisions:
            raise LeftOutError(f"{self.library.name} has no {precision} here")
        available = self.facts["device"]["memory"] if self.library.gpu else memory("MemAvailable")
        if available and job.size > MEMORY_SHARE * available:
            raise LeftOutError(f"needs {job.size / 1e9:.3g} GB of memory; there is {available / 1e9:.3g} GB")
        return int(MEMORY_SHARE * available / max(job.size, 1)) if available else 1

    def _time_limits(self, job: Job, jobs_left: int) -> tuple[float, float]:
        """Time limits of a job [s]: of its repeats, and of its fewest repeats.

        Raises LeftOutError where they are too short, judged by the largest job of its class and precision.
        """
        remaining = (self.end - time.perf_counter()) / len(job.caches)
        share_s, limit_s = 1.5 * remaining / jobs_left, max(1.5 / jobs_left, BUDGET_SHARE) * remaining
        largest_work, time_s = self.largest.get(_kind_of(job), (math.inf, 0.0))
        if remaining <= 0 or FEWEST_REPEATS * time_s * job.work / largest_work > 2 * limit_s:
            raise LeftOutError(f"the budget of {self.options.budget:g} s does not last for it")
        return share_s, limit_s

    def _note_largest(self, job: Job, time_s: float) -> None:
        """Keep work and time of the largest job of each kind; short jobs are mostly launch time."""
        if time_s >= Library.batch_s and job.work > self.largest.get(_kind_of(job), (0.0, 0.0))[0]:
            self.largest[_kind_of(job)] = job.work, time_s

    def _samples(self, job: Job, cold: bool, copies: int, share_s: float, limit_s: float) -> tuple[list[float], float]:
        """Samples as of :func:`repeat`, with operands in the cache (warm) or not (cold).

        For cold, calls take turns on arrays of twice the cache's size, or the cache is flushed before each.
        """
        run = cold and self.library.prepare_cold(job.build, copies, math.ceil(2 * self.cache_size / job.reads))
        flushes = cold and not run
        time_calls = functools.partial(
            self.library.time_calls,
            run or self.library.prepare(job.build, copies),
            flush=self.flush if flushes else None,
        )
        return repeat(
            time_calls, self.options.relative_error, share_s, limit_s, 0.0 if flushes else self.library.batch_s
        )

    @property
    def cache_size(self) -> int:
        """The part of the last-level cache that arrays can fill [B]; 64 MiB where unknown."""
        return int(self.facts["cache"] or 2**26)

    @functools.cached_property
    def flush(self) -> Run:
        """A copy of arrays of four times the last-level cache, or as large as memory allows."""
        available = None if self.library.gpu else memory("MemAvailable")
        # read and written; made of two
        size = min(2 * self.cache_size, MEMORY_SHARE / 4 * available if available else math.inf)
        return self.library.stream("copy", "fp32", (math.ceil(size / 4),))

    def _row(self, job: Job, cache: str, samples: list[float], disturbed: float = 0.0) -> Row:
        low_s, mid_s, high_s = (quantile(samples, share) for share in (0.05, 0.5, 0.95))
        facts = {name: self.facts[name] for name in ("library", "clock", "source", "threads")}
        times = {"time_s": mid_s, "time_low_s": low_s, "time_high_s": high_s, "repeats": len(samples)}
        return {**facts, **job.columns, **times, "cache": cache, "disturbed": disturbed}

    def _all_reduce(self, indices: list[int]) -> None:
        jobs = [self.jobs[index] for index in indices]
        sizes, wire = [int(job.size) for job in jobs if isinstance(job, Job)], WIRE[self.library.gpu]
        try:
            for i, samples in all_reduce(sizes, self.options.all_reduce, self.library.gpu) if sizes else ():
                row = self._row(jobs[i], "", samples)  # type: ignore[arg-type]
                self._record(indices[i], [{**row, "library": f"{row['library']}; {wire}"}])
        except LeftOutError as reason:
            for index in set(indices) - self.rows.keys():
                self._record(index, [], str(reason))

    def disturbed(self) -> tuple[list[str], float]:
        """The names of rows whose samples were all disturbed, and the mean share of disturbed samples."""
        rows = [row for rows in self.rows.values() for row in rows]
        names = [*COLUMNS[: COLUMNS.index("flop")], "cache"]
        disturbed = [row for row in rows if row["disturbed"] == 1]
        row_names = [" ".join(str(row[name]) for name in names if row.get(name)) for row in disturbed]
        return row_names, sum(row["disturbed"] for row in rows) / max(len(rows), 1)
