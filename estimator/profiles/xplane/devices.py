"""What an XPlane dump states of its accelerators: their steps, their names, and which of their events only copy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from estimator.core.types import DeviceNumbers, Integers
from estimator.profiles.columns import NONE
from estimator.profiles.device_steps import pitch_ps
from estimator.profiles.wire import Content
from estimator.profiles.xplane.lines import LineReader, Texts
from estimator.profiles.xplane.ops import PICO
from estimator.profiles.xplane.space import Plane, plane_stats

STEPS_LINE = "Steps"  # an event for each step, from its first op to its last
COPY_STATS = ("memcpy_details", "memset_details")  # stats of copies and fills; kernels have kernel_details
COPY_KERNEL = re.compile(r"^__amd_rocclr_(copy|fill)")  # kernels by which AMD's runtime copies and fills
TYPE = "device_type_string"  # a TPU's name; a GPU has only numbers
VENDOR, CORES, CLOCK_KHZ = "device_vendor", "core_count", "clock_rate"
MEMORY, BANDWIDTH = "memory_size", "memory_bandwidth"  # [B], [B/s]
MAJOR, MINOR = "compute_cap_major", "compute_cap_minor"
FIRST_VENDOR = "NVIDIA"  # of dumps that are older than the stat


def read_steps(content: Content, plane: Plane, base_ns: int, chunk_bytes: int, ordered: bool) -> Integers:
    """Start and end of the steps of an accelerator's line ``Steps`` [ps], in the order of time; none without that line.

    Raises OutOfOrderError, and EstimatorError.
    """
    reader = LineReader(content, np.array(sorted(plane.events), dtype=np.int64), NONE, Texts({}), chunk_bytes)
    steps = []
    for line in (line for line in plane.lines if plane.device and line.name == STEPS_LINE):
        shift = (line.timestamp_ns - base_ns) * 1000
        for events in reader.read(*line.span, ordered):
            start = events.start + shift
            steps += [*zip(start.tolist(), (start + events.duration).tolist(), strict=True)]
    lasting = sorted(step for step in steps if step[1] > step[0])
    return np.array(lasting, dtype=np.int64).reshape(-1, 2)


def step_counts(steps: Sequence[Integers], marked: int) -> list[int]:
    """The number of steps of each accelerator: of its own line, else of the others', else as events mark them."""
    common = max(map(len, steps), default=0) or marked or 1
    return [len(own) or common for own in steps]


def mean_step_s(steps: Sequence[Integers]) -> float | None:
    """The time of a step [s], the mean over accelerators with steps of their own; None where none has any."""
    own = [pitch_ps(windows) for windows in steps if len(windows)]
    return float(np.mean(own)) * PICO if own else None


def is_copy(name: str, stats: Iterable[str]) -> bool:
    """Whether a GPU's event of that name and with these stats only copies or fills memory."""
    return any(stat in COPY_STATS for stat in stats) or bool(COPY_KERNEL.search(name))


def recorded_name(content: Content, plane: Plane) -> str | None:
    """The accelerator in the profiler's words, such as ``TPU v6 Lite`` or ``AMD 304 cores 2.10 GHz cc 9.4``."""
    stats = plane_stats(content, plane)
    if TYPE in stats or CORES not in stats:
        return stats.get(TYPE) or None
    parts = [stats.get(VENDOR) or FIRST_VENDOR, f"{stats[CORES]} cores", *_clock(stats)]
    return " ".join([*parts, f"cc {stats[MAJOR]}.{stats.get(MINOR, 0)}"] if MAJOR in stats else parts)


def recorded_numbers(content: Content, plane: Plane) -> DeviceNumbers | None:
    """The numbers of a GPU; None where the dump does not count its compute units or its memory."""
    stats = plane_stats(content, plane)
    numbers = {
        name: int(stats[name]) for name in (CORES, MEMORY, CLOCK_KHZ, BANDWIDTH) if stats.get(name, "").isdecimal()
    }
    if not numbers.get(CORES) or not numbers.get(MEMORY):
        return None
    clock, bandwidth = (numbers.get(name) or np.nan for name in (CLOCK_KHZ, BANDWIDTH))
    return DeviceNumbers(numbers[CORES], float(numbers[MEMORY]), 1e3 * clock, float(bandwidth), stats.get(VENDOR))


def _clock(stats: Mapping[str, str]) -> list[str]:
    text = stats.get(CLOCK_KHZ, "")
    return [f"{int(text) / 1e6:.2f} GHz"] if text.isdecimal() else []
