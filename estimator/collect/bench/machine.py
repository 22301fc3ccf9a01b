"""Facts of this machine: processors, memory, caches, clock, NVIDIA GPU, and the limits of this process."""

from __future__ import annotations

import ctypes
import functools
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from estimator.collect.bench.types import FaultError, Row

CPUS, CGROUP, CPUINFO = "/sys/devices/system/cpu", "/sys/fs/cgroup", "/proc/cpuinfo"


def keep_memory() -> None:
    """Let the C library keep freed memory, as frameworks' allocators do, so that no page faults are timed."""
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
        for option, value in ((-4, 0), (-1, 2**31 - 1), (-8, 1)):  # M_MMAP_MAX, M_TRIM_THRESHOLD, M_ARENA_MAX
            ctypes.CDLL(None).mallopt(option, value)


def usable_processors() -> list[int]:
    """The logical processors that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def cores(folder: str = CPUS) -> list[int]:
    """One usable logical processor of each physical core; all of them where the machine does not show cores."""
    processor_of_core: dict[str, int] = {}
    for cpu in usable_processors():
        processor_of_core.setdefault(
            "".join(read_lines(f"{folder}/cpu{cpu}/topology/thread_siblings_list")) or str(cpu), cpu
        )
    return list(processor_of_core.values())


def container_limit(name: str) -> float:
    """A container's limit (cgroup v2): processors of cpu.max, bytes of memory.max; infinite where there is none."""
    words = " ".join(read_lines(f"{CGROUP}/{name}")).split()
    return float(words[0]) / float((words[1:] or ["1"])[0]) if words and words[0] != "max" else math.inf


def within_quota(processors: Sequence[int]) -> int:
    """The number of processors within a container's quota, at least one."""
    return max(1, int(min(len(processors), container_limit("cpu.max"))))


def limit_threads(threads_wanted: int | None) -> int:
    """Limit this process to a number of threads, by default one per core; call before libraries are loaded."""
    limit, core_processors = within_quota(usable_processors()), cores()
    if threads_wanted is not None and not 0 < threads_wanted <= limit:
        raise FaultError(
            f"--threads is {threads_wanted}, and this process may use {limit} processors; ask for 1 to {limit}"
        )
    threads = threads_wanted or min(len(core_processors), limit)
    libraries = [f"{name}_THREADS" for name in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "VECLIB_MAXIMUM")]
    os.environ.update(dict.fromkeys([*libraries, "NPROC"], str(threads)))  # the last is XLA's
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(
            0, [*core_processors, *(cpu for cpu in usable_processors() if cpu not in core_processors)][:threads]
        )
    return threads


def read_lines(path: str, key: str = "") -> list[str]:
    """The lines of a system file, or the values of a key; empty where there is no such file."""
    try:
        lines = Path(path).read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [line.partition(":")[2].strip() for line in lines if line.startswith(key)] if key else lines


def processor() -> str:
    """The processor's name."""
    return next(filter(None, read_lines(CPUINFO, "model name")), platform.processor() or platform.machine())


def memory(key: str) -> float | None:
    """MemTotal or MemAvailable [B], within a container's limit; None where unknown."""
    lines, limit = read_lines("/proc/meminfo", key), container_limit("memory.max")
    if key == "MemAvailable":
        limit -= sum(float(line.split()[1]) for line in read_lines(f"{CGROUP}/memory.stat") if line.startswith("anon "))
    return max(0.0, min(float(lines[0].split()[0]) * 1024, limit)) if lines else None


def last_level_caches(folder: str = CPUS) -> list[float]:
    """Bytes of each last-level cache of the usable processors; empty where unknown."""
    sizes: dict[tuple[str, str], float] = {}
    for index in (path for cpu in usable_processors() for path in Path(f"{folder}/cpu{cpu}/cache").glob("index*")):
        level, size, shared = ("".join(read_lines(str(index / name))) for name in ("level", "size", "shared_cpu_list"))
        sizes[level, shared] = float(size.rstrip("K") or 0) * 1024
    last_level = max((level for level, _ in sizes), default="")
    return [size for (level, _), size in sizes.items() if level == last_level and size]


def query_nvidia_smi(*names: str) -> list[Any]:
    """Query nvidia-smi for the first visible GPU; None for [N/A], empty where there is no GPU."""
    gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip()
    if gpu in ("", "-1") or not shutil.which("nvidia-smi"):
        return []
    command = ["nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits", "-i", gpu]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    cells = [cell.strip() for cell in result.stdout.partition("\n")[0].split(",")]
    return [None if cell[:1] == "[" else cell for cell in cells] if not result.returncode and cells[1:] else []


@functools.lru_cache(maxsize=1)
def nvidia_gpu() -> Row:
    """Name, driver, memory [B] and highest clock [Hz] of the first NVIDIA GPU; empty where there is none."""
    answers = query_nvidia_smi("name", "driver_version", "memory.total", "clocks.max.sm")
    if not answers:
        return {}
    name, driver, mib, mhz = answers
    sizes = {"memory": mib and float(mib) * 2**20, "max_clock": mhz and float(mhz) * 1e6}
    return {"name": name, "driver": f"driver {driver}", **sizes}


def current_clock(gpu: bool) -> str:
    """The present clock; empty where unknown."""
    if gpu:
        return ", memory ".join(f"{mhz} MHz" for mhz in query_nvidia_smi("clocks.sm", "clocks.mem") if mhz)
    files = [f"{CPUS}/cpu{number}/cpufreq/scaling_cur_freq" for number in usable_processors()]
    mhz = [float(khz) / 1e3 for file in files for khz in read_lines(file)]
    mhz = mhz or [float(cell) for cell in read_lines(CPUINFO, "cpu MHz")]
    return f"{statistics.median(mhz):.0f} MHz" if mhz else ""
