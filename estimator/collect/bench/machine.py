"""Facts on this machine: processors, memory, caches, clock, NVIDIA's GPU; and what of them this process may use."""

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

CPUS, CGROUP = "/sys/devices/system/cpu", "/sys/fs/cgroup"


def keep_memory() -> None:
    """Let the C library keep freed memory, as frameworks' allocators do: page faults would be timed otherwise."""
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
        for option, value in ((-4, 0), (-1, 2**31 - 1), (-8, 1)):  # M_MMAP_MAX, M_TRIM_THRESHOLD, M_ARENA_MAX
            ctypes.CDLL(None).mallopt(option, value)


def usable_processors() -> list[int]:
    """The logical processors that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def cores(folder: str = CPUS) -> list[int]:
    """One usable logical processor of each physical core; all of them where the machine does not show cores."""
    first: dict[str, int] = {}
    for cpu in usable_processors():
        first.setdefault("".join(read_lines(f"{folder}/cpu{cpu}/topology/thread_siblings_list")) or str(cpu), cpu)
    return list(first.values())


def container_limit(name: str) -> float:
    """A container's limit (cgroup v2): processors of cpu.max, bytes of memory.max; infinite where there is none."""
    words = " ".join(read_lines(f"{CGROUP}/{name}")).split()
    return float(words[0]) / float((words[1:] or ["1"])[0]) if words and words[0] != "max" else math.inf


def within_quota(processors: Sequence[int]) -> int:
    """How many of the processors a container's quota lets work at a time, one at least."""
    return max(1, int(min(len(processors), container_limit("cpu.max"))))


def limit_threads(asked: int | None) -> int:
    """Hold this process to so many threads, else to one for each core; libraries must not be loaded yet."""
    most, own = within_quota(usable_processors()), cores()
    if asked is not None and not 0 < asked <= most:
        raise FaultError(f"--threads is {asked}, and this process may use {most} processors; ask for 1 to {most}")
    threads = asked or min(len(own), most)
    libraries = [f"{name}_THREADS" for name in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "VECLIB_MAXIMUM")]
    os.environ.update(dict.fromkeys([*libraries, "NPROC"], str(threads)))  # the last is XLA's
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [*own, *(cpu for cpu in usable_processors() if cpu not in own)][:threads])
    return threads


def read_lines(path: str, key: str = "") -> list[str]:
    """The lines of a system file, of a key (if given) what stands behind it; nothing where there is no such file."""
    try:
        lines = Path(path).read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [line.partition(":")[2].strip() for line in lines if line.startswith(key)] if key else lines


def processor() -> str:
    """The processor's name."""
    return next(filter(None, read_lines("/proc/cpuinfo", "model name")), platform.processor() or platform.machine())


def memory(key: str) -> float | None:
    """MemTotal or MemAvailable [B], at most what a container may have, or has left; None where neither is known."""
    lines, limit = read_lines("/proc/meminfo", key), container_limit("memory.max")
    if key == "MemAvailable":
        limit -= sum(float(line.split()[1]) for line in read_lines(f"{CGROUP}/memory.stat") if line.startswith("anon "))
    return max(0.0, min(float(lines[0].split()[0]) * 1024, limit)) if lines else None


def last_level_caches(folder: str = CPUS) -> list[float]:
    """Bytes of each last-level cache of the usable processors; none where the machine names none."""
    sizes: dict[tuple[str, str], float] = {}
    for index in (path for cpu in usable_processors() for path in Path(f"{folder}/cpu{cpu}/cache").glob("index*")):
        level, size, shared = ("".join(read_lines(str(index / name))) for name in ("level", "size", "shared_cpu_list"))
        sizes[level, shared] = float(size.rstrip("K") or 0) * 1024
    last = max((level for level, _ in sizes), default="")
    return [size for (level, _), size in sizes.items() if level == last and size]


def query_nvidia_smi(*names: str) -> list[Any]:
    """What nvidia-smi answers of the first GPU that programs see, None for [N/A]; nothing where there is none."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip()
    if first in ("", "-1") or not shutil.which("nvidia-smi"):
        return []
    command = ["nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits", "-i", first]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    cells = [cell.strip() for cell in done.stdout.partition("\n")[0].split(",")]
    return [None if cell[:1] == "[" else cell for cell in cells] if not done.returncode and cells[1:] else []


@functools.lru_cache(maxsize=1)
def nvidia_gpu() -> Row:
    """Name, driver, memory [B] and highest clock [Hz] of the first NVIDIA GPU; nothing where there is none."""
    answers = query_nvidia_smi("name", "driver_version", "memory.total", "clocks.max.sm")
    if not answers:
        return {}
    name, driver, mib, mhz = answers
    sizes = {"memory": mib and float(mib) * 2**20, "max_clock": mhz and float(mhz) * 1e6}
    return {"name": name, "driver": f"driver {driver}", **sizes}


def current_clock(gpu: bool) -> str:
    """The clock at this moment; nothing where the machine does not show it."""
    if gpu:
        return ", memory ".join(f"{mhz} MHz" for mhz in query_nvidia_smi("clocks.sm", "clocks.mem") if mhz)
    files = [f"{CPUS}/cpu{number}/cpufreq/scaling_cur_freq" for number in usable_processors()]
    mhz = [float(khz) / 1e3 for file in files for khz in read_lines(file)]
    mhz = mhz or [float(cell) for cell in read_lines("/proc/cpuinfo", "cpu MHz")]
    return f"{statistics.median(mhz):.0f} MHz" if mhz else ""
